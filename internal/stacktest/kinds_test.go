package stacktest_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/simnet"
)

type (
	option  = redlock.LockOption
	acquire = func(ctx context.Context, l *redlock.Locker, opts ...option) (*redlock.Lock, error)
)

// lockKind is a kind of lock on x. Each Locker is an owner of its own.
type lockKind struct {
	name, kind string // as tests and as errors call it
	names      []string
	lock, try  acquire
}

var (
	wxy   = []string{"w", "x", "y"}
	kinds = []lockKind{
		onX("mutex", "mutex", func(l *redlock.Locker) ctxLock { return named(l.Lock, "x") }, func(l *redlock.Locker) ctxLock {
			return named(l.TryLock, "x")
		}),
		{"several", "mutex", wxy, func(ctx context.Context, l *redlock.Locker, opts ...option) (*redlock.Lock, error) {
			return l.LockAll(ctx, wxy, opts...)
		}, func(ctx context.Context, l *redlock.Locker, opts ...option) (*redlock.Lock, error) {
			return l.TryLockAll(ctx, wxy, opts...)
		}},
		onX("writer", "writer", func(l *redlock.Locker) ctxLock { return l.RW("x").Lock }, func(l *redlock.Locker) ctxLock {
			return l.RW("x").TryLock
		}),
		onX("reentrant", "reentrant", func(l *redlock.Locker) ctxLock {
			return l.Reentrant("x", fmt.Sprintf("%p", l)).Lock
		}, func(l *redlock.Locker) ctxLock { return l.Reentrant("x", fmt.Sprintf("%p", l)).TryLock }),
		onX("reader", "reader", func(l *redlock.Locker) ctxLock { return l.RW("x").RLock }, func(l *redlock.Locker) ctxLock {
			return l.RW("x").TryRLock
		}),
		onX("permit", "semaphore", func(l *redlock.Locker) ctxLock { return l.Semaphore("x", 1).Acquire }, func(
			l *redlock.Locker,
		) ctxLock {
			return l.Semaphore("x", 1).TryAcquire
		}),
	}
	permitless = kinds[:5]
	exclusive  = kinds[:4]
)

func onX(name, kind string, lock, try func(l *redlock.Locker) ctxLock) lockKind {
	of := func(f func(l *redlock.Locker) ctxLock) acquire {
		return func(ctx context.Context, l *redlock.Locker, opts ...option) (*redlock.Lock, error) {
			return f(l)(ctx, opts...)
		}
	}
	return lockKind{name, kind, []string{"x"}, of(lock), of(try)}
}

// With one master every kind works, fencing included, and each call is one command and one round trip.
func TestOneMasterIsOneRoundTrip(t *testing.T) {
	t.Parallel()
	const way = 10 * time.Millisecond
	for _, k := range permitless {
		for _, fencing := range []bool{false, true} {
			bubble(t, 1, func(t *testing.T, w *world) {
				w.Master(0).Delay(way, 0)
				var opts []redlock.LockOption
				if fencing {
					opts = append(opts, redlock.WithFencing())
				}
				ours, others := w.locker(t, "us"), w.locker(t, "others")
				once := func(what string, f func() error) error {
					t.Helper()
					w.forget()
					began := time.Now()
					err := f()
					assert.Equal(t, 2*way, time.Since(began), "%s: %s, fencing %v", k.name, what, fencing)
					time.Sleep(2 * way)
					commands := 1
					if err != nil {
						commands = 2 // after a failure comes a release, which the caller does not wait for
					}
					assert.Len(t, w.asked(), commands, "%s: %s, fencing %v", k.name, what, fencing)
					return err
				}
				var last uint64
				round := func(once func(string, func() error) error) {
					var l *redlock.Lock
					require.NoError(t, once("lock", func() (err error) {
						l, err = k.try(t.Context(), ours, opts...)
						return err
					}))
					require.NoError(t, once("extend", func() error { return l.Extend(t.Context()) }))
					require.ErrorIs(t, once("held", func() error {
						_, err := others.TryLock(t.Context(), "x")
						return err
					}), redlock.ErrHeld)
					require.NoError(t, once("unlock", func() error { return l.Unlock(t.Context()) }))
					assert.Equal(t, fencing, l.Fence() != 0)
					if fencing && k.name != "reader" {
						assert.Greater(t, l.Fence(), last, k.name)
					}
					last = l.Fence()
				}
				round(func(_ string, f func() error) error { return f() }) // connects, and brings the scripts
				time.Sleep(2 * way)
				round(once)
			})
		}
	}
}

func reenter(t testing.TB, l *redlock.Locker, name, owner string, opts ...redlock.LockOption) *redlock.Lock {
	t.Helper()
	lk, err := l.Reentrant(name, owner).TryLock(t.Context(), opts...)
	require.NoError(t, err)
	return lk
}

func TestAnOwnerLocksAgainAnywhere(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a", redlock.WithFencing()), w.locker(t, "b", redlock.WithFencing())
		outer := reenter(t, a, "x", "me")
		assert.Equal(t, 1, inspect(t, a, "x").Depth)
		assert.True(t, strings.HasPrefix(outer.Token(), "me:"))
		time.Sleep(time.Second) // the hints of the inner holds are larger than the token
		inner, elsewhere := reenter(t, a, "x", "me"), reenter(t, b, "x", "me")
		for _, lk := range []*redlock.Lock{outer, inner, elsewhere} {
			assert.Equal(t, outer.Fence(), lk.Fence(), "one ownership, one fencing token")
		}
		for _, l := range []*redlock.Locker{a, b} {
			assert.Equal(t, 3, inspect(t, l, "x").Depth)
			_, err := l.Reentrant("x", "you").TryLock(t.Context())
			assert.EqualValues(t, "reentrant", heldError(t, err).Kind)
		}
		unlock(t, outer)
		synctest.Wait() // it returns at the majority
		assert.Equal(t, 2, inspect(t, a, "x").Depth)
		unlock(t, elsewhere)
		time.Sleep(3 * ttl)
		assert.Equal(t, 1, inspect(t, b, "x").Depth)
		unlock(t, inner)

		next := reenter(t, b, "x", "me")
		assert.Greater(t, next.Fence(), outer.Fence(), "another ownership")
		unlock(t, next)
		assert.Empty(t, w.leftovers("x"))
	})
}

func rlock(t testing.TB, l *redlock.Locker, name string, opts ...redlock.LockOption) *redlock.Lock {
	t.Helper()
	lk, err := l.RW(name).TryRLock(t.Context(), opts...)
	require.NoError(t, err)
	return lk
}

// leftovers are the keys on all masters but for the fences, which are meant to stay.
func (w *world) leftovers(name string) (keys []string) {
	synctest.Wait() // an Unlock returns at the majority
	for _, m := range w.Masters() {
		for _, key := range m.Keys() {
			if key != kind.FenceKey(name) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

func TestLockAllIsAllOrNothing(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a"), w.locker(t, "b")
		all, err := a.LockAll(t.Context(), []string{"c", "a", "b", "a"})
		require.NoError(t, err)
		assert.Equal(t, "a,b,c", all.Name())
		synctest.Wait()
		for _, name := range []string{"a", "b", "c"} {
			assert.Equal(t, 5, w.holders(name, all.Token()))
			_, err := b.TryLock(t.Context(), name)
			require.ErrorIs(t, err, redlock.ErrHeld)
		}
		_, err = b.TryLockAll(t.Context(), []string{"z", "b", "y"})
		he := heldError(t, err)
		assert.Equal(t, "b", he.Name, "the one that was held")
		assert.EqualValues(t, "mutex", he.Kind)
		time.Sleep(3 * ttl)
		require.NoError(t, all.Err(), "one keepalive for all")
		unlock(t, all)
		synctest.Wait()
		assert.Zero(t, w.keys(), "nothing of the refused ones either")
	})
}

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
