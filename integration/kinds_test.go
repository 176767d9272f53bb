package integration_test

import (
	"context"

	"github.com/redlock-go/redlock"
)

// kinds are the ways to hold a name.
var kinds = []struct {
	name string
	kind string // as HeldError and Inspect call it
	try  func(ctx context.Context, l *redlock.Locker, name string, opts ...redlock.LockOption) (*redlock.Lock, error)
}{
	{"mutex", "mutex", func(ctx context.Context, l *redlock.Locker, name string, opts ...redlock.LockOption) (*redlock.Lock, error) {
		return l.TryLock(ctx, name, opts...)
	}},
	{"mutex with fencing", "mutex", func(ctx context.Context, l *redlock.Locker, name string, opts ...redlock.LockOption) (*redlock.Lock, error) {
		return l.TryLock(ctx, name, append(opts, redlock.WithFencing())...)
	}},
	{"mutex of several names", "mutex", func(ctx context.Context, l *redlock.Locker, name string, opts ...redlock.LockOption) (*redlock.Lock, error) {
		return l.TryLockAll(ctx, []string{name, name + ":also"}, opts...)
	}},
	{"reader", "reader", func(ctx context.Context, l *redlock.Locker, name string, opts ...redlock.LockOption) (*redlock.Lock, error) {
		return l.RW(name).TryRLock(ctx, opts...)
	}},
	{"writer", "writer", func(ctx context.Context, l *redlock.Locker, name string, opts ...redlock.LockOption) (*redlock.Lock, error) {
		return l.RW(name).TryLock(ctx, opts...)
	}},
	{"reentrant", "reentrant", func(ctx context.Context, l *redlock.Locker, name string, opts ...redlock.LockOption) (*redlock.Lock, error) {
		return l.Reentrant(name, "worker-17").TryLock(ctx, opts...)
	}},
}
