package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

// Leaders checks the elections of each name:
//   - Every leader has a term.
//   - There is at most one leader a term.
//   - Terms grow: a leader that campaigned after another had become one has a larger term. So has a leader that was
//     elected after the leadership of the other had ended, whenever it campaigned, unless one of the faults in
//     reordering was injected: then a term is only as recent as the campaign.
//   - The fenced register accepts no write of a deposed leader, whose term is smaller than that of a leader that has
//     read or written before. The term that the write presented does not matter.
//
// [Exclusion] checks that there is one leader at a time. reordering are the faults after which masters may have
// forgotten their counters unnoticed, or granted a lock that another client still holds. A master may then grant the
// older campaign first, and the candidate may win with that grant after another leader has come and gone.
func Leaders(events []history.Event, reordering []string) Verdict {
	v := on(events, ByLeaders)
	led := slices.DeleteFunc(holds(events), func(h *hold) bool { return !kinds.Of(h.acquired.Mode).Elected() })
	reordered := injected(events, reordering)
	elections := byName(led)
	for _, n := range elections {
		unequal(&v, n)
		growing(&v, n, askedAt, acquiredAt)
		if !reordered {
			growing(&v, n, comesAt, endedAt)
		}
	}
	writes := deposed(&v, events, led)
	v.Looked = fmt.Sprintf("%d leaders of %d elections, who wrote %d times", len(led), len(elections), writes)
	return v
}

func term(h *hold) uint64 { return h.acquired.Fence }

// unequal finds leaders without a term, or with the term of another.
func unequal(v *Verdict, n nameHolds) {
	first := map[uint64]*hold{}
	for _, h := range n.holds {
		switch o := first[term(h)]; {
		case term(h) == 0:
			v.find(n.name, []history.Event{*h.asked, *h.acquired}, "%q: %s leads without a term", n.name, who(h.who))
		case o != nil:
			v.find(n.name, []history.Event{*o.acquired, *h.acquired}, "%q: %s and %s both lead in term %d",
				n.name, who(o.who), who(h.who), term(h))
		default:
			first[term(h)] = h
		}
	}
}

// growing finds leaders whose term is not larger than that of a leader that counts when they come.
func growing(v *Verdict, n nameHolds, comes, counts func(*hold) time.Duration) {
	var largest *hold
	judgeInOrder(n.holds, comes, counts,
		func(h *hold) {
			if largest == nil || term(h) > term(largest) {
				largest = h
			}
		},
		func(h *hold) {
			if largest == nil || term(h) >= term(largest) { // an equal one is found by unequal
				return
			}
			v.find(n.name, []history.Event{*largest.acquired, *h.asked, *h.acquired},
				"%q: %s leads in term %d from %s on, after %s in term %d from %s to %s",
				n.name, who(h.who), term(h), moment(h.acquired.T), who(largest.who), term(largest),
				moment(largest.acquired.T), moment(largest.ended))
		})
}

// deposed finds writes of deposed leaders that the fenced register accepted. It returns the number of writes.
func deposed(v *Verdict, events []history.Event, leaders []*hold) int {
	type access struct {
		leader *hold
		event  history.Event
	}
	by := map[history.ID]*hold{}
	for _, h := range leaders {
		by[h.who] = h
	}
	writes := 0
	newest := map[string]access{} // by name
	for _, e := range events {
		h := by[e.ID()]
		if h == nil || e.Register != history.Fenced || e.Kind != history.Read && e.Kind != history.Written {
			continue
		}
		n, had := newest[e.Name]
		if e.Kind == history.Written {
			writes++
			if had && term(h) < term(n.leader) {
				v.find(e.Name, []history.Event{*h.acquired, *n.leader.acquired, n.event, e},
					"%q: the register took a write of %s, leader of term %d, at %s, after %s, leader of term %d, had used it at %s",
					e.Name,
					who(h.who), term(h), moment(e.T), who(n.leader.who), term(n.leader), moment(n.event.T))
			}
		}
		if !had || term(h) >= term(n.leader) {
			newest[e.Name] = access{h, e}
		}
	}
	return writes
}
