package doctor_test

import (
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/doctor"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testnet"
)

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
	const title, timeout = "stalled", 300 * time.Millisecond
	for name, c := range map[string]struct {
		span, freeze, timeout time.Duration
		why                   string
	}{
		"a second": {
			3 * time.Second, time.Second, timeout, `once, for (1\.\d+s|9\d\dms); the node timeout is 300ms`,
		},
		"longer than the wait":     {10 * time.Second, 4 * time.Second, timeout, `once, for [345](\.\d+)?s; the node`},
		"until after the span":     {time.Second, 2500 * time.Millisecond, timeout, `no answer once, for 2\.\d+s; the node`},
		"shorter than the timeout": {time.Second, 400 * time.Millisecond, 2500 * time.Millisecond, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redisproc.ForTest(t, 1)[0]
			admin := connect(t, server)
			var freezing sync.WaitGroup
			freezing.Go(func() {
				underWay(t, admin)
				assert.NoError(t, server.Freeze())
				time.Sleep(c.freeze)
				assert.NoError(t, server.Thaw())
			})
			report := examineFor(t, c.span, []string{server.URL()}, redlock.WithNodeTimeout(c.timeout))
			freezing.Wait()
			for _, other := range []string{
				"does not answer", "the round trip exceeds the node timeout", "the round trip is near the node timeout",
				"refuses locks", "waiters are not woken", "ended a connection",
			} {
				assert.Empty(t, titled(report, other), "%v", report)
			}
			found := titled(report, title)
			if c.why == "" {
				assert.Empty(t, found)
				return
			}
			require.Len(t, found, 1, "%v", report)
			assert.Equal(t, doctor.Warning, found[0].Severity)
			assert.Regexp(t, c.why, found[0].Why)
		})
	}
}

// balance returns the URL of a load balancer that forwards the connections to the servers in turn.
func balance(t *testing.T, servers ...*redisproc.Server) string {
	t.Helper()
	var turn atomic.Int64
	return "redis://" + testnet.Serve(t, func(client net.Conn) {
		testnet.Forward(client, servers[int(turn.Add(1))%len(servers)].Addr())
	})
}

func TestSeveralServersBehindOneURL(t *testing.T) {
	t.Parallel()
	const title = "several servers answer"
	servers := redisproc.ForTest(t, 3)
	sound := balance(t, servers[0])
	urls := []string{balance(t, servers...), sound, servers[2].URL()}
	report := examineFor(t, 10*span, urls) // a busy machine, too, makes enough connections
	found := titled(report, title)
	require.Len(t, found, 1, "%v", report)
	assert.Len(t, found[0].Nodes, 1)
	assert.Equal(t, doctor.Danger, found[0].Severity)
	assert.Regexp(t, "run_id [0-9a-f]{8}… and [0-9a-f]{8}… answer in turn", found[0].Why)
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
	found := titled(report, "restarted a moment ago")
	require.Len(t, found, 1)
	assert.Contains(t, found[0].Why, "it restarted during the examination")
}

// The same, of masters that have just been seen so.
func TestRoundTripsAtTheirThresholds(t *testing.T) {
	t.Parallel()
	const timeout = time.Second // of judge
	const near = "the round trip is near the node timeout"
	many := func(d time.Duration) (all []time.Duration) {
		for range 51 {
			all = append(all, d)
		}
		return all
	}
	for name, c := range map[string]struct {
		trips []time.Duration
		title string
	}{
		"one at the node timeout":      {[]time.Duration{timeout}, ""},
		"one above it":                 {[]time.Duration{timeout + 1}, "stalled"},
		"most at it":                   {many(timeout), near},
		"most above it":                {many(timeout + 1), "the round trip exceeds the node timeout"},
		"one above half of it":         {[]time.Duration{timeout/2 + 1}, ""},
		"two above half of it":         {[]time.Duration{timeout/2 + 1, timeout/2 + 1}, near},
		"two at half of it":            {[]time.Duration{timeout / 2, timeout / 2}, ""},
		"one above it, one above half": {[]time.Duration{timeout + 1, timeout/2 + 1}, "stalled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := judge(0, doctor.Seen{Name: "h:1", Info: sound, Trips: c.trips})
			if c.title == "" {
				assert.Empty(t, report.Findings)
				return
			}
			assert.Equal(t, []string{c.title}, titles(report), "%v", report)
		})
	}
}
