package check

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

// Held is a time in which a name cannot be acquired.
type Held struct {
	Name     string
	From, To time.Duration
	// Readers says that it keeps out readers only.
	Readers bool
	// Slots is the number of slots of a semaphore, of which the holder has one; 0 for other locks. It keeps out other
	// locks, and with as many as there are slots also callers of the semaphore.
	Slots int
}

// Free checks that no acquisition that may wait did so for longer than most while all its names were free, or a slot of
// its semaphore. It can be judged only where every client runs all the time: in virtual time. died has the times at
// which clients died; an acquisition that had not returned then shows nothing.
func Free(events []history.Event, held []Held, died map[string]time.Duration, most time.Duration) Verdict {
	v := on(events, ByLiveness)
	held = append(slices.Clone(held), full(held)...)
	slices.SortStableFunc(held, func(a, b Held) int { return cmp.Compare(a.From, b.From) })
	asked := map[history.ID]history.Event{}
	waited := 0
	for _, e := range events {
		switch e.Kind {
		case history.Invoked:
			asked[e.ID()] = e
			continue
		case history.Acquired, history.Refused:
		default:
			continue
		}
		begin, ok := asked[e.ID()]
		at, dead := died[e.Client]
		if !ok || begin.Try || dead && e.T >= at {
			continue
		}
		waited++
		free := begin.T
		look := func(until time.Duration) {
			if until = min(until, e.T); until-free > most {
				v.find(e.Name, []history.Event{begin, e}, "%s waited for a %s of %q that was free from %s to %s; allowed are %v",
					who(e.ID()), kinds.Of(e.Mode).Name, e.Name, moment(free), moment(until), most)
			}
		}
		for _, h := range held {
			if slices.Contains(e.Locked(), h.Name) && h.keepsOut(e) {
				look(h.From)
				free = max(free, h.To)
			}
		}
		look(e.T)
	}
	v.Looked = fmt.Sprintf("%d acquisitions that may wait", waited)
	return v
}

// keepsOut reports whether nobody can acquire the lock of e because of h alone.
func (h Held) keepsOut(e history.Event) bool {
	return (!h.Readers || kinds.Of(e.Mode).Reads()) && (h.Slots == 0 || h.Slots != e.Slots)
}

// full returns the times in which all slots of a semaphore were taken, as those in which its name was held.
func full(held []Held) []Held {
	type semaphore struct {
		name  string
		slots int
	}
	permits := map[semaphore][]Held{}
	for _, h := range held {
		if h.Slots > 0 {
			permits[semaphore{h.Name, h.Slots}] = append(permits[semaphore{h.Name, h.Slots}], h)
		}
	}
	var all []Held
	for s, in := range permits {
		slices.SortStableFunc(in, func(a, b Held) int { return cmp.Compare(a.From, b.From) })
		var ends []time.Duration // of those that have begun and not ended
		for _, h := range in {
			ends = slices.DeleteFunc(ends, func(end time.Duration) bool { return end < h.From })
			ends = append(ends, h.To)
			slices.Sort(ends)
			if n := len(ends) - s.slots; n >= 0 { // all are taken until only so many are left
				all = append(all, Held{Name: s.name, From: h.From, To: ends[n]})
			}
		}
	}
	return all
}
