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

// trusted is one contended name with a register that takes every write.
var trusted = []traffic.Group{{
	Names: []string{"one"}, TTL: traffic.ShortTTL, Register: history.Trusting,
	Hold: traffic.Hold{Usual: traffic.Span{Least: 20 * time.Millisecond, Below: 40 * time.Millisecond}},
}}

// unfinished counts what came last of the acquisitions of client 0's first life that never came to an end.
func unfinished(events []history.Event) map[history.Kind]int {
	last := map[history.ID]history.Kind{}
	for _, e := range events {
		if e.Client == traffic.Name(0) && e.Life == 0 && e.Op > 0 && e.Register == "" {
			last[e.ID()] = e.Kind
		}
	}
	kinds := map[history.Kind]int{}
	for _, k := range last {
		if k != history.Released && k != history.Refused {
			kinds[k]++
		}
	}
	return kinds
}

func TestADoomedClientDiesAtItsMoment(t *testing.T) {
	t.Parallel()
	for _, point := range []string{traffic.Acquiring, traffic.Holding, traffic.Releasing} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			f, log := started(t, 1, 1, trusted)
			goesOn(t, f, 0, 0)
			require.NoError(t, f.SetCrashPoint(t.Context(), 0, point))
			require.Eventually(t, func() bool { return f.Healthy(0) != nil }, soon, look)
			assert.Empty(t, log.all(), "that was expected")

			open := unfinished(read(t, f))
			if point == traffic.Holding {
				assert.Equal(t, map[history.Kind]int{history.Acquired: 1}, open)
			} else { // a few milliseconds later it may be anywhere; it has one worker
				assert.LessOrEqual(t, len(open), 1)
			}
			require.NoError(t, f.Start(t.Context(), 0), "and it comes back")
		})
	}
}

func TestASparedClientRuns(t *testing.T) {
	t.Parallel()
	f, log := started(t, 1, 1, trusted)
	require.NoError(t, f.CanFreeze())
	for range 3 { // it may have frozen itself by then, or not
		require.NoError(t, f.SetCrashPoint(t.Context(), 0, traffic.FrozenHolding))
		require.NoError(t, f.SetCrashPoint(t.Context(), 0, traffic.NoCrashPoint))
		goesOn(t, f, 0, 0)
	}
	require.NoError(t, f.SetCrashPoint(t.Context(), 0, traffic.FrozenHolding))
	standsStill(t, f, 0)
	require.NoError(t, f.SetCrashPoint(t.Context(), 0, traffic.NoCrashPoint))
	goesOn(t, f, 0, 0)
	assert.Empty(t, log.all())
}

// The last look at the lock is before the freeze, and the write is after it: the lock has long been another's.
func TestAHolderFrozenBeforeItsWriteHurtsTheRegister(t *testing.T) {
	t.Parallel()
	f, log := started(t, 2, 3, trusted)
	require.NoError(t, f.CanFreeze())
	goesOn(t, f, 0, 0)
	goesOn(t, f, 1, 0)
	require.NoError(t, f.SetCrashPoint(t.Context(), 0, traffic.FrozenHolding))
	writes := func(client int) int {
		return has(
			read(t, f), func(e history.Event) bool { return e.Kind == history.Written && e.Client == traffic.Name(client) },
		)
	}
	require.Eventually(t, func() bool { return outlived(read(t, f)) > 20 }, soon, 10*look)
	before := writes(0)
	require.NoError(t, f.Healthy(0), "frozen, not dead")
	assert.Empty(t, lostInTime(read(t, f)))
	require.NoError(t, f.Thaw(t.Context(), 0))
	require.Eventually(t, func() bool { return writes(0) > before+5 }, soon, look)
	require.NoError(t, quit(t, f))
	assert.Empty(t, log.all())

	events := read(t, f)
	byTheFrozen := lostBy(events, func(_, e history.Event) bool { return e.Client == traffic.Name(0) })
	assert.Positive(t, byTheFrozen["trusting test:one"], "it overwrote what the other one wrote meanwhile")
	assert.Empty(t, lostInTime(events))
	assert.Positive(t, has(events, func(e history.Event) bool {
		return e.Kind == history.Stalled && e.Client == traffic.Name(0) && e.Stall > traffic.ShortTTL
	}), "it noticed that it had not run")
}

// outlived returns how many values client 1 wrote after the end of the lock that client 0 has not released: 0 if
// client 0 holds none. Client 0 may have noticed the loss just before it was frozen.
func outlived(events []history.Event) int {
	var last history.Event
	for _, e := range events {
		if e.Client == traffic.Name(0) && e.Op > 0 && e.Register == "" && e.Kind != history.Lost {
			last = e
		}
	}
	if last.Kind != history.Acquired && last.Kind != history.Extended {
		return 0
	}
	return has(events, func(e history.Event) bool {
		return e.Kind == history.Written && e.Client == traffic.Name(1) && e.T > last.Until
	})
}

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
