package redlock

import (
	"context"
	"fmt"
)

// RW is a lock that readers hold together, or one writer alone. See [Locker.RW].
type RW struct {
	locker *Locker
	name   string
}

// RW returns the read/write lock of a name. It sends nothing. A writer that waits keeps new readers out, so that a
// stream of readers does not starve it. So does every other waiter that wants the name alone ([Locker.Lock],
// [Locker.LockAll], [Reentrant.Lock]), once it has found readers in its way. Therefore the holder of a read lock must
// not wait for another of the same name: it would wait for a waiter that waits for it.
//
// There is no upgrade from read to write: two that tried would wait for each other. Unlock, and Lock.
func (l *Locker) RW(name string) *RW { return &RW{l, name} }

// Lock takes the lock for writing, as [Locker.Lock] does. It waits for the readers that are in.
func (rw *RW) Lock(ctx context.Context, opts ...LockOption) (*Lock, error) {
	return rw.locker.lock(ctx, rw.target(kindWriter), false, opts)
}

// TryLock takes the lock for writing, as [Locker.TryLock] does. A refused one keeps no reader out.
func (rw *RW) TryLock(ctx context.Context, opts ...LockOption) (*Lock, error) {
	return rw.locker.lock(ctx, rw.target(kindWriter), true, opts)
}

// RLock takes the lock for reading, as [Locker.Lock] does, beside any number of readers. It waits for every exclusive
// holder of the name, and for every exclusive waiter that keeps new readers out.
func (rw *RW) RLock(ctx context.Context, opts ...LockOption) (*Lock, error) {
	return rw.locker.lock(ctx, rw.target(kindReader), false, opts)
}

// TryRLock takes the lock for reading, as [Locker.TryLock] does. It is refused where an exclusive waiter keeps new
// readers out; [HeldError].Kind is "writer" then.
func (rw *RW) TryRLock(ctx context.Context, opts ...LockOption) (*Lock, error) {
	return rw.locker.lock(ctx, rw.target(kindReader), true, opts)
}

func (rw *RW) target(kind string) target { return target{kind: kind, names: []string{rw.name}} }

// Downgrade turns a write lock into a read lock without a gap: no other writer gets in between. From the call on the
// holder is a reader and must not write, whatever Downgrade returns. It also extends the lock by another TTL. On
// [ErrNoQuorum], and if ctx had ended before the call, the next extension turns the lock into a reader's on the
// masters that do not know yet. On any lock but a writer's it is an error, and changes nothing.
func (l *Lock) Downgrade(ctx context.Context) error {
	return during("downgrade", l.name, l.downgrade(ctx))
}

func (l *Lock) downgrade(ctx context.Context) error {
	if l.locker.isEnding() {
		return ErrClosed
	}
	if err := l.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	if l.claim.kind != kindWriter {
		kind := l.claim.kind
		l.mu.Unlock()
		return fmt.Errorf("it is a %s lock: only what RW.Lock or RW.TryLock returned can become a reader's", kind)
	}
	if l.err != nil { // meanwhile
		defer l.mu.Unlock()
		return l.err
	}
	reader := *l.claim
	reader.kind = kindReader
	l.claim = &reader
	ln := l.line
	l.line = nil
	l.mu.Unlock()
	l.lease.Become(reader.ops())           // an extension that is decided while it is submitted wants to know the lock's state
	defer l.locker.lines.ended(ln, turn{}) // the next in line asks after the downgrade, also if a callback panics
	return l.extend(ctx)
}
