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
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a", redlock.WithoutHandOver(), longWaits), w.locker(t, "b", redlock.WithoutHandOver(), longWaits)
		w.warm(t, a)
		w.warm(t, b)
		first := lock(t, a, "x")
		second, third, fourth := locking(t.Context(), a, "x"), locking(t.Context(), a, "x"), locking(t.Context(), a, "x")
		other := locking(t.Context(), b, "x")
		waiting(t, other)
		w.apart()
		w.forget()

		unlock(t, first)
		lk := ended(t, second, time.Second)
		require.NoError(t, lk.err)
		announced, silent := released(w)
		assert.Equal(t, 0, announced)
		assert.Equal(t, 3, silent)

		time.Sleep(leastSilence + time.Millisecond)
		w.forget()
		unlock(t, lk.lock)
		lk = ended(t, third, time.Second)
		require.NoError(t, lk.err, "that others wait this Locker learns only now")
		announced, _ = released(w)
		assert.Equal(t, 3, announced)
		waiting(t, other)

		time.Sleep(leastSilence + time.Millisecond)
		unlock(t, lk.lock)
		lk = ended(t, other, time.Second)
		require.NoError(t, lk.err)
		waiting(t, fourth, "it is the others' turn")

		unlock(t, lk.lock)
		lk = ended(t, fourth, time.Second)
		require.NoError(t, lk.err)
		unlock(t, lk.lock)
	})
}

func TestSilentReleasesLastAnEighthOfTheTTLAtMost(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		const ttl = leastSilence * 4
		a := w.locker(t, "a", redlock.WithoutHandOver(), redlock.WithTTL(ttl), redlock.WithNodeTimeout(leastSilence))
		w.warm(t, a)
		for _, tt := range []struct {
			held             time.Duration
			announced, quiet int
		}{{ttl/8 - time.Millisecond, 0, 3}, {ttl / 8, 3, 0}} {
			first := lock(t, a, "x")
			next := locking(t.Context(), a, "x")
			time.Sleep(tt.held)
			w.forget()
			unlock(t, first)
			lk := ended(t, next, time.Second)
			require.NoError(t, lk.err)
			announced, silent := released(w)
			assert.Equal(t, tt.announced, announced, tt.held)
			assert.Equal(t, tt.quiet, silent, tt.held)
			unlock(t, lk.lock)
		}
	})
}

// If the successor does not take over, waiters of other Lockers must still be notified.
func TestASilentReleaseIsPublishedWhenTheNextWaiterLeaves(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a", redlock.WithoutHandOver(), longWaits), w.locker(t, "b", longWaits)
		w.warm(t, a)
		w.warm(t, b)
		first := lock(t, a, "x")
		ctx, cancel := context.WithCancel(t.Context())
		next := locking(ctx, a, "x")
		other := locking(t.Context(), b, "x")
		waiting(t, other)
		for i := range w.Masters() {
			w.Host("a").To(i).Delay(10*time.Millisecond, 0)
		}
		unlocked := time.Now()
		go func() { assert.NoError(t, first.Unlock(t.Context())) }()
		time.Sleep(15 * time.Millisecond)
		waiting(t, next, "its acquire is on the way")
		cancel()
		require.ErrorIs(t, ended(t, next, 0).err, context.Canceled)
		lk := ended(t, other, time.Second)
		require.NoError(t, lk.err)
		assert.Less(t, time.Since(unlocked), 100*time.Millisecond)
		unlock(t, lk.lock)
	})
}

// far is how long a command of a takes to a master when a waiter is to leave while it is on the way.
const far = 15 * time.Millisecond

// leaving has the head of a's queue, which asks after a silent release, leave after a time. It returns the next waiter,
// which another one follows.
func leaving(
	t *testing.T, w *world, a *redlock.Locker, holder *redlock.Lock, after time.Duration,
) (next <-chan attempt) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	head, next, last := locking(ctx, a, "x"), locking(t.Context(), a, "x"), locking(within(t, time.Minute), a, "x")
	for i := range w.Masters() {
		w.Host("a").To(i).Delay(far, 0)
	}
	go func() { assert.NoError(t, holder.Unlock(t.Context())) }()
	time.Sleep(after)
	waiting(t, head, "its acquire is on the way")
	waiting(t, last)
	w.forget()
	cancel()
	require.ErrorIs(t, ended(t, head, 0).err, context.Canceled)
	return next
}

// The bound on silence covers the whole cohort, also if one waiter leaves before it has had the name.
func TestTheBudgetOfSilentReleasesDoesNotRestartWhenTheNextWaiterLeaves(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		a := w.locker(t, "a", redlock.WithoutHandOver(), longWaits)
		w.warm(t, a)
		next := leaving(t, w, a, lock(t, a, "x"), leastSilence-5*time.Millisecond)
		lk := ended(t, next, time.Second)
		require.NoError(t, lk.err)
		assert.Zero(t, w.Master(0).Count("PUBLISH"), "the next waiter took over")
		unlock(t, lk.lock)
		announced, _ := released(w)
		assert.Equal(t, 3+3, announced, "of the attempt of the one that left, and of the lock")
	})
}

func TestWhenTheNextWaiterLeavesAfterTheBudgetOtherProcessesGoFirst(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a", redlock.WithoutHandOver(), longWaits), w.locker(t, "b", longWaits)
		w.warm(t, a)
		w.warm(t, b)
		w.apart()
		first := lock(t, a, "x")
		second, other := locking(t.Context(), a, "x"), locking(t.Context(), b, "x")
		time.Sleep(leastSilence)
		unlock(t, first) // announced: from now on it is known that others wait
		lk := ended(t, second, time.Millisecond)
		require.NoError(t, lk.err)

		next := leaving(t, w, a, lk.lock, leastSilence+5*time.Millisecond)
		lk = ended(t, other, 4*far)
		require.NoError(t, lk.err)
		waiting(t, next)
		unlock(t, lk.lock)
		require.NoError(t, ended(t, next, time.Second).err)
	})
}

// A waiter may leave during the cooldown. Other processes still go first.
func TestTheCooldownOutlastsAWaiterThatLeaves(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a", longWaits), w.locker(t, "b", longWaits)
		w.warm(t, a)
		w.warm(t, b)
		first, other := lock(t, a, "x"), locking(t.Context(), b, "x")
		for i := range w.Masters() {
			w.Host("b").To(i).Delay(5*time.Millisecond, 0)
		}
		time.Sleep(100 * time.Millisecond)
		unlock(t, first)
		ctx, cancel := context.WithCancel(t.Context())
		head, next := locking(ctx, a, "x"), locking(t.Context(), a, "x")
		cancel()
		require.ErrorIs(t, ended(t, head, 0).err, context.Canceled)
		lk := ended(t, other, 50*time.Millisecond)
		require.NoError(t, lk.err)
		waiting(t, next)
		unlock(t, lk.lock)
		require.NoError(t, ended(t, next, time.Second).err)
	})
}

// The masters may refuse the successor because they are out of memory. That must not delay waiters of other Lockers.
func TestASilentReleaseIsPublishedWhenTheNextWaiterCannotContinue(t *testing.T) {
	t.Parallel()
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
		lk := ended(t, other, time.Second)
		require.NoError(t, lk.err)
		waiting(t, next)
		unlock(t, lk.lock)
	})
}
