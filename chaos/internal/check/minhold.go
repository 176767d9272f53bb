package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

// MinHold checks that a lock with a minimum hold that was unlocked early kept its names for the rest of it: no
// lock gets one of them within that time, except those that may share it with the holder. So a job does not run
// twice within a period. It judges locks whose unlock was confirmed, also if their process died afterwards. The minimum
// hold of a permit keeps a slot, not the name: it is not judged.
//
// The time counts from the beginning of the acquisition's validity, since the history cannot tell when the
// acquisition ended, and is shorter by the drift budget: the masters keep the names by their own clocks.
func MinHold(events []history.Event) Verdict {
	v := on(events, ByMinHold)
	type name struct{ kept, taken []*hold }
	named := map[string]*name{}
	judged := 0
	for _, h := range holds(events) {
		kept := h.keeps() > h.ended
		if kept {
			judged++
		}
		for _, n := range h.acquired.Locked() {
			if named[n] == nil {
				named[n] = &name{}
			}
			named[n].taken = append(named[n].taken, h)
			if kept {
				named[n].kept = append(named[n].kept, h)
			}
		}
	}
	for _, n := range slices.Sorted(maps.Keys(named)) {
		for _, h := range named[n].kept {
			if next := h.intruder(named[n].taken); next != nil {
				v.find(n, []history.Event{h.acquired, *h.returned, next.asked, next.acquired},
					"%q was to stay taken for %v after %s acquired it at %s, and %s acquired it at %s, %v too early", n,
					h.acquired.MinHold,
					who(h.who), moment(h.acquired.T), who(next.who), moment(next.acquired.T), h.keeps()-next.acquired.T)
			}
		}
	}
	v.Looked = fmt.Sprintf(
		"%d locks that were unlocked before their minimum hold was over, of %d names", judged, len(named),
	)
	return v
}

// keeps returns until when at least the masters keep the names after a confirmed unlock; 0 if they do not.
func (h *hold) keeps() time.Duration {
	a := h.acquired
	if a.MinHold == 0 || !h.clean() || kinds.Of(a.Mode).Slotted() {
		return 0
	}
	return a.Until - a.TTL + a.MinHold - drift(a.MinHold)
}

// drift is how far two clocks may diverge within d, by the drift budget of the lock.
func drift(d time.Duration) time.Duration { return d/100 + 2*time.Millisecond }

// intruder returns the first hold that began while the names of h had to stay taken, and may not share them. all is in
// the order of the acquisitions.
func (h *hold) intruder(all []*hold) *hold {
	mode := h.acquired.Mode
	if n := len(h.beliefs); n > 0 {
		mode = h.beliefs[n-1].mode // it may have been downgraded
	}
	i, _ := slices.BinarySearchFunc(
		all, h.ended, func(o *hold, t time.Duration) int { return cmp.Compare(o.acquired.T, t) },
	)
	for _, o := range all[i:] {
		if o.acquired.T >= h.keeps() {
			return nil
		}
		if o != h && groupOf(o.acquired.Mode, o) != groupOf(mode, h) {
			return o
		}
	}
	return nil
}
