package doctor_test

import (
	"math"
	"math/rand/v2"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/doctor"
	"github.com/redlock-go/redlock/internal/need"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/internal/testnet"
	"github.com/redlock-go/redlock/internal/wallclock"
	"github.com/redlock-go/redlock/redlocktest"
)

// preloaded starts a server with a library that replaces functions of the C library. build makes it at a path in dir,
// and returns further variables of the server's environment.
func preloaded(t *testing.T, build func(dir, lib string) (env []string, err error), args ...string) *redisproc.Server {
	t.Helper()
	redisproc.Need(t)
	need.SkipIf(t, need.Redis, wallclock.Available()) // gcc, and LD_PRELOAD
	dir := t.TempDir()
	lib := filepath.Join(dir, "preloaded.so")
	env, err := build(dir, lib)
	require.NoError(t, err)
	s, err := redisproc.StartWith(t.Context(), redisproc.Options{Args: args, Env: append(env, "LD_PRELOAD="+lib)})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

// clocked starts a server with a wall clock of its own.
func clocked(t *testing.T) (s *redisproc.Server, c *wallclock.Clock) {
	t.Helper()
	s = preloaded(t, func(dir, lib string) (_ []string, err error) {
		if c, err = wallclock.New(dir); err != nil {
			return nil, err
		}
		return []string{wallclock.EnvFile + "=" + c.File()}, wallclock.Build(t.Context(), lib)
	})
	return s, c
}

// The drift budget is wide, because the longer the round trips are, the less of a drift is certain: on a busy machine,
// 60 ms of them in 10 s make 6,000 ppm uncertain.
func TestClocksOfMasters(t *testing.T) {
	t.Parallel()
	type testCase struct {
		title, why string
		before     func(*wallclock.Clock) error // the examination
		during     func(*wallclock.Clock) error
	}
	unchanged := func(*wallclock.Clock) error { return nil }
	testmain.Each(t, map[string]testCase{
		"fast": {
			"the clock drifts beyond the budget",
			`it gains [345]\d{4} ppm .*, 1\.\d of the drift budget`,
			func(c *wallclock.Clock) error { return c.Run(0.05) }, unchanged,
		},
		"slow": {
			"the clock drifts", `it gains -(1[5-9]|2\d)\d{3} ppm`,
			func(c *wallclock.Clock) error { return c.Run(-0.0295) }, unchanged,
		},
		"back": {
			"the clock stepped", `steps during the examination: 1, the first by -(29|30)\dms`,
			unchanged, func(c *wallclock.Clock) error {
				time.Sleep(5 * time.Second)
				return c.Jump(-300 * time.Millisecond)
			},
		},
	}, func(t *testing.T, c testCase) {
		server, own := clocked(t)
		changed := make(chan error, 1)
		locker := openPatiently(t, []string{server.URL()}, redlock.WithDrift(0.03, 0))
		require.NoError(t, c.before(own))
		go func() { changed <- c.during(own) }()
		report, err := examined(doctor.Examine(t.Context(), locker))
		require.NoError(t, err)
		require.NoError(t, <-changed)
		require.Equal(t, []string{c.title}, titles(report), "%v", report)
		assert.Regexp(t, c.why, report.Findings[0].Why)
	})
}

// The drift that most masters agree on is this host's. The speed of Go's clock cannot be changed, but that of three
// masters can.
func TestADriftOfThisHost(t *testing.T) {
	t.Parallel()
	const title, master = "this host's clock runs at another speed", "the clock drifts beyond the budget"
	var urls []string
	for range 3 {
		server, own := clocked(t)
		require.NoError(t, own.Run(0.02))
		urls = append(urls, server.URL())
	}
	report, err := examined(doctor.Examine(t.Context(), open(t, urls)))
	require.NoError(t, err)
	assert.Regexp(t, `gains -(1[5-9]|2[0-4])\d{3} ppm`, one(t, report, title).Why)

	at := func(rates ...float64) doctor.Report {
		var all []doctor.Seen
		for i, r := range rates {
			all = append(all, doctor.Seen{Name: string(rune('a' + i)), Rate: r})
		}
		return doctor.Judge(0, all...)
	}
	report = at(0.02, 0.021, 0)
	found := one(t, report, title)
	assert.Empty(t, found.Node)
	assert.Contains(t, found.Why, "gains -2")
	assert.Empty(t, titled(report, master), "no master is accused")
	report = at(0.02, -0.02, 0)
	assert.Empty(t, titled(report, title))
	assert.Len(t, one(t, report, master).Nodes, 2)
}

// This host's wall clock cannot be set by a test, so the step is given.
func TestAStepOfThisHostsWallClock(t *testing.T) {
	t.Parallel()
	const title = "this host's wall clock stepped"
	assert.Len(t, titled(doctor.Judge(-time.Second), title), 1)
	assert.Empty(t, titled(doctor.Judge(50*time.Millisecond), title))
}

// future is a clock of the year 2300.
type future struct{ clock.Clock }

func (f future) Now() time.Time { return f.Clock.Now().AddDate(274, 0, 0) }

func TestAWallClockOutOfRange(t *testing.T) {
	t.Parallel()
	report := examine(t, redisproc.URLs(redisproc.ForTest(t, 1)), redlock.WithClock(future{clock.System}))
	one(t, report, "this host's wall clock is out of range")
}

// slowDisk has each sync of a file take four seconds. Redis waits for a sync that has taken two.
const slowDisk = "#include <unistd.h>\nint fdatasync(int fd) { sleep(4); return 0; }\n"

func TestADiskThatSyncsSlowly(t *testing.T) {
	t.Parallel()
	const title = "waits for its disk"
	server := preloaded(t, func(_, lib string) ([]string, error) {
		gcc := exec.Command("gcc", "-shared", "-fPIC", "-x", "c", "-o", lib, "-")
		gcc.Stdin = strings.NewReader(slowDisk)
		return nil, gcc.Run()
	}, "--appendonly", "yes", "--appendfsync", "everysec")
	url := []string{server.URL()}
	assert.Empty(t, titled(examine(t, url), title))
	c := connect(t, server)
	require.Eventually(t, func() bool {
		_ = c.Incr(t.Context(), "x") // something to sync
		text, err := c.Info(t.Context(), "persistence").Result()
		return err == nil && !hasLine(text, "aof_delayed_fsync:0")
	}, patience, 100*time.Millisecond)
	found := one(t, examine(t, url), title)
	assert.Regexp(t, `aof_delayed_fsync is \d+`, found.Why)
	assert.NotContains(t, found.Fix, "no-appendfsync-on-rewrite", "locks without the restart guard need it to be no")
}

// Without the restart guard, a master must sync every write before it replies. With no-appendfsync-on-rewrite it does
// not while it saves a snapshot or rewrites its AOF.
func TestWhatForgetsLocksInARestart(t *testing.T) {
	t.Parallel()
	const title = "forgets locks in a restart"
	server := redisproc.ForTest(t, 1, "--appendonly", "yes", "--appendfsync", "always")[0]
	c, url := connect(t, server), []string{server.URL()}
	for _, step := range []struct{ parameter, value, why string }{
		{"no-appendfsync-on-rewrite", "no", ""},
		{"no-appendfsync-on-rewrite", "yes", "no-appendfsync-on-rewrite is yes"},
		{"appendfsync", "everysec", "appendfsync is everysec"},
		{"no-appendfsync-on-rewrite", "no", "appendfsync is everysec"},
		{"appendonly", "no", "aof_enabled is not 1"},
	} {
		require.NoError(t, c.ConfigSet(t.Context(), step.parameter, step.value).Err())
		assert.Empty(t, titled(examine(t, url), title), "%+v", step)
		report := examine(t, url, redlock.WithoutRestartGuard())
		if step.why == "" {
			assert.Empty(t, titled(report, title))
			continue
		}
		found := one(t, report, title)
		assert.Contains(t, found.Why, "the restart guard is off, and "+step.why)
		assert.Contains(t, found.Fix, "CONFIG SET no-appendfsync-on-rewrite no")
	}
}

// underWay returns when an examination that began with the call takes samples.
func underWay(t *testing.T, c *redis.Client) {
	t.Helper()
	assert.Eventually(t, func() bool {
		text, err := c.Info(t.Context(), "commandstats").Result()
		return err == nil && strings.Contains(text, "cmdstat_time:")
	}, patience, time.Millisecond)
}

// A master that is silent once, for longer than the node timeout and longer than doctor waits for a reply, is said to
// have stalled, and not to be slow or down.
func TestAStall(t *testing.T) {
	t.Parallel()
	const title = "stalled"
	type testCase struct {
		span, freeze time.Duration
		why          string // "": it has not stalled
	}
	testmain.Each(t, map[string]testCase{
		"longer than the timeout":  {5 * time.Second, 2800 * time.Millisecond, "no answer once, for 2.79s"},
		"longer than the wait":     {10 * time.Second, 5 * time.Second, "no answer once, for 4.99s"},
		"until after the span":     {2 * time.Second, 2800 * time.Millisecond, "no answer once, for 2.79s"},
		"shorter than the timeout": {time.Second, 400 * time.Millisecond, ""},
	}, func(t *testing.T, c testCase) {
		synctest.Test(t, func(t *testing.T) {
			locker, masters := redlocktest.StartLocker(t, 1, redlock.WithNodeTimeout(2*time.Second))
			const begin = 490 * time.Millisecond // 10 ms before a sample of each span
			time.AfterFunc(begin, masters[0].Freeze)
			time.AfterFunc(begin+c.freeze, masters[0].Thaw)
			report := reportOn(t, locker, c.span)
			for _, other := range []string{
				"does not answer", "the round trip exceeds the node timeout", "the round trip is near the node timeout",
				"refuses locks", "waiters are not woken", "ended a connection",
			} {
				assert.Empty(t, titled(report, other), "%v", report)
			}
			if c.why == "" {
				assert.Empty(t, titled(report, title))
				return
			}
			found := one(t, report, title)
			assert.Contains(t, found.Why, c.why+"; the node timeout is 2s")
		})
	})
}

// balance returns the URL of a load balancer that forwards the connections to the servers in turn.
func balance(t *testing.T, servers ...*redisproc.Server) string {
	t.Helper()
	var turn atomic.Int64
	return "redis://" + testnet.Serve(t, func(client net.Conn) {
		testnet.ForwardTo(servers[int(turn.Add(1))%len(servers)].Addr(), client)
	})
}

func TestSeveralServersBehindOneURL(t *testing.T) {
	t.Parallel()
	const title = "several servers answer"
	servers := redisproc.ForTest(t, 3)
	urls := []string{balance(t, servers...), balance(t, servers[0]), servers[2].URL()}
	report := examineFor(t, 10*span, urls) // a busy machine, too, makes enough connections
	found := one(t, report, title)
	assert.Len(t, found.Nodes, 1)
	assert.Regexp(t, "run_id [0-9a-f]{8}… and [0-9a-f]{8}… answer in turn", found.Why)
	assert.Empty(t, titled(report, "a proxy answers"))
}

// A server that restarts has another run_id, too.
func TestARestartDuringTheExamination(t *testing.T) {
	t.Parallel()
	server := redisproc.ForTest(t, 1)[0]
	admin := connect(t, server)
	var restarting sync.WaitGroup
	restarting.Go(func() {
		underWay(t, admin)
		assert.NoError(t, server.Kill())
		assert.NoError(t, server.Start(t.Context()))
	})
	report := examineFor(t, 8*time.Second, []string{server.URL()}) // longer than a restart on a busy machine
	restarting.Wait()
	assert.Empty(t, titled(report, "several servers answer"), "%v", report)
	assert.Empty(t, titled(report, "does not answer"), "%v", report)
	assert.Len(t, titled(report, "ended a connection"), 1)
	found := one(t, report, "restarted a moment ago")
	assert.Contains(t, found.Why, "it restarted during the examination")
}

// A server may restart after the first INFO and before the first sample shows its run_id.
func TestARestartBeforeTheFirstSample(t *testing.T) {
	t.Parallel()
	for sampled, want := range map[string][]string{"": {}, "1": {}, "2": {"restarted a moment ago"}} {
		assert.Equal(t, want, titles(doctor.Judge(0, doctor.Seen{Name: "h:1", Info: sound, Sampled: sampled})), sampled)
	}
}

// Round trips at the thresholds of their rules, of a master that is given.
func TestRoundTripsAtTheirThresholds(t *testing.T) {
	t.Parallel()
	const timeout = time.Second // of judge
	const near = "the round trip is near the node timeout"
	for _, c := range []struct {
		trips []time.Duration
		title string
	}{
		{[]time.Duration{timeout}, ""},
		{[]time.Duration{timeout + 1}, "stalled"},
		{slices.Repeat([]time.Duration{timeout}, 51), near}, // most of them
		{slices.Repeat([]time.Duration{timeout + 1}, 51), "the round trip exceeds the node timeout"},
		{[]time.Duration{timeout/2 + 1}, ""},
		{[]time.Duration{timeout/2 + 1, timeout/2 + 1}, near},
		{[]time.Duration{timeout / 2, timeout / 2}, ""},
		{[]time.Duration{timeout + 1, timeout/2 + 1}, "stalled"},
	} {
		report := doctor.Judge(0, doctor.Seen{Name: "h:1", Info: sound, Trips: c.trips})
		assert.Equal(t, c.title, strings.Join(titles(report), ", "), "%v", c.trips)
	}
}

// A slow round trip makes three things uncertain: a gain, the median gain that it is compared with, and the drift.
func TestSlowRoundTripsAreNoSteps(t *testing.T) {
	t.Parallel()
	drifts := 0
	for seed := range uint64(2000) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		trips := make([]time.Duration, 3+rnd.IntN(98))
		sum := time.Duration(0)
		for i := range trips {
			trips[i] = time.Duration(math.Exp(4*rnd.NormFloat64()) * float64(time.Millisecond))
			sum += trips[i]
		}
		rate := 0.04*rnd.Float64() - 0.02
		steps, certain := doctor.Steps(rate, 0, trips, rnd.Float64)
		require.Empty(t, steps, "seed %d", seed)
		const rounding = 1e-6
		require.Less(t, math.Abs(certain), math.Abs(rate)+rounding, "seed %d: not all of it is drift", seed)
		require.GreaterOrEqual(t, certain*rate, 0.0, "seed %d", seed)
		if certain != 0 {
			drifts++
		}
		if len(trips) > 50 { // so that the median is another gain
			steps, certain = doctor.Steps(rate, 5*sum, trips, rnd.Float64)
			require.NotEmpty(t, steps, "seed %d", seed)
			require.Less(t, math.Abs(certain), math.Abs(rate)+rounding, "seed %d, with a step", seed)
		}
	}
	assert.Positive(t, drifts)
}
