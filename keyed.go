package redlock

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redlock-go/redlock/internal/names"
)

// Keyed locks and unlocks by key, for libraries that lock without a handle. It keeps the [Lock] of each key. It is safe
// for concurrent use. See [Locker.Keyed].
type Keyed struct {
	locker *Locker
	opts   []LockOption

	mu   sync.Mutex
	keys map[string]*keyedEntry
}

// keyedEntry is one key in use.
type keyedEntry struct {
	gate  chan struct{} // full while a caller has the key: from before it locks until it has unlocked
	users int           // callers that have the key or wait for the gate
	lock  *Lock         // nil while a caller locks or unlocks
}

// Keyed returns a Keyed that locks with these options. A key is the name of a mutex, as in [Locker.Lock]. Keyed sends
// nothing: invalid options are errors of its methods Lock and TryLock.
//
// Where you can, use [Locker.Do] or a [Lock] instead. A Keyed cannot tell its callers apart, so any of them can unlock
// a key, and the caller that locked the key learns of a loss only from [Keyed.Context] and [Keyed.Unlock].
func (l *Locker) Keyed(opts ...LockOption) *Keyed {
	return &Keyed{locker: l, opts: opts, keys: make(map[string]*keyedEntry)}
}

// Lock locks key, and waits for it as [Locker.Lock] does. Callers of one Keyed get a key in the order in which they
// called. A key is taken from Lock to Unlock, even if the lock is lost in between: otherwise the late Unlock of one
// caller could unlock the key of the next. If Lock returns an error, the key is not held.
func (k *Keyed) Lock(ctx context.Context, key string) error {
	e := k.enter(key)
	select {
	case e.gate <- struct{}{}:
	case <-ctx.Done():
		k.leave(key, e)
		held := &HeldError{Name: key, Kind: "mutex", Holder: names.Printable(k.locker.cfg.owner)}
		return failed("lock", []string{key}, ctx.Err(), held)
	case <-k.locker.ending:
		k.leave(key, e)
		return failed("lock", []string{key}, ErrClosed)
	}
	var lock *Lock
	defer func() { k.keepLock(key, e, lock) }() // deferred, as in TryLock and Unlock, because a callback may panic
	lock, err := k.locker.Lock(ctx, key, k.opts...)
	return err
}

// TryLock locks key if it is free, as [Locker.TryLock] does, and reports whether it did. It returns false and no error
// if the key is held, in this Keyed or elsewhere.
func (k *Keyed) TryLock(ctx context.Context, key string) (bool, error) {
	e := k.enter(key)
	select {
	case e.gate <- struct{}{}:
	default:
		k.leave(key, e)
		return false, nil
	}
	var lock *Lock
	defer func() { k.keepLock(key, e, lock) }()
	lock, err := k.locker.TryLock(ctx, key, k.opts...)
	if errors.Is(err, ErrHeld) {
		return false, nil
	}
	return err == nil, err
}

// Unlock unlocks key, with the errors of [Lock.Unlock]: [ErrLost] if the lock was lost, [ErrNoQuorum] if too few
// masters confirmed. The key is free for the callers of this Keyed in any case. If no caller holds the key, the error
// matches [ErrReleased], and nothing is sent.
func (k *Keyed) Unlock(ctx context.Context, key string) error {
	k.mu.Lock()
	e := k.keys[key]
	var lock *Lock
	if e != nil {
		lock, e.lock = e.lock, nil
	}
	k.mu.Unlock()
	if lock == nil {
		return failed("unlock", []string{key}, errNotLocked)
	}
	defer k.open(key, e)
	return lock.Unlock(ctx)
}

// Context returns the [Lock.Context] of the lock on key, which ends when the lock is lost or unlocked. If no caller
// holds the key, the context has ended, and its cause matches [ErrReleased].
func (k *Keyed) Context(key string) context.Context {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e := k.keys[key]; e != nil && e.lock != nil {
		return e.lock.Context()
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(failed("lock", []string{key}, errNotLocked))
	return ctx
}

var errNotLocked = fmt.Errorf("%w: this Keyed does not hold the key: call Lock before", ErrReleased)

// enter returns the entry of a key, and keeps it in the map until leave is called.
func (k *Keyed) enter(key string) *keyedEntry {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.keys[key]
	if e == nil {
		e = &keyedEntry{gate: make(chan struct{}, 1)}
		k.keys[key] = e
	}
	e.users++
	return e
}

// leave removes the entry from the map if no other caller uses it.
func (k *Keyed) leave(key string, e *keyedEntry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e.users--; e.users == 0 {
		delete(k.keys, key)
	}
}

// keepLock stores the lock of a caller that has passed the gate. If the caller got no lock, keepLock opens the gate.
func (k *Keyed) keepLock(key string, e *keyedEntry, lock *Lock) {
	if lock == nil {
		k.open(key, e)
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	e.lock = lock
}

// open lets the next caller pass the gate.
func (k *Keyed) open(key string, e *keyedEntry) {
	<-e.gate
	k.leave(key, e)
}
