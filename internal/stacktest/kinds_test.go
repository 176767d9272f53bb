package stacktest_test

import (
	"context"
	"fmt"

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
