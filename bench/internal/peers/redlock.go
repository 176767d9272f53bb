package peers

import (
	"context"
	"strings"
	"sync"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/bench/internal/load"
)

// A lockFunc acquires one kind of lock.
type lockFunc func(ctx context.Context, r *redlockLocker, name string) (*redlock.Lock, error)

// redlockLocker is the product, with one kind of lock.
type redlockLocker struct {
	*redlock.Locker
	lock  lockFunc
	outer sync.Map // the holds that inner ones stand on, by name
}

func ours(lock lockFunc, opts ...redlock.Option) func([]string, Options) (load.Locker, error) {
	return func(urls []string, o Options) (load.Locker, error) {
		opts := append([]redlock.Option{redlock.WithTTL(o.TTL)}, opts...)
		if o.NoGuard {
			opts = append(opts, redlock.WithoutRestartGuard())
		}
		locker, err := redlock.Open(urls, opts...)
		if err != nil {
			return nil, err
		}
		return &redlockLocker{Locker: locker, lock: lock}, nil
	}
}

func (r *redlockLocker) Acquire(ctx context.Context, name string) (load.HeldLock, error) {
	lock, err := r.lock(ctx, r, name)
	if err != nil {
		return nil, err
	}
	return lock, nil
}

func mutex(ctx context.Context, r *redlockLocker, name string) (*redlock.Lock, error) {
	return r.Lock(ctx, name)
}

func reader(ctx context.Context, r *redlockLocker, name string) (*redlock.Lock, error) {
	return r.RW(name).RLock(ctx)
}

func writer(ctx context.Context, r *redlockLocker, name string) (*redlock.Lock, error) {
	return r.RW(name).Lock(ctx)
}

func outer(ctx context.Context, r *redlockLocker, name string) (*redlock.Lock, error) {
	return r.Reentrant(name, "bench").Lock(ctx)
}

// inner locks a caller's one name again, which it holds from its first pair on: one for each of its names would keep
// the masters busy with extensions.
func inner(ctx context.Context, r *redlockLocker, name string) (*redlock.Lock, error) {
	name = name[:strings.LastIndexByte(name, ':')]
	if _, held := r.outer.Load(name); !held {
		lock, err := outer(context.WithoutCancel(ctx), r, name)
		if err != nil {
			return nil, err
		}
		r.outer.Store(name, lock)
	}
	return outer(ctx, r, name)
}

func three(ctx context.Context, r *redlockLocker, name string) (*redlock.Lock, error) {
	return r.LockAll(ctx, []string{name + ":a", name + ":b", name + ":c"})
}

func permit(slots int) lockFunc {
	return func(ctx context.Context, r *redlockLocker, name string) (*redlock.Lock, error) {
		return r.Semaphore(name, slots).Acquire(ctx)
	}
}
