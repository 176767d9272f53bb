package stacktest_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
)

// released are the releases since the last forget: how many were announced, and how many were silent.
func released(w *world) (announced, silent int) {
	for _, e := range w.asked() {
		switch {
		case e.Args[0] != "evalsha":
		case slices.Contains(e.Args, "redlock:x"):
			announced++
		default:
			silent++
		}
	}
	return announced, silent
}

const leastSilence = 20 * time.Millisecond // see handover.go

// longWaits are retries that do not come within a test: a waiter relies on messages, or on the TTL.
var longWaits = redlock.WithRetry(time.Minute, time.Hour)

// apart puts host a near the masters, and host b farther away: no master has answered a release when the next waiter
// has its turn, and b is not quicker by chance.
func (w *world) apart() {
	for i := range w.Masters() {
		w.Host("a").To(i).Delay(100*time.Microsecond, 0)
		w.Host("b").To(i).Delay(time.Millisecond, 0)
	}
}

// A release that wakes every contender for a lock that the next waiter here has already asked for costs more than the
// lock.
func TestAReleaseIsSilentIfTheNextWaiterContinues(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		a := w.locker(t, "a", redlock.WithoutHandOver(), longWaits)
		b := w.locker(t, "b", redlock.WithoutHandOver(), longWaits)
		w.warm(t, a)
		w.warm(t, b)
		first := lock(t, a, "x")
		second, third, fourth := locking(t.Context(), a, "x"), locking(t.Context(), a, "x"), locking(t.Context(), a, "x")
		other := locking(t.Context(), b, "x")
		waiting(t, other)
		w.apart()
		w.forget()

		unlock(t, first)
		lk := granted(t, second, time.Second)
		announced, silent := released(w)
		assert.Equal(t, 0, announced)
		assert.Equal(t, 3, silent)

		time.Sleep(leastSilence + time.Millisecond)
		w.forget()
		unlock(t, lk)
		lk = granted(t, third, time.Second, "that others wait this Locker learns only now")
		announced, _ = released(w)
		assert.Equal(t, 3, announced)
		waiting(t, other)

		time.Sleep(leastSilence + time.Millisecond)
		unlock(t, lk)
		lk = granted(t, other, time.Second)
		waiting(t, fourth, "it is the others' turn")

		unlock(t, lk)
		lk = granted(t, fourth, time.Second)
		unlock(t, lk)
	})
}

// If the successor does not take over, waiters of other Lockers must still be notified.
func TestASilentReleaseIsPublishedWhenTheNextWaiterLeaves(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a", redlock.WithoutHandOver(), longWaits), w.locker(t, "b", longWaits)
		w.warm(t, a)
		w.warm(t, b)
		first := lock(t, a, "x")
		ctx, cancel := context.WithCancel(t.Context())
		next := locking(ctx, a, "x")
		other := locking(t.Context(), b, "x")
		waiting(t, other)
		w.distance("a", 10*time.Millisecond)
		unlocked := time.Now()
		go func() { assert.NoError(t, first.Unlock(t.Context())) }()
		time.Sleep(15 * time.Millisecond)
		waiting(t, next, "its acquire is on the way")
		cancel()
		require.ErrorIs(t, ended(t, next, 0).err, context.Canceled)
		lk := granted(t, other, time.Second)
		assert.Less(t, time.Since(unlocked), 100*time.Millisecond)
		unlock(t, lk)
	})
}

// The masters may refuse the successor because they are out of memory. That must not delay waiters of other Lockers.
func TestASilentReleaseIsPublishedWhenTheNextWaiterCannotContinue(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a", redlock.WithoutHandOver(), longWaits), w.locker(t, "b", longWaits)
		w.warm(t, a)
		w.warm(t, b)
		first := lock(t, a, "x")
		next, other := locking(t.Context(), a, "x"), locking(t.Context(), b, "x")
		for _, m := range w.Masters() {
			m.ReplyTimes(1, "OOM command not allowed when used memory > 'maxmemory'.", "SET")
		}
		unlock(t, first)
		lk := granted(t, other, time.Second)
		waiting(t, next)
		unlock(t, lk)
	})
}
