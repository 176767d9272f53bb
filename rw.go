package redlock

import (
	"context"
	"fmt"

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

// Downgrade turns a write lock into a read lock without releasing it, so that no other writer can get the name in
// between. From the call on the holder is a reader and must not write, whatever Downgrade returns. Downgrade also
// extends the lock by another TTL. On [ErrNoQuorum], and if ctx had ended before the call, the next extension
// downgrades the lock on the remaining masters. If the lock is not a write lock, Downgrade returns an error and changes
// nothing.
func (l *Lock) Downgrade(ctx context.Context) error {
	return during("downgrade", l.names(), l.downgrade(ctx))
}

func (l *Lock) downgrade(ctx context.Context) error {
	if l.locker.isEnding() {
		return ErrClosed
	}
	if err := l.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	if k := l.claim.Target.Kind; k.Downgraded == nil {
		l.mu.Unlock()
		return fmt.Errorf("it is a %s lock: only a lock from RW.Lock or RW.TryLock can become a read lock", k.Name)
	}
	if l.phase != phaseHeld { // meanwhile
		defer l.mu.Unlock()
		return l.err
	}
	writer, reader := l.claim, l.claim.Downgraded()
	l.claim = reader
	l.locker.activity.downgrade(writer.Target.Kind, reader.Target.Kind) // under l.mu: the lock has not ended yet
	release := l.hold.Detach()
	l.mu.Unlock()
	// Without l.mu: an extension that is decided meanwhile locks it.
	l.lease.ChangeKind(traced(reader.Ops(), l.origin()))
	defer release() // the next waiter asks after the downgrade, also if a callback panics
	return l.extend(ctx)
}
