package doctor_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
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
	require.NoError(t, c.Set(t.Context(), "lock:orders", someToken, 3*time.Second).Err())
	time.Sleep(4 * time.Second) // the restart window, and the second to which an uptime is rounded
	for name, l := range map[string]*redlock.Locker{
		"with the restart guard":               open(t, []string{server.URL()}),
		"without it, as appendfsync is always": open(t, []string{server.URL()}, redlock.WithoutRestartGuard()),
		"over a client":                        wrap(t, c, redlock.WithoutRestartGuard()),
	} {
		report := reportOn(t, l, span)
		assert.Equal(t, []string{"the drift of clocks is not examined"}, titles(report), "%s: %v", name, report)
		assert.Contains(t, report.Findings[0].Why, "the span was 200ms")
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
	documented := regexp.MustCompile(`(?m)^ACL SETUSER redlock (.*)$`).FindStringSubmatch(string(page))[1]
	url := user(t, redisproc.ForTest(t, 1)[0], "redlock", documented)
	time.Sleep(4 * time.Second) // as in TestASoundMaster
	report := examine(t, []string{url})
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
	assert.Contains(t, string(compose),
		"    - --save\n    - \"\"\n    - --appendonly\n    - \"no\"\n    - --protected-mode\n    - \"no\"\n")
	servers := redisproc.ForTest(t, 5, "--save", "", "--appendonly", "no", "--protected-mode", "no")
	report, err := examined(doctor.Examine(t.Context(), openPatiently(t, redisproc.URLs(servers))))
	require.NoError(t, err)
	require.Equal(t, []string{"shares a host"}, titles(report), "%v", report)
	assert.Len(t, report.Findings[0].Nodes, len(servers))
}

// docs/doctor.md has a row for each finding, in the same order.
func TestTheTableOfFindings(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/doctor.md")
	require.NoError(t, err)
	var want []string
	for _, row := range doctor.Rows() {
		want = append(want, fmt.Sprintf("| %s | `%s` | %v | %s |", row.Title, row.ID, row.Severity, row.When))
		assert.LessOrEqual(t, len(row.Why), 120, "why %s is bad", row.Title)
	}
	got := regexp.MustCompile(`(?m)^\| .* \| (note|warning|danger) \| .* \|$`).FindAllString(string(page), -1)
	assert.Equal(t, want, got)
}

// A wrapped Cluster votes, but its servers are not examined.
func TestAWrappedCluster(t *testing.T) {
	t.Parallel()
	redisproc.Need(t)
	servers, err := redisproc.StartCluster(t.Context(), 1)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, redisproc.CloseAll(servers)) })
	for _, tt := range []struct{ addr, password, title string }{
		{servers[0].Addr(), "", "not examined"},
		{"127.0.0.1:1", "", "does not answer"},
		{servers[0].Addr(), "secret", "does not answer"}, // a login that is refused
	} {
		if tt.password != "" {
			require.NoError(t, connect(t, servers[0]).ConfigSet(t.Context(), "requirepass", tt.password).Err())
		}
		c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{tt.addr}})
		t.Cleanup(func() { assert.NoError(t, c.Close()) })
		report, err := examined(doctor.Examine(t.Context(), wrap(t, c), doctor.WithSpan(span)))
		require.ErrorIs(t, err, redlock.ErrNoQuorum)
		one(t, report, tt.title)
		assert.Len(t, report.Findings, 2, "and that the span was short: %v", report)
	}
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
	c := connect(t, server)
	require.NoError(t, c.ConfigResetStat(t.Context()).Err())
	failed := make(chan error, 1)
	go func() {
		_, err := examined(doctor.Examine(context.WithoutCancel(t.Context()), locker, doctor.WithSpan(time.Hour)))
		failed <- err
	}()
	underWay(t, c)
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
		began := time.Now()
		report, err := examined(doctor.Examine(t.Context(), redlocktest.NewLocker(t, 3)))
		require.NoError(t, err)
		assert.InDelta(t, 10, time.Since(began).Seconds(), 1)
		found := one(t, report, "not examined")
		assert.Len(t, found.Nodes, 3)
		assert.Contains(t, found.Why, "CONFIG GET maxmemory")
	})
}

// The worst findings come first.
func TestFindingsAreSorted(t *testing.T) {
	t.Parallel()
	const info = "run_id:1\nuptime_in_seconds:100\nrole:slave\nvalkey_version:8.1\nevicted_keys:1"
	report := doctor.Judge(0, doctor.Seen{Name: "a", Info: info})
	assert.Equal(t, []string{"is not a master", "has evicted keys", "is Valkey"}, titles(report))
}

const someToken = "web-1:0123456789abcdef0123456789abcdef"

// set sets n keys to a value; without a TTL if it is 0.
func set(t *testing.T, c *redis.Client, n int, prefix, value string, ttl time.Duration) {
	t.Helper()
	_, err := c.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for i := range n {
			p.Set(t.Context(), fmt.Sprint(prefix, i), value, ttl)
		}
		return nil
	})
	require.NoError(t, err)
}

// Of many locks, all are read up to a bound.
func TestManyLocks(t *testing.T) {
	t.Parallel()
	const endless, skipped = "a lock without an end", "not all keys were looked at"
	server := redisproc.ForTest(t, 1)[0]
	c := connect(t, server)
	set(t, c, 3000, "held", someToken, time.Minute)
	set(t, c, 1200, "endless", someToken, 0)
	report := examineFor(t, 6*time.Second, []string{server.URL()})
	found := one(t, report, endless)
	assert.Regexp(t, `1200 without a TTL: ("endless\d+", ){4}"endless\d+" and 1195 more`, found.Why)
	assert.Empty(t, titled(report, skipped))

	set(t, c, 10_000, "other", "x", 0)
	report = examineFor(t, 3*time.Second, []string{server.URL()})
	found = one(t, report, skipped)
	assert.Regexp(t, `^\d{4,} keys were looked at`, found.Why)
}

// SCAN may do so while Redis moves its keys into a larger table.
func TestALockThatSCANReturnsTwiceIsOneLock(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{`"a"`, `"b"`}, doctor.Endless("a", "b", "a"))
}

// After many deletions most pages of SCAN are empty. A child keeps Redis from making the table smaller.
func TestALockBehindEmptyPages(t *testing.T) {
	t.Parallel()
	server := redisproc.ForTest(t, 1, "--rdb-key-save-delay", "1000000")[0]
	c := connect(t, server)
	set(t, c, 30_000, "x", "1", 0)
	require.NoError(t, c.BgSave(t.Context()).Err())
	set(t, c, 1, "endless", someToken, 0)
	_, err := c.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for i := range 30_000 {
			p.Del(t.Context(), fmt.Sprint("x", i))
		}
		return nil
	})
	require.NoError(t, err)
	keys, cursor, err := c.Scan(t.Context(), 0, "", 500).Result()
	require.NoError(t, err)
	assert.NotZero(t, cursor, "there are more pages")
	assert.LessOrEqual(t, len(keys), 1, "this one is all but empty")
	report := examineFor(t, 3*time.Second, []string{server.URL()})
	found := one(t, report, "a lock without an end")
	assert.Contains(t, found.Why, `1 without a TTL: "endless0"`)
	assert.Empty(t, titled(report, "not all keys were looked at"))
}

// What other programs keep is no lock, and no finding says to delete it.
func TestOtherProgramsData(t *testing.T) {
	t.Parallel()
	server := redisproc.ForTest(t, 1)[0]
	c := connect(t, server)
	for key, value := range map[string]string{
		"lock": "1", "door.lock": "open", "LOCK:orders": "9f1c", "redlock": "yes", "clock": "12:00",
		"hash": "0123456789abcdef0123456789abcdef", "json": `{"id":"a:0123456789abcdef0123456789abcdef"}`,
		"upper": "web-1:0123456789ABCDEF0123456789ABCDEF", "long": "web-1:00123456789abcdef0123456789abcdef0",
	} {
		require.NoError(t, c.Set(t.Context(), key, value, 0).Err())
	}
	require.NoError(t, c.HSet(t.Context(), "locks", "a", someToken).Err())
	require.NoError(t, c.RPush(t.Context(), "lockers", someToken).Err())
	for key, member := range map[string]string{"leaders": someToken, "highscores": "redlock:score"} {
		require.NoError(t, c.ZAdd(t.Context(), key, redis.Z{Score: 1, Member: member}).Err())
	}
	assert.Empty(t, titled(examine(t, []string{server.URL()}), "a lock without an end"))

	require.NoError(t, c.Set(t.Context(), "like one of ours", someToken, 0).Err())
	found := one(t, examine(t, []string{server.URL()}), "a lock without an end")
	assert.NotRegexp(t, `\b(DEL|UNLINK|EXPIRE)\b`, found.Fix)
	assert.Empty(t, found.Commands)
}
