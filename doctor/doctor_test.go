package doctor_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/doctor"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/redlocktest"
)

// The control of TestConditions: a master that is used as it should be has no finding, and is not changed.
func TestASoundMaster(t *testing.T) {
	t.Parallel()
	server := redisproc.ForTest(t, 1, "--maxmemory", "100mb", "--maxmemory-policy", "noeviction",
		"--appendonly", "yes", "--appendfsync", "always", "--latency-monitor-threshold", "1000")[0]
	c := connect(t, server)
	require.NoError(t, c.Set(t.Context(), "greeting", "hello", 0).Err())
	require.NoError(t, c.Set(t.Context(), "lock:orders", "web-1:0123456789abcdef0123456789abcdef", 3*time.Second).Err())
	time.Sleep(4 * time.Second) // the restart window, and the second to which an uptime is rounded
	for name, options := range map[string][]redlock.Option{
		"with the restart guard": nil, "without it, as appendfsync is always": {redlock.WithoutRestartGuard()},
	} {
		report := examine(t, []string{server.URL()}, options...)
		assert.Equal(t, []string{"the drift of clocks is not examined"}, titles(report), "%s: %v", name, report)
	}
	keys, err := c.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	assert.Equal(t, []string{"greeting"}, keys, "the scratch keys are gone")
}

// The user of docs/masters.md has the rights that locks need, and no others: there is nothing to warn of.
func TestTheDocumentedUser(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/masters.md")
	require.NoError(t, err)
	line := regexp.MustCompile(`(?m)^ACL SETUSER redlock .*$`).FindString(string(page))
	server := redisproc.ForTest(t, 1)[0]
	c := connect(t, server)
	var args []any
	for _, word := range strings.Fields(line) {
		args = append(args, word)
	}
	require.NoError(t, c.Do(t.Context(), args...).Err())
	time.Sleep(4 * time.Second) // as in TestASoundMaster
	report := examine(t, []string{"redis://redlock:secret@" + server.Addr()})
	assert.ElementsMatch(t, []string{
		"not examined", "the drift of clocks is not examined", "the right to channels is unknown",
		"the right to names is unknown",
	}, titles(report), "%v", report)
}

// Five freshly started masters with the settings of docker-compose.5node.yml on one host have one finding: the host.
func TestFiveFreshMastersOnOneHost(t *testing.T) {
	t.Parallel()
	compose, err := os.ReadFile("../docker-compose.5node.yml")
	require.NoError(t, err)
	assert.Contains(
		t, string(compose),
		"    - --save\n    - \"\"\n    - --appendonly\n    - \"no\"\n    - --protected-mode\n    - \"no\"\n",
	)
	servers := redisproc.ForTest(t, 5, "--save", "", "--appendonly", "no", "--protected-mode", "no")
	locker := open(t, redisproc.URLs(servers))
	report, err := examined(doctor.Examine(t.Context(), locker))
	require.NoError(t, err)
	require.Equal(t, []string{"shares a host"}, titles(report), "%v", report)
	for _, s := range servers {
		assert.Contains(t, report.Findings[0].Node, s.Addr())
	}
	assert.Equal(t, doctor.Warning, report.Findings[0].Severity)
}

// Every finding has a test: in conditions, or in a test of this package that names the title.
func TestEveryFindingHasATest(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	for _, file := range files {
		part, err := os.ReadFile(file)
		require.NoError(t, err)
		text.Write(part)
	}
	for _, row := range doctor.Rows() {
		_, ok := conditions[row.Title]
		assert.True(t, ok || strings.Contains(text.String(), `"`+row.Title+`"`), row.Title)
		assert.LessOrEqual(t, len(row.Why), 120, "why %s is bad", row.Title)
	}
}

// docs/doctor.md has a row for each finding, in the same order.
func TestTheTableOfFindings(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/doctor.md")
	require.NoError(t, err)
	var want []string
	for _, row := range doctor.Rows() {
		want = append(want, fmt.Sprintf("| %s | `%s` | %v | %s |", row.Title, row.ID, row.Severity, row.When))
	}
	got := regexp.MustCompile(`(?m)^\| .* \| (note|warning|danger) \| .* \|$`).FindAllString(string(page), -1)
	assert.Equal(t, want, got)
}

func TestExamineWithoutAMajority(t *testing.T) {
	t.Parallel()
	server := redisproc.ForTest(t, 1)[0]
	locker := open(t, []string{server.URL(), "redis://127.0.0.1:1", "redis://user:s3cret@127.0.0.1:2"})
	report, err := examined(doctor.Examine(t.Context(), locker, doctor.WithSpan(span)))
	require.ErrorIs(t, err, redlock.ErrNoQuorum)
	assert.ErrorContains(t, err, "1 of 3 masters could be examined")
	found := titled(report, "does not answer")
	require.Len(t, found, 1)
	assert.Len(t, found[0].Nodes, 2)
	assert.NotContains(t, report.Findings[0].Why, "s3cret")
}

func TestExamineEndsWithItsContextAndItsLocker(t *testing.T) {
	t.Parallel()
	server := redisproc.ForTest(t, 1)[0]
	ctx, cancel := context.WithTimeout(t.Context(), span)
	defer cancel()
	_, err := examined(doctor.Examine(ctx, open(t, []string{server.URL()})))
	require.ErrorIs(t, err, context.DeadlineExceeded)

	locker, err := redlock.Open([]string{server.URL()})
	require.NoError(t, err)
	failed := make(chan error, 1)
	go func() {
		_, err := examined(doctor.Examine(context.WithoutCancel(t.Context()), locker, doctor.WithSpan(time.Hour)))
		failed <- err
	}()
	c := connect(t, server)
	require.Eventually(t, func() bool {
		text, err := c.Info(t.Context(), "commandstats").Result()
		return err == nil && strings.Contains(text, "cmdstat_time:")
	}, patience, time.Millisecond, "it is under way")
	require.NoError(t, locker.Close())
	require.ErrorIs(t, <-failed, redlock.ErrClosed)
	_, err = examined(doctor.Examine(t.Context(), locker))
	require.ErrorIs(t, err, redlock.ErrClosed)

	_, err = examined(doctor.Examine(t.Context(), open(t, []string{server.URL()}), doctor.WithSpan(0)))
	require.ErrorContains(t, err, "span 0s")
}

// In virtual time: masters that know few commands. What they refuse is reported.
func TestMastersThatRefuseQuestions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		masters := redlocktest.StartVirtual(t, 3)
		locker, err := redlock.Open(redlocktest.URLs(masters))
		require.NoError(t, err)
		defer locker.Close()
		began := time.Now()
		report, err := examined(doctor.Examine(t.Context(), locker))
		require.NoError(t, err)
		assert.InDelta(t, 10, time.Since(began).Seconds(), 1)
		found := titled(report, "not examined")
		require.Len(t, found, 1, "%v", report)
		assert.Len(t, found[0].Nodes, 3)
		assert.Contains(t, found[0].Why, "CONFIG GET maxmemory")
	})
}

// The worst findings come first.
func TestFindingsAreSorted(t *testing.T) {
	t.Parallel()
	report := judge(
		0,
		doctor.Seen{Name: "a", Info: "run_id:1\nuptime_in_seconds:100\nrole:slave\nvalkey_version:8.1\nconnected_slaves:1"},
	)
	assert.Equal(t, []string{"is not a master", "has replicas", "is Valkey"}, titles(report))
	assert.True(
		t, slices.IsSortedFunc(report.Findings, func(a, b doctor.Finding) int { return int(b.Severity - a.Severity) }),
	)
}
