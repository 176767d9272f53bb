package check

import (
	"fmt"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

// Register checks the writes that the fenced register accepted. For each name the tokens must never decrease, and no
// update may be lost: each write must be based on the value before it, the first on 0. No write of a deposed leader may
// be accepted. The updates that the trusting register lost are only counted: they show what happens without fencing.
func Register(events []history.Event) Verdict {
	v := on(events, ByRegister)
	last := map[[2]string]history.Event{}
	writes, lost, rejected := map[string]int{}, map[string]int{}, 0
	for _, e := range events {
		if e.Kind == history.Rejected {
			rejected++
			continue
		}
		if e.Kind != history.Written {
			continue
		}
		writes[e.Register]++
		at := [2]string{e.Register, e.Name}
		before, had := last[at]
		last[at] = e
		if e.From != before.Value {
			lost[e.Register]++
		}
		if e.Register != history.Fenced {
			continue
		}
		proof := []history.Event{e}
		if had {
			proof = []history.Event{before, e}
		}
		if e.Fence < before.Fence {
			v.find(e.Name, proof, "%q: the fenced register took a write with the token %d after one with %d",
				e.Name, e.Fence, before.Fence)
		}
		if e.From != before.Value {
			v.find(e.Name, proof, "%q: the fenced register had %d, and took %d, which was made of %d: an update is lost",
				e.Name, before.Value, e.Value, e.From)
		}
	}
	deposed(&v, events)
	v.Looked = fmt.Sprintf(
		"fenced register: %d writes taken, %d rejected; trusting register: %d of %d writes lost an update",
		writes[history.Fenced], rejected, lost[history.Trusting], writes[history.Trusting])
	return v
}

// deposed finds writes of deposed leaders that the fenced register accepted: the term of the leader is smaller than the
// term of a leader that has read or written before. The term that the write presented does not matter.
func deposed(v *Verdict, events []history.Event) {
	type access struct {
		leader *hold
		event  history.Event
	}
	by := map[history.ID]*hold{}
	for _, h := range holds(events) {
		if kinds.Of(h.acquired.Mode).Elected() {
			by[h.who] = h
		}
	}
	newest := map[string]access{} // by name
	for _, e := range events {
		h := by[e.ID()]
		if h == nil || e.Register != history.Fenced || e.Kind != history.Read && e.Kind != history.Written {
			continue
		}
		n, had := newest[e.Name]
		if had && h.acquired.Fence < n.leader.acquired.Fence {
			if e.Kind == history.Written {
				v.find(e.Name, []history.Event{*h.acquired, *n.leader.acquired, n.event, e},
					"%q: the register took a write of %s, leader of term %d, at %s, after %s, leader of term %d, had used it at %s",
					e.Name, who(h.who), h.acquired.Fence, moment(e.T),
					who(n.leader.who), n.leader.acquired.Fence, moment(n.event.T))
			}
			continue
		}
		newest[e.Name] = access{h, e}
	}
}
