// Package keyed locks and unlocks by key, for libraries that lock without a handle, such as the storage of certmagic.
// It uses the public API of package redlock only. Where you can, use [redlock.Locker.Do] or a [redlock.Lock] instead:
// they report a loss when it happens.
package keyed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/redlock-go/redlock"
)

// Keyed locks and unlocks by key. A key is the name of a mutex, as in [redlock.Locker.Lock]. Keyed is safe for
// concurrent use. It cannot tell its callers apart, so any of them can unlock a key. The caller that locked the key
// learns of a loss only from [Keyed.Unlock].
type Keyed struct {
	locker *redlock.Locker
	opts   []redlock.LockOption

	mu    sync.Mutex
	holds map[string]*hold
}

// hold is a key from Lock to Unlock.
type hold struct {
	lock  *redlock.Lock
	ended chan struct{} // closed when Unlock is called
}

// New returns a Keyed that locks with these options. It sends nothing: invalid options are errors of the methods Lock
// and TryLock.
func New(l *redlock.Locker, opts ...redlock.LockOption) *Keyed {
	return &Keyed{locker: l, opts: slices.Clone(opts), holds: make(map[string]*hold)}
}

// Lock locks key, and waits for it as [redlock.Locker.Lock] does, with the same errors. The key is taken for the
// callers of this Keyed from Lock to [Keyed.Unlock], even if the lock is lost in between: otherwise the late Unlock of
// one caller could unlock the key of the next. Callers that wait for the Unlock after a loss get an error that matches
// [redlock.ErrHeld] when ctx ends, and [redlock.ErrClosed] when the Locker is closed. If Lock returns an error, the
// caller does not hold the key.
func (k *Keyed) Lock(ctx context.Context, key string) error {
	earlier := k.at(key)
	if earlier != nil && earlier.lock.Err() == nil {
		earlier = nil // the Locker has the queue for the lock
	}
	for {
		if earlier != nil {
			if err := k.awaitUnlock(ctx, key, earlier); err != nil {
				return err
			}
		}
		lock, err := k.locker.Lock(ctx, key, k.opts...)
		if err != nil {
			return err
		}
		if earlier = k.keep(key, lock); earlier == nil {
			return nil
		}
		_ = lock.Unlock(ctx) // it protects nothing, and its release goes on
	}
}

// TryLock locks key if it is free, as [redlock.Locker.TryLock] does, and reports whether it did. It returns false and
// no error if the key is held, in this Keyed or elsewhere.
func (k *Keyed) TryLock(ctx context.Context, key string) (bool, error) {
	if k.at(key) != nil {
		return false, nil
	}
	lock, err := k.locker.TryLock(ctx, key, k.opts...)
	if errors.Is(err, redlock.ErrHeld) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if k.keep(key, lock) != nil {
		_ = lock.Unlock(ctx)
		return false, nil
	}
	return true, nil
}

// Unlock unlocks key, with the errors of [redlock.Lock.Unlock]: [redlock.ErrLost] if the lock was lost, so that another
// holder may have run at the same time; [redlock.ErrNoQuorum] if too few masters confirmed: the release then continues
// in the background. In any case the caller no longer holds the key. If no caller of this Keyed holds it, the error
// matches [redlock.ErrReleased], and nothing is sent.
func (k *Keyed) Unlock(ctx context.Context, key string) error {
	k.mu.Lock()
	h := k.holds[key]
	delete(k.holds, key)
	k.mu.Unlock()
	if h == nil {
		return fmt.Errorf("keyed: unlock %q: no caller of this Keyed holds the key: call Lock before, and Unlock once: %w",
			key, redlock.ErrReleased)
	}
	close(h.ended)
	return h.lock.Unlock(ctx)
}

// keep stores the lock of key. If another caller has locked key and has not called Unlock, keep returns that hold and
// stores nothing. The Locker grants a second lock only if the first one was lost.
func (k *Keyed) keep(key string, lock *redlock.Lock) (earlier *hold) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if h := k.holds[key]; h != nil {
		return h
	}
	k.holds[key] = &hold{lock: lock, ended: make(chan struct{})}
	return nil
}

// at returns the hold of key; nil if no caller has it.
func (k *Keyed) at(key string) *hold {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.holds[key]
}

// awaitUnlock waits until the caller with the hold of key calls Unlock.
func (k *Keyed) awaitUnlock(ctx context.Context, key string, h *hold) error {
	select {
	case <-h.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: a caller of this Keyed has lost it, and must call Unlock before another gets it: %w",
			&redlock.HeldError{Name: key, Kind: "mutex"}, ctx.Err())
	case <-k.locker.Closed():
		return fmt.Errorf("keyed: lock %q: %w", key, redlock.ErrClosed)
	}
}
