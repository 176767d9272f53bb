package integration_test

import (
	"context"

	"github.com/redlock-go/redlock"
)

// A kind is a way to hold a name.
type kind struct {
	name string
	is   string // as HeldError and Inspect call it
	lock func(ctx context.Context, l *redlock.Locker, name string, opts ...redlock.LockOption) (*redlock.Lock, error)
	opts []redlock.LockOption
}

// kinds are all of them, each without fencing and with it.
func kinds() (all []kind) {
	for _, k := range []kind{
		{name: "mutex", is: "mutex", lock: func(
			ctx context.Context, l *redlock.Locker, name string, opts ...redlock.LockOption,
		) (*redlock.Lock, error) {
			return l.TryLock(ctx, name, opts...)
		}},
		{name: "mutex of several", is: "mutex", lock: func(
			ctx context.Context, l *redlock.Locker, name string, opts ...redlock.LockOption,
		) (*redlock.Lock, error) {
			return l.TryLockAll(ctx, []string{name, name + ":also"}, opts...)
		}},
		{name: "reader", is: "reader", lock: func(
			ctx context.Context, l *redlock.Locker, name string, opts ...redlock.LockOption,
		) (*redlock.Lock, error) {
			return l.RW(name).TryRLock(ctx, opts...)
		}},
		{name: "writer", is: "writer", lock: func(
			ctx context.Context, l *redlock.Locker, name string, opts ...redlock.LockOption,
		) (*redlock.Lock, error) {
			return l.RW(name).TryLock(ctx, opts...)
		}},
		{name: "reentrant", is: "reentrant", lock: func(
			ctx context.Context, l *redlock.Locker, name string, opts ...redlock.LockOption,
		) (*redlock.Lock, error) {
			return l.Reentrant(name, "worker-17").TryLock(ctx, opts...)
		}},
	} {
		fenced := k
		fenced.name += " with fencing"
		fenced.opts = []redlock.LockOption{redlock.WithFencing()}
		all = append(all, k, fenced)
	}
	return all
}

// try takes a name in one round.
func (k kind) try(
	ctx context.Context, l *redlock.Locker, name string, opts ...redlock.LockOption,
) (*redlock.Lock, error) {
	return k.lock(ctx, l, name, append(opts, k.opts...)...)
}

// fenced: its locks have fencing tokens.
func (k kind) fenced() bool { return len(k.opts) > 0 }

// plain: it is taken with nothing but SET NX PX.
func (k kind) plain() bool { return k.name == "mutex" }
