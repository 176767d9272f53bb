package stacktest_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/simnet"
)

type (
	option  = redlock.LockOption
	acquire = func(context.Context, *redlock.Locker, ...option) (*redlock.Lock, error)
	ctxLock = func(context.Context, ...option) (*redlock.Lock, error)
	ctxDo   = func(context.Context, func(context.Context) error, ...option) error
)

// calls are the methods that get a lock of a kind on a name.
type calls struct {
	lock, try ctxLock
	do        ctxDo
}

// lockKind is a kind of lock. Each Locker is an owner of its own.
type lockKind struct {
	name, kind string // as tests and as errors call it
	methods    string // that calls has
	on         func(l *redlock.Locker, name string) calls
}

var (
	mutex = lockKind{"mutex", "mutex", "Lock TryLock Do", func(l *redlock.Locker, name string) calls {
		return calls{named(l.Lock, name), named(l.TryLock, name), doNamed(l.Do, name)}
	}}
	several = lockKind{"several", "mutex", "LockAll TryLockAll DoAll", func(l *redlock.Locker, name string) calls {
		return calls{named(l.LockAll, three(name)), named(l.TryLockAll, three(name)), doNamed(l.DoAll, three(name))}
	}}
	writer = lockKind{"writer", "writer", "RW.Lock RW.TryLock RW.Do", func(l *redlock.Locker, name string) calls {
		return calls{l.RW(name).Lock, l.RW(name).TryLock, l.RW(name).Do}
	}}
	reader = lockKind{"reader", "reader", "RW.RLock RW.TryRLock RW.RDo", func(l *redlock.Locker, name string) calls {
		return calls{l.RW(name).RLock, l.RW(name).TryRLock, l.RW(name).RDo}
	}}
	reentrant = lockKind{
		"reentrant", "reentrant", "Reentrant.Lock Reentrant.TryLock Reentrant.Do",
		func(l *redlock.Locker, name string) calls {
			ours := l.Reentrant(name, fmt.Sprintf("%p", l))
			return calls{ours.Lock, ours.TryLock, ours.Do}
		},
	}
	permit = lockKind{
		"permit", "semaphore", "Semaphore.Acquire Semaphore.TryAcquire Semaphore.Do",
		func(l *redlock.Locker, name string) calls {
			s := l.Semaphore(name, 1)
			return calls{s.Acquire, s.TryAcquire, s.Do}
		},
	}

	kinds      = []lockKind{mutex, several, writer, reentrant, reader, permit}
	permitless = kinds[:5]
	exclusive  = kinds[:4]
)

// three are the names of a lock on several names.
func three(name string) []string { return []string{"a " + name, name, name + ", too"} }

// names are the names of a lock on x.
func (k lockKind) names() []string {
	if k.name == several.name {
		return three("x")
	}
	return []string{"x"}
}

// lock, try and do are the calls on x.
func (k lockKind) lock(ctx context.Context, l *redlock.Locker, opts ...option) (*redlock.Lock, error) {
	return k.on(l, "x").lock(ctx, opts...)
}

func (k lockKind) try(ctx context.Context, l *redlock.Locker, opts ...option) (*redlock.Lock, error) {
	return k.on(l, "x").try(ctx, opts...)
}

func (k lockKind) do(ctx context.Context, l *redlock.Locker, fn func(context.Context) error) error {
	return k.on(l, "x").do(ctx, fn)
}

// locking calls lock in the background.
func (k lockKind) locking(ctx context.Context, l *redlock.Locker, opts ...option) <-chan attempt {
	return inBackground(func() (*redlock.Lock, error) { return k.lock(ctx, l, opts...) })
}

// named turns a method that takes a name into one for that name, and doNamed does so for one that calls a function.
func named[A any](method func(context.Context, A, ...option) (*redlock.Lock, error), name A) ctxLock {
	return func(ctx context.Context, opts ...option) (*redlock.Lock, error) { return method(ctx, name, opts...) }
}

func doNamed[A any](method func(context.Context, A, func(context.Context) error, ...option) error, name A) ctxDo {
	return func(ctx context.Context, fn func(context.Context) error, opts ...option) error {
		return method(ctx, name, fn, opts...)
	}
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

// A caller learns from the probe of another one that its owner has the lock by now, in another process.
func TestAnOwnerThatWaitsSharesALockOfAnotherProcess(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a"), w.locker(t, "b")
		w.foreign("x", time.Hour)
		reentering := func(owner string) <-chan attempt {
			return inBackground(func() (*redlock.Lock, error) { return a.Reentrant("x", owner).Lock(t.Context()) })
		}
		you := reentering("you")
		waiting(t, you)
		me := reentering("me")
		waiting(t, me)
		each(w.Masters(), func(m *simnet.Master) { m.Redis().Del("x") }) // no message tells a waiter
		elsewhere := reenter(t, b, "x", "me")
		unlock(t, granted(t, me, 5*time.Second))
		waiting(t, you)
		unlock(t, elsewhere)
		unlock(t, granted(t, you, 5*time.Second))
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

func TestAWaiterGetsTheReleasedPermitByMessage(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		var acquires atomic.Int32 // votes on them
		a, b := w.locker(t, "a"), w.locker(t, "b", redlock.WithTrace(&redlock.Trace{
			Vote: func(_ context.Context, e redlock.VoteEvent) {
				if e.Op == redlock.OpAcquire {
					acquires.Add(1)
				}
			},
		}))
		var permits []*redlock.Lock
		for range 4 {
			p, err := a.Semaphore("x", 4).Acquire(t.Context())
			require.NoError(t, err)
			permits = append(permits, p)
		}
		out := inBackground(func() (*redlock.Lock, error) { return b.Semaphore("x", 4).Acquire(t.Context(), patient) })
		time.Sleep(3 * time.Second)
		waiting(t, out)
		acquires.Store(0)
		w.distance("b", 2*time.Millisecond) // all masters have released the permit when b asks
		unlock(t, permits[2])
		got := granted(t, out, 20*time.Millisecond)
		synctest.Wait()
		assert.LessOrEqual(t, acquires.Load(), int32(5), "the message has the slot: one round")
		unlock(t, got)
	})
}

// The first majority of the answers need not show that a majority has another number.
func TestAnotherNumberOfSlotsIsNamedByTheSlowMasters(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		a := w.locker(t, "a")
		w.warm(t, a)
		for i, m := range w.Masters() {
			permit := "redlock:semaphore:3:1:b:0123456789abcdef0123456789abcdef"
			if i > 2 {
				permit = "redlock:semaphore:1:1:gone:0123456789abcdef0123456789abcdef"
			}
			_, err := m.Redis().ZAdd("x", float64(time.Now().Add(time.Minute).UnixMilli()), permit)
			require.NoError(t, err)
		}
		each(w.some(1, 3), func(m *simnet.Master) { m.Delay(20*time.Millisecond, 0) })
		_, err := a.Semaphore("x", 1).TryAcquire(t.Context())
		var slots *redlock.SlotsError
		require.ErrorAs(t, err, &slots)
		assert.Equal(t, redlock.SlotsError{Name: "x", Want: 1, Have: 3}, *slots)
		require.NotErrorIs(t, err, redlock.ErrHeld)
	})
}
