package kind

import "github.com/redlock-go/redlock/internal/wire"

// Occupancy is what masters report of the slots of a semaphore.
type Occupancy struct {
	masters  int         // how many masters there are
	reported int         // how many of them reported
	taken    []int       // by slot, from 0: on how many of these it is taken
	other    map[int]int // by another number of slots: how many masters have that one
}

// NewOccupancy returns the Occupancy of a semaphore on so many masters, none of which has reported.
func NewOccupancy(slots, masters int) *Occupancy {
	return &Occupancy{masters: masters, taken: make([]int, slots), other: make(map[int]int)}
}

// Add adds the vote of one master on an acquire or a probe of the semaphore. A vote that says nothing of the slots
// counts as that of a master that did not report.
func (o *Occupancy) Add(v wire.Vote) {
	b, _ := BlockerOf(v)
	switch {
	case !v.Verdict.Answered():
	case b.Kind == Semaphore.Name && b.Slots > 0 && b.Slots != len(o.taken):
		o.other[b.Slots]++
	case b.Taken != "":
		o.reported++
		for i := range o.taken {
			o.taken[i] += int(b.Taken[i] - '0')
		}
	}
}

// Free returns the slots, from 1, that a majority of the masters may grant: those that are taken on the fewest masters.
// If a majority has reported and none of it has the slot taken, the slot is free, because a permit takes its slot on a
// majority. Free returns none if no master reported.
func (o *Occupancy) Free(majority int) (slots []int) {
	if o.reported == 0 {
		return nil
	}
	fewest := o.masters - majority // more masters than this: no majority can grant
	for i, taken := range o.taken {
		if taken < fewest {
			fewest, slots = taken, slots[:0]
		}
		if taken == fewest {
			slots = append(slots, i+1)
		}
	}
	return slots
}

// AnyDiffers reports whether some master has another number of slots for the name than the claim.
func (o *Occupancy) AnyDiffers() bool { return len(o.other) > 0 }

// MajorityDiffers returns the number of slots that a majority of the masters has for the name, if that is not the
// claim's. A minority does not count: it may be what is left of a holder that is gone. It expires with its TTL.
func (o *Occupancy) MajorityDiffers(majority int) (slots int, ok bool) {
	for n, masters := range o.other {
		if masters >= majority {
			return n, true
		}
	}
	return 0, false
}
