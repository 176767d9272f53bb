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
	"github.com/redlock-go/redlock/internal/simnet"
)

func TestAMinHoldKeepsTheName(t *testing.T) {
	t.Parallel()
	const d = 8 * time.Second
	for end, do := range map[string]func(t *testing.T, w *world, a *redlock.Locker, lk *redlock.Lock){
		"Unlock": func(t *testing.T, _ *world, _ *redlock.Locker, lk *redlock.Lock) { unlock(t, lk) },
		"Close":  func(_ *testing.T, _ *world, a *redlock.Locker, _ *redlock.Lock) { _ = a.Close() },
		"Unlock and Close": func(t *testing.T, _ *world, a *redlock.Locker, lk *redlock.Lock) {
			unlock(t, lk)
			require.NoError(t, a.Close())
		},
		// A release that is repeated there must not begin the time again.
		"Unlock while two masters are frozen": func(t *testing.T, w *world, _ *redlock.Locker, lk *redlock.Lock) {
			w.freeze()
			unlock(t, lk)
			time.AfterFunc(3*time.Second, func() { each(w.some(0, 2), (*simnet.Master).Thaw) })
		},
	} {
		for _, k := range kinds {
			if k.name == reader.name {
				continue
			}
			subWorld(t, k.name+", "+end, 5, func(t *testing.T, w *world) {
				a, b := w.locker(t, "a"), w.locker(t, "b")
				lk, err := k.try(t.Context(), a, redlock.WithMinHold(d), redlock.WithFencing())
				require.NoError(t, err)
				acquired := time.Now()
				time.Sleep(3 * time.Second)
				do(t, w, a, lk)
				_, err = k.try(t.Context(), b)
				require.ErrorIs(t, err, redlock.ErrHeld)
				assert.True(t, strings.HasPrefix(holder(t, b, "x").Token, "min-hold:"))
				got := granted(t, locking(t.Context(), b, "x"), d)
				assert.GreaterOrEqual(t, time.Since(acquired), d)
				assert.Less(t, time.Since(acquired), d+drift+50*time.Millisecond)
				unlock(t, got)
				time.Sleep(30 * time.Second)
				each(w.Masters(), func(m *simnet.Master) { assert.NotContains(t, m.Keys(), "x") })
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
		var a *redlock.Locker
		var granted atomic.Bool
		clk := &spiedClock{w.Host("a").Clock(), func() {
			if granted.CompareAndSwap(true, false) {
				go func() { _ = a.Close() }()
				<-a.Closed()
			}
		}}
		a = w.locker(t, "a", redlock.WithClock(clk), redlock.WithTrace(&redlock.Trace{
			Vote: func(context.Context, redlock.VoteEvent) { granted.Store(true) },
		}))
		_, err := a.TryLock(t.Context(), "x", redlock.WithMinHold(8*time.Second))
		require.ErrorIs(t, err, redlock.ErrClosed)
		time.Sleep(10 * time.Millisecond)
		unlock(t, lock(t, w.locker(t, "b"), "x"))
	})
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

func TestReleaseFreesALockOfAnyKind(t *testing.T) {
	t.Parallel()
	// They return the token of a lock on x.
	all := map[string]func(t *testing.T, l *redlock.Locker) string{
		"mutex with a fence": func(t *testing.T, l *redlock.Locker) string {
			return lock(t, l, "x", redlock.WithoutKeepalive(), redlock.WithFencing()).Token()
		},
		"a minimum hold": func(t *testing.T, l *redlock.Locker) string {
			lk := lock(t, l, "x", redlock.WithMinHold(ttl))
			unlock(t, lk)
			return "min-hold:" + lk.Token()
		},
	}
	for _, k := range kinds {
		all[k.name] = func(t *testing.T, l *redlock.Locker) string {
			lk, err := k.lock(t.Context(), l, redlock.WithoutKeepalive())
			require.NoError(t, err)
			return lk.Token()
		}
	}
	for name, take := range all {
		subWorld(t, name, 5, func(t *testing.T, w *world) {
			holder, operator, waiter := w.locker(t, "holder"), w.locker(t, "operator"), w.locker(t, "waiter", patient)
			token := take(t, holder)
			synctest.Wait()
			waits := locking(t.Context(), waiter, "x")
			time.Sleep(time.Second)
			waiting(t, waits)

			require.ErrorIs(t, operator.Release(t.Context(), "x", "x"+token), redlock.ErrLost, "another token")
			time.Sleep(time.Second)
			waiting(t, waits)
			require.NoError(t, operator.Release(t.Context(), "x", token))
			got := granted(t, waits, 100*time.Millisecond) // it is woken
			require.ErrorIs(t, operator.Release(t.Context(), "x", token), redlock.ErrLost, "once more")
			require.NoError(t, got.Err(), "the next holder keeps it")
			unlock(t, got)
		})
	}
}

func TestReleaseWithoutAMajorityContinues(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		holder := w.locker(t, "holder", redlock.WithTTL(time.Hour))
		token := lock(t, holder, "x", redlock.WithoutKeepalive()).Token()
		synctest.Wait()
		operator := w.locker(t, "operator")
		w.warm(t, operator)
		w.freeze()
		err := operator.Release(t.Context(), "x", token)
		require.ErrorIs(t, err, redlock.ErrNoQuorum)
		assert.Regexp(t, `^redlock: release "x": the release continues in the background: `, err.Error())
		assert.Len(t, redlock.NodeErrors(err), 2)
		require.ErrorIs(t, operator.Release(within(t, time.Millisecond), "x", token), context.DeadlineExceeded)
		each(w.some(0, 2), (*simnet.Master).Thaw)
		time.Sleep(time.Minute)
		assert.Zero(t, w.keys())
	})
}

func TestUnlockWithoutAMajorityIsRepeated(t *testing.T) {
	t.Parallel()
	for how, fault := range map[string]func(*simnet.Master){
		"frozen": (*simnet.Master).Freeze, "cut off": func(m *simnet.Master) { m.BlackHole() },
	} {
		subWorld(t, how, 5, func(t *testing.T, w *world) {
			l := w.locker(t, "a", redlock.WithTTL(time.Minute))
			lk := lock(t, l, "x")
			synctest.Wait()
			each(w.some(0, 3), fault)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			began := time.Now()
			err := lk.Unlock(ctx)
			assert.Equal(t, timeout, time.Since(began), "bounded by the node timeout")
			require.ErrorIs(t, err, redlock.ErrNoQuorum)
			assert.Len(t, redlock.NodeErrors(err), 3)
			require.ErrorIs(t, lk.Err(), redlock.ErrReleased, "the handle is spent")
			require.ErrorIs(t, context.Cause(lk.Context()), redlock.ErrReleased)
			require.ErrorIs(t, lk.Unlock(ctx), redlock.ErrReleased)
			time.Sleep(10 * time.Second)
			assert.Equal(t, 3, w.keys())
			w.Heal()
			time.Sleep(2 * time.Second)
			assert.Zero(t, w.keys(), "long before the TTL")
		})
	}
}
