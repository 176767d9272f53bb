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

// Semaphore is a lock that a limited number of holders share: each holds one permit. See [Locker.Semaphore].
type Semaphore struct {
	locker *Locker
	name   string
	slots  int
}

// Semaphore returns the semaphore with n permits on name. It sends nothing. n is from 1 to 1,024.
//
// A permit is a [Lock], with TTL, keepalive and Context, on one of n slots. A majority of the masters grants a slot to
// one holder. So there are never n + 1 holders where a mutex would not have two.
//
// All callers must agree on n. While a majority of the masters has permits with another number, Acquire and TryAcquire
// return a [SlotsError]. One name is one lock: Acquire waits for holders of other kinds, and [Locker.Lock] and the
// other kinds wait until no permit is held. That may be never if permits are always wanted.
//
// With [WithFencing], no two permits have the same fencing token, and a permit's token is larger than that of every
// permit acquired before it was requested. The holders work at the same time, so storage must not reject all tokens but
// the largest: see docs/fencing.md.
func (l *Locker) Semaphore(name string, n int) *Semaphore { return &Semaphore{l, name, n} }

// Acquire acquires a permit, and waits for it until ctx ends, as [Locker.Lock] does. Callers of one Locker get permits
// in the order of their calls. A caller that is asking the masters when a permit is handed over misses that permit.
// While several Lockers have waiters, each may take an equal share of the slots at once, and more only after a pause.
// [Lock.Unlock] releases the permit.
func (s *Semaphore) Acquire(ctx context.Context, opts ...LockOption) (*Lock, error) {
	return s.locker.lock(ctx, s.target(), false, opts)
}

// TryAcquire acquires a permit without waiting for a release, and returns [ErrHeld] if all are held. As with
// [Locker.TryLock], it does not overtake callers that wait in Acquire, and callers in several processes may split the
// vote for the last free permits.
func (s *Semaphore) TryAcquire(ctx context.Context, opts ...LockOption) (*Lock, error) {
	return s.locker.lock(ctx, s.target(), true, opts)
}

func (s *Semaphore) target() kind.Target {
	return kind.Target{Kind: kind.Semaphore, Names: []string{s.name}, Slots: s.slots}
}

// Reentrant is a lock that its owner may acquire again while holding it. See [Locker.Reentrant].
type Reentrant struct {
	locker      *Locker
	name, owner string
}

// Reentrant returns the reentrant lock on name for owner. It sends nothing. Go has no thread identity, so callers that
// may share the lock agree on an owner name: that of a worker, a request, a transaction. While the owner holds the
// lock, calls for the same owner acquire it again, from any goroutine and any process, and never wait behind other
// owners.
//
// Every Lock is a separate hold, with its own TTL and keepalive, and needs its own Unlock. The name is free when the
// last hold has ended. So an owner whose holds always overlap keeps other owners out indefinitely. If a hold with a
// minimum hold ([WithMinHold]) ends early, its owner may lock again before that time is over; other owners may not.
// Lock returns an error if the owner is empty, has more than 1,024 bytes, or begins with "min-hold:".
func (l *Locker) Reentrant(name, owner string) *Reentrant { return &Reentrant{l, name, owner} }

// Lock acquires a hold, as [Locker.Lock] does. It waits for every other holder of the name, but not for holds of the
// same owner. A call first asks the masters once without waiting for its turn, because its owner may hold the lock; so
// it may get the lock before callers of other owners that wait.
func (r *Reentrant) Lock(ctx context.Context, opts ...LockOption) (*Lock, error) {
	return r.locker.lock(ctx, r.target(), false, opts)
}

// TryLock acquires a hold, as [Locker.TryLock] does. Like Lock, it does not wait for its turn.
func (r *Reentrant) TryLock(ctx context.Context, opts ...LockOption) (*Lock, error) {
	return r.locker.lock(ctx, r.target(), true, opts)
}

func (r *Reentrant) target() kind.Target {
	return kind.Target{Kind: kind.Reentrant, Names: []string{r.name}, Owner: r.owner}
}
