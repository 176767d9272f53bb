package redlock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
)

// lifecycle has, for each phase of a lock, the events that lead to it, and the phase that follows at each event: "-" if
// the event cannot happen.
var lifecycle = map[string]struct {
	path []string
	next map[string]string
}{
	"held": {nil, map[string]string{
		"lose": "lingering", "clear": "-", "unlock": "unlocked", "handOver": "-", "giveBack": "-", "close": "closed",
	}},
	"lingering": {[]string{"lose"}, map[string]string{
		"lose": "lingering", "clear": "cleared", "unlock": "released", "handOver": "-", "giveBack": "-", "close": "cleared",
	}},
	"cleared": {[]string{"lose", "clear"}, map[string]string{
		"lose": "cleared", "clear": "cleared", "unlock": "released", "handOver": "-", "giveBack": "-", "close": "cleared",
	}},
	"unlocked": {[]string{"unlock"}, map[string]string{
		"lose": "unlocked", "clear": "-", "unlock": "unlocked", "handOver": "handedOver", "giveBack": "released",
		"close": "unlocked",
	}},
	"handedOver": {[]string{"unlock", "handOver"}, map[string]string{
		"lose": "handedOver", "clear": "-", "unlock": "handedOver", "handOver": "-", "giveBack": "-", "close": "handedOver",
	}},
	"released": {[]string{"unlock", "giveBack"}, map[string]string{
		"lose": "released", "clear": "released", "unlock": "released", "handOver": "-", "giveBack": "-", "close": "released",
	}},
	"closed": {[]string{"close"}, map[string]string{
		"lose": "closed", "clear": "-", "unlock": "closed", "handOver": "-", "giveBack": "-", "close": "closed",
	}},
}

// freed are the phases after which the masters no longer have the lock's keys.
var freed = map[string]bool{"cleared": true, "released": true, "closed": true}

// TestEveryEventInEveryPhaseOfALock walks all pairs on a lock that masters granted, and checks the effects: the first
// event ends the holder's context, with its cause; the release is submitted once; the waiter of the same Locker gets
// the lock then and not before; and no alarm of the schedule finds the lock after that.
func TestEveryEventInEveryPhaseOfALock(t *testing.T) {
	t.Parallel()
	assert.Len(t, lifecycle, len(redlock.Phases()))
	for _, phase := range redlock.Phases() {
		state, known := lifecycle[phase]
		require.True(t, known, phase)
		assert.Len(t, state.next, len(redlock.Events()))
		for _, event := range redlock.Events() {
			t.Run(phase+", "+event, func(t *testing.T) {
				t.Parallel()
				inWorld(t, 1, func(t *testing.T, w *world) { walk(t, w, phase, event, state.path, state.next[event]) })
			})
		}
	}
}

// walk takes a lock to a phase and then applies an event, which leads to the phase next.
func walk(t *testing.T, w *world, phase, event string, path []string, next string) {
	t.Helper()
	var releases atomic.Int64
	l := w.locker(t, "a", redlock.WithoutHandOver(), redlock.WithTrace(&redlock.Trace{
		Vote: func(_ context.Context, e redlock.VoteEvent) {
			if e.Op == "release" {
				releases.Add(1)
			}
		},
	}))
	w.warm(t, l)
	synctest.Wait()
	releases.Store(0)
	lk := lock(t, l, "x")
	held := lk.Context()
	waiter := locking(t.Context(), l, "x")
	synctest.Wait()

	first, later := errors.New("the first"), errors.New("a later one")
	for i, e := range path {
		lk.Happen(e, []error{first, later}[min(i, 1)])
	}
	check := func(phase string) {
		t.Helper()
		synctest.Wait()
		require.Equal(t, phase, lk.Phase())
		assertEnded(t, held, lk, phase != "held", first)
		assert.Equal(t, freed[phase], releases.Load() == 1, "%d releases", releases.Load())
	}
	check(phase)

	if next == "-" {
		assert.PanicsWithValue(t, "redlock: "+event+" of a lock that is "+phase, func() { lk.Happen(event, nil) })
		return
	}
	assert.Equal(t, phase, lk.Happen(event, []error{first, later}[min(len(path), 1)]))
	check(next)

	time.Sleep(2 * ttl) // nothing that is still scheduled ends the lock again
	if next == "lingering" {
		next = "cleared"
	}
	check(next)
	if freed[next] {
		got := ended(t, waiter, time.Minute)
		require.NoError(t, got.err)
		unlock(t, got.lock)
	} else {
		waiting(t, waiter)
	}
}

// assertEnded asserts that a lock has ended with a cause, or that it is held.
func assertEnded(t *testing.T, ctx context.Context, lk *redlock.Lock, ended bool, cause error) {
	t.Helper()
	if !ended {
		assert.NoError(t, lk.Err())
		assert.NoError(t, ctx.Err())
		return
	}
	assert.Equal(t, cause, lk.Err())
	assert.Equal(t, cause, context.Cause(ctx))
}

// A held lock must not cost more memory than a lock of the size class that 100,000 locks were measured with.
func TestALockIsSmall(t *testing.T) {
	t.Parallel()
	assert.LessOrEqual(t, int(redlock.LockSize), 208)
}
