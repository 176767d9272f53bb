package stacktest_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/simnet"
)

func TestAMinHoldKeepsTheName(t *testing.T) {
	t.Parallel()
	const d = 8 * time.Second
	for _, k := range kinds {
		if k.name == "reader" {
			continue
		}
		for _, end := range []string{"Unlock", "Unlock and Close", "Close"} {
			bubble(t, 5, func(t *testing.T, w *world) {
				a, b := w.locker(t, "a"), w.locker(t, "b")
				lk, err := k.try(t.Context(), a, redlock.WithMinHold(d), redlock.WithFencing())
				require.NoError(t, err, k.name)
				acquired := time.Now()
				time.Sleep(3 * time.Second)
				if end != "Close" {
					unlock(t, lk)
				}
				if end != "Unlock" {
					require.NoError(t, a.Close())
				}
				_, err = k.try(t.Context(), b)
				require.ErrorIs(t, err, redlock.ErrHeld, k.name)
				assert.True(t, strings.HasPrefix(holder(t, b, "x").Token, "min-hold:"))
				out := inBackground(func() (*redlock.Lock, error) { return b.Lock(t.Context(), "x") })
				got := granted(t, out, d)
				assert.GreaterOrEqual(t, time.Since(acquired), d, "%s, %s", k.name, end)
				assert.Less(t, time.Since(acquired), d+drift+50*time.Millisecond, "%s, %s", k.name, end)
				unlock(t, got)
			})
		}
	}
}

// A job that never ran must be able to run elsewhere.
func TestALockThatNoCallerGotKeepsNoMinHold(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		a := w.locker(t, "a", redlock.WithTrace(&redlock.Trace{
			AcquireEnd: func(context.Context, redlock.AcquireEndEvent) { panic("the caller's") },
		}))
		assert.Panics(t, func() { _, _ = a.TryLock(t.Context(), "x", redlock.WithMinHold(8*time.Second)) })
		time.Sleep(10 * time.Millisecond)
		unlock(t, lock(t, w.locker(t, "b"), "x"))
	})
}

// Nor does one that is granted just when its Locker begins to close: its caller gets ErrClosed.
func TestALockThatAClosedLockerGotKeepsNoMinHold(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		c := &closingClock{Clock: w.Host("a").Clock()}
		a := w.locker(t, "a", redlock.WithClock(c), redlock.WithTrace(&redlock.Trace{
			Vote: func(context.Context, redlock.VoteEvent) { c.armed.Store(true) },
		}))
		c.locker = a
		_, err := a.TryLock(t.Context(), "x", redlock.WithMinHold(8*time.Second))
		require.ErrorIs(t, err, redlock.ErrClosed)
		time.Sleep(10 * time.Millisecond)
		unlock(t, lock(t, w.locker(t, "b"), "x"))
	})
}

// closingClock is a clock that begins to close a Locker when it is read for the first time since it was armed.
type closingClock struct {
	clock.Clock
	locker *redlock.Locker
	armed  atomic.Bool
}

func (c *closingClock) Now() time.Time {
	if c.armed.CompareAndSwap(true, false) {
		go func() { _ = c.locker.Close() }()
		<-c.locker.Closed()
	}
	return c.Clock.Now()
}

// TestAMinHoldLastsOnFastMasters has the clocks of all masters gain less than half of the drift budget.
func TestAMinHoldLastsOnFastMasters(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		const d = 9 * time.Second
		a, b := w.locker(t, "a"), w.locker(t, "b", redlock.WithRetry(time.Millisecond, time.Millisecond))
		each(w.Masters(), func(m *simnet.Master) { m.Rate(1.004) })
		job := lock(t, a, "x", redlock.WithMinHold(d))
		acquired := time.Now()
		unlock(t, job)
		time.Sleep(d - 100*time.Millisecond)
		got := granted(t, locking(t.Context(), b, "x"), 2*d)
		require.GreaterOrEqual(t, time.Since(acquired), d)
		unlock(t, got)
	})
}

func TestAfterItsMinHoldALockIsReleasedAtOnce(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		a := w.locker(t, "a")
		lk := lock(t, a, "x", redlock.WithMinHold(5*time.Second))
		time.Sleep(20 * time.Second) // extended meanwhile
		unlock(t, lk)
		unlock(t, lock(t, a, "x"))
	})
}

func TestNoHandOverShortensAMinHold(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		a := w.locker(t, "a")
		lk := lock(t, a, "x", redlock.WithMinHold(5*time.Second))
		began := time.Now()
		out := locking(t.Context(), a, "x")
		time.Sleep(time.Second)
		unlock(t, lk)
		_, err := a.TryLock(t.Context(), "x")
		require.ErrorIs(t, err, redlock.ErrHeld)
		got := granted(t, out, 5*time.Second)
		assert.GreaterOrEqual(t, time.Since(began), 5*time.Second)
		unlock(t, got)
	})
}

// A minimum hold keeps other owners out, and not the owner, who may hold the lock still.
func TestAReentrantOwnerLocksAgainDuringItsMinHold(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		const d = 8 * time.Second
		a, b := w.locker(t, "a", redlock.WithFencing()), w.locker(t, "b", redlock.WithFencing())
		outer := reenter(t, a, "x", "me", redlock.WithMinHold(d))
		time.Sleep(time.Second)
		inner := reenter(t, a, "x", "me", redlock.WithMinHold(d))
		acquired := time.Now()
		unlock(t, inner)
		synctest.Wait()
		assert.Equal(t, 1, inspect(t, b, "x").Depth)

		for _, l := range []*redlock.Locker{a, b} {
			again := reenter(t, l, "x", "me")
			assert.Equal(t, outer.Fence(), again.Fence())
			unlock(t, again)
		}
		unlock(t, outer)
		again := reenter(t, b, "x", "me") // all holds have ended
		unlock(t, again)
		for _, owner := range []string{"you", "min", "m"} {
			_, err := b.Reentrant("x", owner).TryLock(t.Context())
			require.ErrorIs(t, err, redlock.ErrHeld, owner)
		}
		stranger := inBackground(func() (*redlock.Lock, error) { return b.Reentrant("x", "you").Lock(t.Context()) })
		got := granted(t, stranger, d+time.Second)
		assert.GreaterOrEqual(t, time.Since(acquired), d)
		assert.Less(t, time.Since(acquired), d+drift+50*time.Millisecond)
		unlock(t, got)
	})
}

// A release that is repeated on a master that was frozen must not begin the time again.
func TestAMinHoldSurvivesAFrozenMinority(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a"), w.locker(t, "b")
		lk := lock(t, a, "x", redlock.WithMinHold(8*time.Second))
		began := time.Now()
		synctest.Wait() // until every master has granted: the release drops what is not written yet
		each(w.some(0, 2), (*simnet.Master).Freeze)
		unlock(t, lk)
		time.Sleep(3 * time.Second)
		each(w.some(0, 2), (*simnet.Master).Thaw)
		_, err := b.TryLock(t.Context(), "x")
		require.ErrorIs(t, err, redlock.ErrHeld)
		got := granted(t, locking(t.Context(), b, "x"), 8*time.Second)
		assert.GreaterOrEqual(t, time.Since(began), 8*time.Second)
		assert.Less(t, time.Since(began), 9*time.Second)
		unlock(t, got)
		time.Sleep(30 * time.Second)
		each(w.Masters(), func(m *simnet.Master) { assert.Empty(t, m.Get("x")) })
	})
}
