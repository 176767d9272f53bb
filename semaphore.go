package redlock

import (
	"context"
	"slices"
	"strconv"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
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
// return a [SlotsError]. One name is one lock: [Locker.Lock] and the other kinds wait until no permit is held, and
// Acquire waits for them.
//
// With [WithFencing], no two permits have the same fencing token, and a permit's token is larger than that of every
// permit acquired before it was requested. The holders work at the same time, so storage must not reject all tokens but
// the largest: see docs/fencing.md.
func (l *Locker) Semaphore(name string, n int) *Semaphore { return &Semaphore{l, name, n} }

// Acquire acquires a permit, and waits for it until ctx ends, as [Locker.Lock] does. Callers of one Locker get permits
// in the order of their calls. [Lock.Unlock] releases the permit.
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

// maxSlotsAsked bounds how many slots one attempt asks for. The masters' answers to one request name the free slots for
// the next, so more than two requests are rare.
const maxSlotsAsked = 5

// askForPermit asks the masters for a slot. If it is taken, it asks for slots that they report as free.
func (a *attempts) askForPermit(ctx context.Context, first bool) (lock *Lock, err error) {
	which := a.likelySlots()
	for range maxSlotsAsked {
		slot := a.waiter.ChooseSlot(which)
		if slot == 0 && err == nil {
			slot = a.waiter.ChooseSlot(nil) // the other callers of this Locker ask for those that were free
		}
		if slot == 0 {
			return nil, err
		}
		if lock, err = a.askOnce(ctx, first, slot); lock != nil {
			return lock, nil
		}
		a.waiter.RefuseSlot()
		if a.denied == nil {
			return nil, err
		}
		free := a.readSlots(a.denied.Votes())
		if a.disagreement != nil {
			return nil, a.disagreement
		}
		if which = slices.DeleteFunc(free, func(n int) bool { return n == slot }); len(which) == 0 {
			return nil, err
		}
	}
	return nil, err
}

// likelySlots returns the slots that were free by the latest message or probe; nil if none is known.
func (a *attempts) likelySlots() (which []int) {
	if l := a.listener(); l != nil {
		if slot, err := strconv.Atoi(l.TakeText()); err == nil && slot >= 1 && slot <= a.target.Slots {
			return []int{slot}
		}
	}
	which, a.freeSlots = a.freeSlots, nil
	return which
}

// noteSlots records what the masters answered to a probe of a semaphore.
func (a *attempts) noteSlots(answers []quorum.Answer) {
	votes := make([]node.Vote, 0, len(answers))
	for _, an := range answers {
		votes = append(votes, an.Vote)
	}
	a.freeSlots = a.readSlots(votes)
}

// readSlots returns the slots that the masters' votes show as free. If a majority has another number of slots, it sets
// a.disagreement.
func (a *attempts) readSlots(votes []node.Vote) (free []int) {
	o := kind.NewOccupancy(a.target.Slots, a.locker.quorum.Size())
	for _, v := range votes {
		o.Add(v)
	}
	need := a.locker.quorum.Majority()
	if have, ok := o.Disagrees(need); ok {
		a.disagreement = &SlotsError{Name: a.target.Names[0], Want: a.target.Slots, Have: have}
	}
	return o.Free(need)
}

// inherited returns the lock that was handed over to the waiter while it paused; nil if there is none.
func (a *attempts) inherited() *Lock {
	if !a.target.Kind.Slotted() {
		return nil
	}
	from, _ := a.waiter.Resume().(queuedLock)
	return from.Lock
}
