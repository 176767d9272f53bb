package stacktest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
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

func TestOneNameIsOneLock(t *testing.T) {
	t.Parallel()
	for _, fencing := range []bool{false, true} {
		bubble(t, 5, func(t *testing.T, w *world) {
			var opts []redlock.Option
			if fencing {
				opts = append(opts, redlock.WithFencing())
			}
			a, b := w.locker(t, "a", opts...), w.locker(t, "b", opts...)
			ctx := t.Context()
			var last uint64
			for _, first := range permitless {
				for _, second := range permitless {
					for _, l := range []*redlock.Locker{a, b} {
						held, err := first.try(ctx, a)
						require.NoError(t, err, "%s, fencing %v", first.name, fencing)
						if fencing && first.name != "reader" {
							require.Greater(t, held.Fence(), last, first.name)
							last = held.Fence()
						}
						other, err := second.try(ctx, l)
						together := first.name == "reader" || first.name == "reentrant" && l == a
						if together && first.name == second.name {
							require.NoError(t, err)
							assert.GreaterOrEqual(t, other.Fence(), last)
							require.NoError(t, other.Unlock(ctx))
						} else {
							require.ErrorIs(t, err, redlock.ErrHeld, "%s under %s", second.name, first.name)
							var he *redlock.HeldError
							require.ErrorAs(t, err, &he)
							assert.Contains(t, first.names, he.Name)
						}
						require.NoError(t, held.Unlock(ctx), first.name)
						require.ErrorIs(t, held.Unlock(ctx), redlock.ErrReleased)
						time.Sleep(time.Second) // until the last masters have executed the release
					}
				}
			}
		})
	}
}
