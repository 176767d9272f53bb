package redlock_test

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

// longWaits are retries that do not come within a test: who waits goes by what it hears, or by the TTL.
var longWaits = redlock.WithRetry(time.Minute, time.Hour)

// A release that wakes every contender for a lock that the next in line here has already asked for costs more than the lock.
func TestAReleaseIsSilentWhileTheNextInLineGoesOn(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a", redlock.WithoutHandOver(), longWaits), w.locker(t, "b", redlock.WithoutHandOver(), longWaits)
		w.warm(t, a)
		w.warm(t, b)
		first := lock(t, a, "x")
		second, third, fourth := locking(t.Context(), a, "x"), locking(t.Context(), a, "x"), locking(t.Context(), a, "x")
		other := locking(t.Context(), b, "x")
		waiting(t, other)
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

// Somebody must tell those who wait elsewhere, if whoever was to go on does not.
func TestASilentReleaseIsAnnouncedWhenTheNextInLineLeaves(t *testing.T) {
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
		go unlock(t, first)
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
