package redlock

import (
	"errors"
	"slices"
	"strconv"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/wire"
)

// maxAttemptsPerTurn bounds the attempts of one turn at a semaphore. A denial reports which slots are free, so more
// than two are rare.
const maxAttemptsPerTurn = 5

// searchSlot asks the masters for a slot. If the slot is taken, it asks for one that they report as free, and so on.
// oneFirst is as for attempt.
func (c *call) searchSlot(oneFirst bool) (result attemptResult) {
	slot := c.waiter.ChooseSlot(c.takeLikelySlots())
	if slot == 0 { // other callers of this Locker hold or ask for all of the likely ones
		slot = c.waiter.ChooseSlot(nil) // not 0: the queue lets no more callers hold or ask than there are slots
	}
	for attempts := 1; ; attempts++ {
		if result = c.attempt(slot, oneFirst); result.lock != nil {
			return result
		}
		c.waiter.RefuseSlot()
		if result.denied == nil || result.final {
			return result
		}
		free, anyDiffers, err := c.slotsIn(result.denied.Votes())
		// The denial may not count all masters. A TryLock does not probe later, so it looks now for another number of slots.
		if err == nil && anyDiffers && c.try {
			_, err = c.probe(false)
		}
		if errors.As(err, new(*SlotsError)) {
			result.err, result.final = err, true
			return result
		}
		// The free slots are those that the fewest masters have taken, so the one that was just denied may be among them.
		candidates := slices.DeleteFunc(free, func(one int) bool { return one == slot })
		if len(candidates) == 0 || attempts == maxAttemptsPerTurn {
			return result
		}
		if slot = c.waiter.ChooseSlot(candidates); slot == 0 {
			return result
		}
	}
}

// takeLikelySlots returns the slots that are probably free, and forgets them: the one that the last release message
// names, otherwise those of the last probe; nil if none is known.
func (c *call) takeLikelySlots() (free []int) {
	free, c.likelySlots = c.likelySlots, nil
	if l := c.listener(); l != nil {
		if slot, err := strconv.Atoi(l.TakeText()); err == nil && slot >= 1 && slot <= c.target.Slots {
			return []int{slot}
		}
	}
	return free
}

// slotsIn returns the slots that the votes of the masters show as free, and whether any master has another number of
// slots. If a majority has, it returns a SlotsError.
func (c *call) slotsIn(votes []wire.Vote) (free []int, anyDiffers bool, err error) {
	occupancy := kind.NewOccupancy(c.target.Slots, c.locker.quorum.Size())
	for _, v := range votes {
		occupancy.Add(v)
	}
	need := c.locker.quorum.Majority()
	if have, ok := occupancy.MajorityDiffers(need); ok {
		err = &SlotsError{Name: c.target.Names[0], Want: c.target.Slots, Have: have}
	}
	return occupancy.Free(need), occupancy.AnyDiffers(), err
}
