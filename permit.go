package redlock

import (
	"context"
	"slices"
	"strconv"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

// maxSlotsAsked bounds how many slots one attempt asks for. A denial reports which slots are free, so more than two
// requests are rare.
const maxSlotsAsked = 5

// askForPermit asks the masters for a slot. If it is taken, it asks for slots that they report as free.
func (a *attempts) askForPermit(ctx context.Context, first bool) (lock *Lock, err error) {
	candidates := a.likelySlots()
	for range maxSlotsAsked {
		slot := a.waiter.ChooseSlot(candidates)
		if slot == 0 && err == nil {
			slot = a.waiter.ChooseSlot(nil) // other callers of this Locker are asking for all candidates
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
		if a.doubtful && a.try {
			// The attempt was denied before all masters had answered. One that waits finds out by its next probe.
			_, _ = a.probe(ctx, false)
		}
		if a.disagreement != nil {
			return nil, a.disagreement
		}
		if candidates = slices.DeleteFunc(free, func(n int) bool { return n == slot }); len(candidates) == 0 {
			return nil, err
		}
	}
	return nil, err
}

// likelySlots returns the slots that were free by the latest message or probe; nil if none is known.
func (a *attempts) likelySlots() (slots []int) {
	if l := a.listener(); l != nil {
		if slot, err := strconv.Atoi(l.TakeText()); err == nil && slot >= 1 && slot <= a.target.Slots {
			return []int{slot}
		}
	}
	slots, a.freeSlots = a.freeSlots, nil
	return slots
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
// a.disagreement; if any master has, a.doubtful.
func (a *attempts) readSlots(votes []node.Vote) (free []int) {
	occupancy := kind.NewOccupancy(a.target.Slots, a.locker.quorum.Size())
	for _, v := range votes {
		occupancy.Add(v)
	}
	a.doubtful = occupancy.Doubtful()
	need := a.locker.quorum.Majority()
	if have, ok := occupancy.Disagrees(need); ok {
		a.disagreement = &SlotsError{Name: a.target.Names[0], Want: a.target.Slots, Have: have}
	}
	return occupancy.Free(need)
}

// inherited returns the lock that was handed over to the waiter while it yielded or paused; nil if there is none.
func (a *attempts) inherited() *Lock {
	if !a.target.Kind.Slotted() {
		return nil
	}
	from, _ := a.waiter.Resume().(queuedLock)
	return from.Lock
}
