package redlock

import (
	"context"
	"slices"

	"github.com/redlock-go/redlock/internal/kind"
)

// LockAll acquires a mutex on all of names, or on none of them, and waits as [Locker.Lock] does. It takes at most 256
// names, in any order; duplicates are ignored. Two calls with common names cannot deadlock, since neither ever holds a
// part of its names while it waits for the rest. The Lock has one Unlock and one validity, and with [WithFencing] one
// fencing token, which is larger than every earlier token of each name. It excludes every other lock on any of the
// names.
//
// If a master is a Redis Cluster, the names must share a slot: give them a common hash tag.
func (l *Locker) LockAll(ctx context.Context, names []string, opts ...LockOption) (*Lock, error) {
	return l.lock(ctx, allOf(names), false, opts)
}

// TryLockAll acquires a mutex on all of names if one attempt suffices, as [Locker.TryLock] does; otherwise it acquires
// none of them.
func (l *Locker) TryLockAll(ctx context.Context, names []string, opts ...LockOption) (*Lock, error) {
	return l.lock(ctx, allOf(names), true, opts)
}

func allOf(names []string) kind.Target {
	return kind.Target{Kind: kind.Mutex, Names: slices.Compact(slices.Sorted(slices.Values(names)))}
}
