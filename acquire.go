package redlock

import (
	"context"
	"slices"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/kind"
)

// Lock acquires the lock on name, and waits for it until ctx ends. Within one Locker, the calls of Lock and of
// [RW.Lock] for one name get it in the order in which they were made. A name has 1 to 4,096 bytes of any value.
//
// Lock waits for masters that are down, slow, loading, out of memory, replicas, or within their restart window. It
// returns before ctx ends only if waiting cannot help: on an invalid argument, on [ErrClosed], and if too many masters
// have faults that only an operator can fix. Such faults are those of [node.Permanent], for example a wrong password or
// a missing right, and one server under two addresses. When ctx ends, the error matches ctx.Err() and also what Lock
// was waiting for: [ErrHeld] or [ErrNoQuorum].
//
// On an error nothing is held, and anything that was set is being released on every master.
func (l *Locker) Lock(ctx context.Context, name string, opts ...LockOption) (*Lock, error) {
	return l.lock(ctx, mutexOf(name), false, opts)
}

// TryLock acquires the lock on name if one attempt suffices, and returns [ErrHeld] or [ErrNoQuorum] otherwise. An
// attempt is one round of requests, or more with [WithFencing]. Callers of one Locker take turns, and a TryLock does
// not overtake callers that wait in Lock. Callers in several processes may split the vote so that none of them wins;
// each then gets ErrHeld.
func (l *Locker) TryLock(ctx context.Context, name string, opts ...LockOption) (*Lock, error) {
	return l.lock(ctx, mutexOf(name), true, opts)
}

func mutexOf(name string) kind.Target { return kind.Target{Kind: kind.Mutex, Names: []string{name}} }

// lock implements Lock and TryLock for every kind. The call is counted and traced from startCall until the end of lock.
func (l *Locker) lock(ctx context.Context, t kind.Target, try bool, opts []LockOption) (lock *Lock, err error) {
	cfg, err := l.settings(t, opts)
	if err != nil {
		return nil, failed("lock", t.Names, err)
	}
	c := l.startCall(ctx, cfg, t, try)
	defer func() {
		if lock == nil { // also if a hook panics
			c.endWithoutLock(err)
		}
	}()
	c.traceStart()
	lock, err = c.run()
	// A HeldError is returned as it is: its text has the operation and the name already.
	if _, held := err.(*HeldError); held || err == nil { //nolint:errorlint // it is not wrapped
		return lock, err
	}
	return nil, failed("lock", t.Names, err)
}

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

// settings checks the arguments of a call, before anything is sent, and returns its configuration.
func (l *Locker) settings(t kind.Target, opts []LockOption) (*config, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	cfg, err := l.cfg.with(opts)
	if err != nil {
		return nil, err
	}
	if cfg.terms.Fencing {
		if err := kind.CheckHint(clock.Outside(cfg.clock, cfg.clock.Now())); err != nil {
			return nil, err
		}
	}
	return cfg, l.checkHashSlots(t, cfg)
}
