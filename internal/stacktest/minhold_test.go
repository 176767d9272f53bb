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
				h, err := b.Inspect(t.Context(), "x")
				require.NoError(t, err)
				require.Len(t, h.Holders, 1)
				assert.True(t, strings.HasPrefix(h.Holders[0].Token, "min-hold:"), h.Holders[0].Token)
				out := inBackground(func() (*redlock.Lock, error) { return b.Lock(t.Context(), "x") })
				got := granted(t, out, d)
				assert.GreaterOrEqual(t, time.Since(acquired), d, "%s, %s", k.name, end)
				assert.Less(t, time.Since(acquired), d+drift+50*time.Millisecond, "%s, %s", k.name, end)
				unlock(t, got)
			})
		}
	}
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

func TestALostLockKeepsNoMinHold(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a"), w.locker(t, "b")
		lk := lock(t, a, "x", redlock.WithMinHold(10*time.Second), redlock.WithoutKeepalive(), redlock.WithTTL(5*time.Second))
		<-lk.Context().Done()
		require.ErrorIs(t, lk.Unlock(t.Context()), redlock.ErrLost)
		time.Sleep(100 * time.Millisecond)
		unlock(t, lock(t, b, "x"))
	})
}

func TestAMinHoldMayBeLongerThanTheTTL(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a"), w.locker(t, "b", redlock.WithMinHold(time.Minute))
		unlock(t, lock(t, b, "x"))
		time.Sleep(59 * time.Second)
		_, err := a.TryLock(t.Context(), "x")
		require.ErrorIs(t, err, redlock.ErrHeld)
		time.Sleep(2 * time.Second)
		unlock(t, lock(t, a, "x"))
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
		for _, m := range w.Masters() {
			assert.Empty(t, m.Get("x"))
		}
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
		h, err := b.Inspect(t.Context(), "x")
		require.NoError(t, err)
		assert.Equal(t, 1, h.Depth)

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

// What remains of an inner hold on a master must not prevent the outer hold from being restored there.
func TestAMinHoldLetsItsOwnerRestoreAnOuterHold(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		a := w.locker(t, "a", redlock.WithMinHold(9*time.Second))
		outer := reenter(t, a, "x", "me")
		w.Masters()[0].Wipe()
		unlock(t, reenter(t, a, "x", "me"))
		require.NoError(t, outer.Extend(t.Context()))
		synctest.Wait()
		h, err := a.Inspect(t.Context(), "x")
		require.NoError(t, err)
		votes := map[string]int{}
		for _, one := range h.Holders {
			votes[one.Token] = one.Votes
		}
		assert.Equal(t, 5, votes[outer.Token()], votes)
		unlock(t, outer)
	})
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

// An Unlock that was sent again counts only where the name is kept: another client may have it where it is not.
func TestAMasterThatLostTheNameDoesNotKeepIt(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		lk := lock(t, l, "x", redlock.WithMinHold(5*time.Second), redlock.WithoutKeepalive())
		synctest.Wait()
		down, lossy := w.Masters()[1], w.Masters()[2]
		down.Crash()
		lossy.Evict("x")
		var calls atomic.Int64
		lossy.HangUp(func([]string) bool { return calls.Add(1) == 1 })
		require.ErrorIs(t, lk.Unlock(t.Context()), redlock.ErrNoQuorum)
	})
}

// TestAMinHoldLastsOnFastMasters has the clocks of all masters gain less than half of the drift budget.
func TestAMinHoldLastsOnFastMasters(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		const d = 9 * time.Second
		a, b := w.locker(t, "a"), w.locker(t, "b", redlock.WithRetry(time.Millisecond, time.Millisecond))
		for _, m := range w.Masters() {
			m.Rate(1.004)
		}
		job := lock(t, a, "x", redlock.WithMinHold(d))
		acquired := time.Now()
		unlock(t, job)
		time.Sleep(d - 100*time.Millisecond)
		got := granted(t, locking(t.Context(), b, "x"), 2*d)
		require.GreaterOrEqual(t, time.Since(acquired), d)
		unlock(t, got)
	})
}
