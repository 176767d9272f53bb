package check

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

// MinHold checks that a lock which was unlocked before the end of its minimum hold kept its names until then: before
// that, only a lock that may share a name with the holder acquired it. So a job does not run twice within a period.
//
// MinHold judges every lock whose unlock was confirmed, even if its process died afterwards. It does not judge permits,
// because the minimum hold of a permit keeps a slot, not the name. The minimum hold counts from Until - TTL, shortly
// before the acquire was sent: the history cannot tell when the acquire ended.
func MinHold(events []history.Event) Verdict {
	v := on(events, ByMinHold)
	judged := map[*hold]bool{}
	names := byName(holds(events))
	for _, n := range names {
		for _, h := range n.holds {
			if h.keeps() <= h.ended {
				continue
			}
			judged[h] = true
			if next := h.intruder(n.holds); next != nil {
				v.find(n.name, []history.Event{*h.acquired, *h.returned, *next.asked, *next.acquired},
					"%q was to stay taken for %v after %s acquired it at %s, and %s acquired it at %s, %v too early", n.name,
					h.acquired.MinHold,
					who(h.who), moment(h.acquired.T), who(next.who), moment(next.acquired.T), h.keeps()-next.acquired.T)
			}
		}
	}
	v.Looked = fmt.Sprintf(
		"%d locks that were unlocked before their minimum hold was over, of %d names", len(judged), len(names),
	)
	return v
}

// keeps returns until when the masters must keep the names after a confirmed unlock; 0 if they need not.
func (h *hold) keeps() time.Duration {
	a := h.acquired
	if a.MinHold == 0 || !h.clean() || kinds.Of(a.Mode).Slotted() {
		return 0
	}
	return a.Until - a.TTL + a.MinHold
}

// intruder returns the first hold that began while the names of h had to stay taken, and may not share them. all is in
// the order of the acquisitions.
func (h *hold) intruder(all []*hold) *hold {
	i, _ := slices.BinarySearchFunc(
		all, h.ended, func(o *hold, t time.Duration) int { return cmp.Compare(o.acquired.T, t) },
	)
	for _, o := range all[i:] {
		if o.acquired.T >= h.keeps() {
			return nil
		}
		if o != h && groupOf(o) != groupOf(h) {
			return o
		}
	}
	return nil
}
