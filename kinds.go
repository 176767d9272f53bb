package redlock

import (
	"context"
	"fmt"
	"slices"
)

// RW is a lock that readers hold together, or one writer alone. See [Locker.RW].
type RW struct {
	locker *Locker
	name   string
}

// RW returns the read/write lock of a name. It sends nothing. A writer that waits keeps new readers out, so that a stream
// of them does not starve it; so who holds a read lock must not ask for another of the same name and wait for it.
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

// RLock takes the lock for reading, as [Locker.Lock] does, beside any number of readers. It waits for a writer that has the
// lock or waits for it.
func (rw *RW) RLock(ctx context.Context, opts ...LockOption) (*Lock, error) {
	return rw.locker.lock(ctx, rw.target(kindReader), false, opts)
}

// TryRLock takes the lock for reading, as [Locker.TryLock] does. It is refused where a writer waits.
func (rw *RW) TryRLock(ctx context.Context, opts ...LockOption) (*Lock, error) {
	return rw.locker.lock(ctx, rw.target(kindReader), true, opts)
}

func (rw *RW) target(kind string) target { return target{kind: kind, names: []string{rw.name}} }

// Downgrade turns a write lock into a read lock without a gap: no other writer comes between. From the call on the holder
// counts as a reader and must not write any more, whatever Downgrade returns. On [ErrNoQuorum] the masters that did not
// answer learn of it with the next extension, and so do all of them if ctx had ended before it began. It is an extension, too:
// the lock gets a further TTL. On any lock but a writer's it is an error, and changes nothing.
func (l *Lock) Downgrade(ctx context.Context) error {
	if err := l.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	if l.claim.kind != kindWriter {
		kind := l.claim.kind
		l.mu.Unlock()
		return fmt.Errorf("redlock: downgrade %q: it is a %s lock: only what RW.Lock or RW.TryLock returned has a reader to become", l.name, kind)
	}
	if l.err != nil { // meanwhile
		defer l.mu.Unlock()
		return l.err
	}
	l.claim.kind = kindReader
	ln := l.line
	l.line = nil
	l.lease.Become(l.claim.ops())
	l.mu.Unlock()
	err := l.Extend(ctx)
	l.locker.lines.ended(ln) // the next in line asks behind the downgrade
	return err
}

// Reentrant is a lock that its owner may take again. See [Locker.Reentrant].
type Reentrant struct {
	locker      *Locker
	name, owner string
}

// Reentrant returns the reentrant lock of a name for an owner. It sends nothing. Go has no thread identity, so the owner
// is a name that those who may share the lock agree on: a worker, a request, a transaction. Whoever uses it may lock again
// while any of them holds the lock, from any goroutine and any process, and never waits behind a stranger for it.
//
// Every Lock is a hold of its own, with its own TTL and keepalive, and needs its own Unlock; the name is free when
// the last hold has ended. An empty owner is an error of Lock.
func (l *Locker) Reentrant(name, owner string) *Reentrant { return &Reentrant{l, name, owner} }

// Lock takes a hold, as [Locker.Lock] does. It waits for other owners only.
func (r *Reentrant) Lock(ctx context.Context, opts ...LockOption) (*Lock, error) {
	return r.locker.lock(ctx, r.target(), false, opts)
}

// TryLock takes a hold, as [Locker.TryLock] does.
func (r *Reentrant) TryLock(ctx context.Context, opts ...LockOption) (*Lock, error) {
	return r.locker.lock(ctx, r.target(), true, opts)
}

func (r *Reentrant) target() target {
	return target{kind: kindReentrant, names: []string{r.name}, owner: r.owner}
}

// Depth is how many live holds the owner of a reentrant lock has at the moment: the distinct ones that a majority of the
// masters know of together, which it asks, for a node timeout at most. While a Lock or Unlock of the owner is under way
// it may count either way. Where no majority answers it is 1, the hold at hand; and for every other kind it is 1 always.
// When the handle is over it is 0.
func (l *Lock) Depth() int {
	if l.kind() != kindReentrant {
		return 1
	}
	if l.Err() != nil {
		return 0
	}
	n, err := l.locker.depth(context.Background(), l.name, l.token)
	if err != nil {
		return 1
	}
	return max(1, n)
}

func (l *Lock) kind() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.claim.kind
}

// LockAll takes a mutex on every one of the names, all or nothing, and waits as [Locker.Lock] does. The order of the names
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
