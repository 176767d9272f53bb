package redlock

import (
	"context"

	"github.com/redlock-go/redlock/internal/kind"
)

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
// in the order of their calls. While callers of several Lockers wait, each Locker takes an equal share of the slots
// without yielding to the others. [Lock.Unlock] releases the permit.
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
