package redlock

import (
	"context"

	"github.com/redlock-go/redlock/internal/kind"
)

// RW is a read/write lock: any number of readers may hold it at the same time, or a single writer. See [Locker.RW].
type RW struct {
	locker *Locker
	name   string
}

// RW returns the read/write lock for name. It sends nothing.
//
// A waiting writer keeps new readers out, so that a stream of readers cannot starve it. Every other exclusive waiter
// ([Locker.Lock], [Locker.LockAll], [Reentrant.Lock]) does the same once it finds that readers hold the name. So a
// goroutine that holds a read lock must not wait for another read lock on the same name: it would deadlock with such a
// waiter.
//
// A read lock cannot be upgraded to a write lock, since two readers that upgrade would wait for each other. Call Unlock
// and then Lock.
func (l *Locker) RW(name string) *RW { return &RW{l, name} }

// Lock acquires the lock for writing, as [Locker.Lock] does. It waits for the readers that hold the name.
func (rw *RW) Lock(ctx context.Context, opts ...LockOption) (*Lock, error) {
	return rw.locker.lock(ctx, rw.target(kind.Writer), false, opts)
}

// TryLock acquires the lock for writing, as [Locker.TryLock] does. A TryLock that fails keeps no readers out.
func (rw *RW) TryLock(ctx context.Context, opts ...LockOption) (*Lock, error) {
	return rw.locker.lock(ctx, rw.target(kind.Writer), true, opts)
}

// RLock acquires the lock for reading, as [Locker.Lock] does, together with any number of other readers. It waits for
// every exclusive holder of the name, and for every exclusive waiter that keeps new readers out.
func (rw *RW) RLock(ctx context.Context, opts ...LockOption) (*Lock, error) {
	return rw.locker.lock(ctx, rw.target(kind.Reader), false, opts)
}

// TryRLock acquires the lock for reading, as [Locker.TryLock] does. It fails while an exclusive waiter keeps new
// readers out; [HeldError].Kind is "writer" then.
func (rw *RW) TryRLock(ctx context.Context, opts ...LockOption) (*Lock, error) {
	return rw.locker.lock(ctx, rw.target(kind.Reader), true, opts)
}

func (rw *RW) target(k *kind.Kind) kind.Target { return kind.Target{Kind: k, Names: []string{rw.name}} }
