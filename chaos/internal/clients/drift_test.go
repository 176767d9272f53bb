package clients_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// longest is the longest belief of the locks that were had since.
func longest(events []history.Event, since time.Duration) (d time.Duration) {
	for _, e := range events {
		if e.Kind == history.Acquired && e.T > since {
			d = max(d, e.Until-e.T)
		}
	}
	return d
}

// A client believes in its lock for a hundredth less than its TTL, and 2 ms, by its clock, from when it asked. So a
// client with a correct clock believes for at most that long from when it has the lock, and one with a fast clock for
// less.
func TestAClientDriftsByWhatItIsTold(t *testing.T) {
	t.Parallel()
	const ttl = traffic.LongTTL
	const byRate = ttl - ttl/100 - 2*time.Millisecond
	f, log := started(t, 1, 3, []traffic.Group{{
		Names: []string{"one"}, TTL: ttl, Hold: traffic.Hold{Usual: traffic.Span{Least: time.Millisecond}},
	}})
	believes := func(rate float64) {
		t.Helper()
		since, most := history.NewClock().Now(), time.Duration(float64(byRate)/rate)
		require.Eventually(t, func() bool { return longest(read(t, f), since) > most-ttl/500 }, soon, look)
		assert.LessOrEqual(t, longest(read(t, f), since), most)
	}
	believes(1)
	require.NoError(t, f.RunClock(t.Context(), 0, -faults.Drift))
	believes(1 - faults.Drift)
	require.NoError(t, f.RunClock(t.Context(), 0, faults.Drift))
	believes(1 + faults.Drift)
	require.NoError(t, f.RunClock(t.Context(), 0, 0))
	believes(1)

	require.NoError(t, f.RunClock(t.Context(), 0, -faults.Drift))
	require.NoError(t, f.Kill(t.Context(), 0))
	require.ErrorContains(t, f.RunClock(t.Context(), 0, 0), "c0.0")
	require.NoError(t, f.Start(t.Context(), 0))
	believes(1) // of another life the clock is as it was
	require.NoError(t, f.RunClock(t.Context(), 0, 0), "and healing it does nothing")
	believes(1)

	require.NoError(t, quit(t, f))
	assert.Empty(t, log.all())
	assert.Empty(t, check.WellFormed(read(t, f)).Findings)
}
