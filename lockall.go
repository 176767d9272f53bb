package redlock

import (
	"context"
	"slices"
)

// LockAll takes a mutex on every one of the names, at most 256, all or nothing, and waits as [Locker.Lock] does. The order of the names
// and repetitions do not matter, so that two callers with common names never hold some each and wait for the rest. It is
// one Lock: one Unlock, one validity, one fencing token, larger than every earlier one of each name. It excludes, and is
// excluded by, every lock on one of them.
//
// Over a Cluster as a master the names must share a slot: give them one hash tag.
func (l *Locker) LockAll(ctx context.Context, names []string, opts ...LockOption) (*Lock, error) {
	return l.lock(ctx, allOf(names), false, opts)
}

// TryLockAll takes a mutex on every one of the names if they can be had in one round, and none otherwise.
func (l *Locker) TryLockAll(ctx context.Context, names []string, opts ...LockOption) (*Lock, error) {
	return l.lock(ctx, allOf(names), true, opts)
}

func allOf(names []string) target {
	return target{kind: kindMutex, names: slices.Compact(slices.Sorted(slices.Values(names)))}
}
