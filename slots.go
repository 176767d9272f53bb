package redlock

import (
	"slices"
	"strconv"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/quorum"
)

// slotSearch is what a call knows of the slots of a semaphore.
type slotSearch struct {
	free []int // the slots that the last probe found free; nil: unknown
	err  error // a majority has permits with another number of slots; nil: none is known
}

// maxSlotsAsked bounds how many slots one attempt asks for. A denial reports which slots are free, so more than two
// requests are rare.
const maxSlotsAsked = 5

// askForSlot asks the masters for a slot. If it is taken, it asks for slots that they report as free.
func (c *call) askForSlot() (o attemptResult) {
	slot := c.waiter.ChooseSlot(c.takeLikelySlots())
	if slot == 0 { // other callers of this Locker have those or ask for them
		slot = c.waiter.ChooseSlot(nil) // one is left: no more callers ask than there are slots
	}
	for asked := 1; ; asked++ {
		if o = c.ask(slot); o.lock != nil {
			return o
		}
		c.waiter.RefuseSlot()
		if o.denied == nil {
			return o
		}
		free, anyDiffers := c.noteSlots(o.denied.Votes())
		if anyDiffers && c.try { // the denial may not count all masters, and a TryLock does not probe otherwise
			_, _ = c.probe(false) // notes slots.err
		}
		if c.slots.err != nil {
			o.err, o.final = c.slots.err, true
		}
		// Free are the slots that the fewest masters have taken, so the one that was just denied may be among them.
		candidates := slices.DeleteFunc(free, func(n int) bool { return n == slot })
		if o.final || len(candidates) == 0 || asked == maxSlotsAsked {
			return o
		}
		if slot = c.waiter.ChooseSlot(candidates); slot == 0 {
			return o
		}
	}
}

// takeLikelySlots returns, once, the slots that were free by the latest message or probe; nil if none is known.
func (c *call) takeLikelySlots() (free []int) {
	if l := c.listener(); l != nil {
		if slot, err := strconv.Atoi(l.TakeText()); err == nil && slot >= 1 && slot <= c.target.Slots {
			return []int{slot}
		}
	}
	free, c.slots.free = c.slots.free, nil
	return free
}

// noteSlots returns the slots that the masters' votes show as free, and whether any master has another number of slots.
// If a majority has, it notes slots.err.
func (c *call) noteSlots(votes []wire.Vote) (free []int, anyDiffers bool) {
	occupancy := kind.NewOccupancy(c.target.Slots, c.locker.quorum.Size())
	for _, v := range votes {
		occupancy.Add(v)
	}
	need := c.locker.quorum.Majority()
	if have, ok := occupancy.Disagrees(need); ok {
		c.slots.err = &SlotsError{Name: c.target.Names[0], Want: c.target.Slots, Have: have}
	}
	return occupancy.Free(need), occupancy.Doubtful()
}

// votesOf returns the votes of the answers.
func votesOf(answers []quorum.Answer) []wire.Vote {
	votes := make([]wire.Vote, len(answers))
	for i, an := range answers {
		votes[i] = an.Vote
	}
	return votes
}
