package clients_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/clients"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
	"github.com/redlock-go/redlock/redlocktest"
)

// drifters are clients of which one can be seen to drift: a holder believes for as long as the history says, by
// the machine's clock.
func drifters(t *testing.T, size int, g traffic.Group) (*clients.Fleet, *recorder) {
	t.Helper()
	masters := redlocktest.Start(t, 3)
	f, log := newFleet(
		t, size, traffic.Config{Lock: traffic.Quorum, URLs: redlocktest.URLs(masters), Groups: []traffic.Group{g}},
	)
	require.NoError(t, f.StartAll(t.Context()))
	return f, log
}

// longest is the longest belief of the locks that were had since, of those that no one extended, and how many there
// are.
func longest(events []history.Event, since time.Duration) (d time.Duration, n int) {
	for _, e := range events {
		if e.Kind == history.Acquired && e.T > since {
			d, n = max(d, e.Until-e.T), n+1
		}
	}
	return d, n
}

// A client believes in its lock for a hundredth less than its TTL, and 2 ms, by its clock, from when it asked. So a
// client with a correct clock believes for at most that long from when it has the lock, and one with a fast clock for
// less.
func TestAClientDriftsByWhatItIsTold(t *testing.T) {
	t.Parallel()
	const ttl = traffic.LongTTL
	right := ttl - ttl/100 - 2*time.Millisecond
	fast := time.Duration(float64(right) / (1 + faults.Drift))
	f, log := drifters(
		t, 1,
		traffic.Group{Names: []string{"one"}, TTL: ttl, Hold: traffic.Hold{Usual: traffic.Span{Least: time.Millisecond}}},
	)
	believes := func(more, atMost time.Duration) {
		t.Helper()
		since := history.NewClock().Now()
		require.Eventually(t, func() bool { d, _ := longest(read(t, f), since); return d > more }, soon, look)
		d, _ := longest(read(t, f), since)
		assert.LessOrEqual(t, d, atMost)
	}
	believes(fast, right)
	require.NoError(t, f.RunClock(t.Context(), 0, -faults.Drift))
	believes(right, time.Duration(float64(right)/(1-faults.Drift)))
	require.NoError(t, f.RunClock(t.Context(), 0, faults.Drift))
	believes(fast-ttl/500, fast)
	require.NoError(t, f.RunClock(t.Context(), 0, 0))
	believes(fast, right)

	require.NoError(t, f.RunClock(t.Context(), 0, -faults.Drift))
	require.NoError(t, f.Kill(t.Context(), 0))
	require.ErrorContains(t, f.RunClock(t.Context(), 0, 0), "c0.0")
	require.NoError(t, f.Start(t.Context(), 0))
	believes(fast, right) // of another life the clock is right
	require.NoError(t, f.RunClock(t.Context(), 0, 0), "and healing it does nothing")
	believes(fast, right)

	require.ErrorContains(t, f.RunClock(t.Context(), 0, -1), "it must be more than -1")
	require.NoError(t, quit(t, f))
	assert.Empty(t, log.all())
}

// The control: a clock that loses half a second a second, which no budget allows, and exclusion breaks, as long as it
// does.
func TestAClientThatDriftsTooFarIsCaught(t *testing.T) {
	t.Parallel()
	const ttl = traffic.ShortTTL
	f, log := drifters(t, 2, traffic.Group{
		Names: []string{"over"}, TTL: ttl, Careless: true, Hold: traffic.Hold{Usual: traffic.Span{Least: 8 * ttl / 5}},
	})
	had := func(n int) {
		t.Helper()
		since := history.NewClock().Now()
		require.Eventually(t, func() bool { _, has := longest(read(t, f), since); return has >= n }, 2*soon, 10*look)
	}
	had(3)
	assert.Empty(t, check.Exclusion(read(t, f)).Findings)
	for i := range f.Size {
		require.NoError(t, f.RunClock(t.Context(), i, -0.5))
	}
	require.Eventually(t, func() bool { return !check.Exclusion(read(t, f)).Held() }, 2*soon, 10*look)
	for i := range f.Size {
		require.NoError(t, f.RunClock(t.Context(), i, 0))
	}
	had(2) // who had it before believes no longer than that
	healed := history.NewClock().Now()
	had(3)
	events := read(t, f)
	for _, found := range check.Exclusion(events).Findings {
		assert.Less(t, found.Events[0].T, healed, "%s", found.Text)
	}
	require.NoError(t, quit(t, f))
	assert.Empty(t, log.all())
}

// The deadline of who holds while its clock changes its rate is another, and the history says so.
func TestADeadlineMovesWithTheClock(t *testing.T) {
	t.Parallel()
	const ttl = traffic.LongTTL
	f, log := drifters(
		t, 1, traffic.Group{Names: []string{"one"}, TTL: ttl, Hold: traffic.Hold{Usual: traffic.Span{Least: time.Hour}}},
	)
	first := func(kind history.Kind) (e history.Event) {
		require.Eventually(t, func() bool {
			for _, e = range read(t, f) {
				if e.Kind == kind {
					return true
				}
			}
			return false
		}, soon, look)
		return e
	}
	was := first(history.Acquired)
	require.NoError(t, f.RunClock(t.Context(), 0, 1))
	now := first(history.Extended)
	changed := was.Until - 2*(was.Until-now.Until) // what was left then has halved
	assert.Greater(t, changed, was.T)
	assert.Less(t, changed, now.T)
	require.NoError(t, quit(t, f))
	assert.Empty(t, log.all())
}
