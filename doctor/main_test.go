package doctor_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/doctor"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/internal/wallclock"
)

func TestMain(m *testing.M) {
	testmain.MostlyWait()
	dir, err := os.MkdirTemp("", "doctor-")
	if err != nil {
		panic(err)
	}
	// The tests of huge pages need a host on which they are always used.
	file := filepath.Join(dir, "enabled")
	if err := os.WriteFile(file, []byte("[always] madvise never\n"), 0o600); err != nil {
		panic(err)
	}
	doctor.SetHugePagesFile(file)
	goleak.VerifyTestMain(m, goleak.Cleanup(func(status int) {
		_ = os.RemoveAll(dir)
		_, err := exec.LookPath(redisproc.Binary)
		whole := err == nil && wallclock.Available() == nil && flag.Lookup("test.run").Value.String() == "" &&
			flag.Lookup("test.skip").Value.String() == "" && flag.Lookup("test.list").Value.String() == ""
		if gaps := unseen(); status == 0 && whole && len(gaps) > 0 {
			fmt.Fprintln(os.Stderr, strings.Join(gaps, "\n"))
			status = 1
		}
		os.Exit(status)
	}))
}

const (
	span     = 200 * time.Millisecond // shorter than in production: the tests that need more say so
	patience = 20 * time.Second
)

// open returns a Locker with a node timeout that no round trip on this host comes near, also on a busy machine.
func open(t *testing.T, urls []string, opts ...redlock.Option) *redlock.Locker {
	t.Helper()
	l, err := redlock.Open(urls, patiently(opts)...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.Close()) })
	return l
}

// openPatiently is open for an examination of 10 s, which covers the restart window of a longer TTL.
func openPatiently(t *testing.T, urls []string, opts ...redlock.Option) *redlock.Locker {
	t.Helper()
	return open(t, urls, append(opts, redlock.WithTTL(8*time.Second), redlock.WithNodeTimeout(7*time.Second))...)
}

// wrap is open for the master of a client.
func wrap(t *testing.T, c redis.UniversalClient, opts ...redlock.Option) *redlock.Locker {
	t.Helper()
	l, err := redlock.Wrap(c, patiently(opts)...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.Close()) })
	return l
}

func patiently(opts []redlock.Option) []redlock.Option {
	return append([]redlock.Option{
		redlock.WithTTL(3 * time.Second), redlock.WithNodeTimeout(2500 * time.Millisecond),
	}, opts...)
}

func examine(t *testing.T, urls []string, opts ...redlock.Option) doctor.Report {
	t.Helper()
	return examineFor(t, span, urls, opts...)
}

// examineFor examines for a span. Each finding fits on a terminal.
func examineFor(t *testing.T, span time.Duration, urls []string, opts ...redlock.Option) doctor.Report {
	t.Helper()
	return reportOn(t, open(t, urls, opts...), span)
}

func reportOn(t *testing.T, l *redlock.Locker, span time.Duration) doctor.Report {
	t.Helper()
	report, err := examined(doctor.Examine(t.Context(), l, doctor.WithSpan(span)))
	require.NoError(t, err)
	for _, f := range report.Findings {
		fits(t, f)
	}
	return report
}

// fits checks that a finding has at most nine lines of 80 columns, three for each of its parts.
func fits(t *testing.T, f doctor.Finding) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(f.String(), "\n"), "\n")
	assert.LessOrEqual(t, len(lines), 9, "%v", f)
	fix := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "         fix: ") })
	assert.LessOrEqual(t, len(lines)-fix, 3, "%v", f)
	for _, l := range lines {
		assert.LessOrEqual(t, utf8.RuneCountInString(l), 80, "%v", f)
	}
}

// seen has the titles of the findings that the tests have had of examinations of real servers.
var seen = struct {
	sync.Mutex
	titles map[string]bool
}{titles: map[string]bool{}}

// examined records the result of doctor.Examine, and returns it.
func examined(r doctor.Report, err error) (doctor.Report, error) {
	seen.Lock()
	defer seen.Unlock()
	for _, title := range titles(r) {
		seen.titles[title] = true
	}
	return r, err
}

// elsewhere are the findings that no redis-server 7.0 here can have: TestThresholds, TestOtherServers and
// TestAStepOfThisHostsWallClock give them.
var elsewhere = []string{
	"is an active replica", "is too old", "is Dragonfly or KeyDB", "is Valkey", "its event loop is slow",
	"has disconnected slow clients", "this host's wall clock stepped",
}

// unseen returns what the tests of the package, all run, have not shown: that each finding appears on a real server.
func unseen() (all []string) {
	for _, row := range doctor.Rows() {
		if !slices.Contains(elsewhere, row.Title) && !seen.titles[row.Title] {
			all = append(all, "no real server had the finding: "+row.Title)
		}
	}
	return all
}

// titled returns the findings with a title.
func titled(r doctor.Report, title string) (found []doctor.Finding) {
	for _, f := range r.Findings {
		if f.Title == title {
			found = append(found, f)
		}
	}
	return found
}

// one returns the finding with a title, of which there must be one.
func one(t *testing.T, r doctor.Report, title string) doctor.Finding {
	t.Helper()
	found := titled(r, title)
	require.Len(t, found, 1, "%v", r)
	return found[0]
}

func titles(r doctor.Report) []string {
	all := []string{}
	for _, f := range r.Findings {
		all = append(all, f.Title)
	}
	return all
}

// connect returns a client of the server as its default user.
func connect(t *testing.T, s *redisproc.Server) *redis.Client {
	t.Helper()
	return client(t, s.URL())
}

func client(t *testing.T, url string) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(url)
	require.NoError(t, err)
	c := redis.NewClient(o)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return c
}

// await waits until INFO of the server has a line.
func await(t *testing.T, c *redis.Client, line string) {
	t.Helper()
	require.Eventually(t, func() bool {
		text, err := c.Info(context.Background(), "all").Result()
		return err == nil && hasLine(text, line)
	}, patience, 10*time.Millisecond, "INFO has no line %s", line)
}
