package check

import (
	"fmt"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// What the figures of the trusting register are called.
const (
	TakenByTrusting = "writes that the trusting register took"
	LostByTrusting  = "updates that the trusting register lost"
)

// Register checks what the fenced register took: for each name the tokens of its writes never go down, and no write is
// lost: each was made of the value before it. The first was made of 0. What the trusting register lost is counted in
// Figures, and is nobody's fault but its own: it is what not fencing costs.
func Register(events []history.Event) Verdict {
	v := on(events, "register")
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
			v.find(e.Name, proof, "%q: the fenced register took a write with the token %d after one with %d", e.Name, e.Fence, before.Fence)
		}
		if e.From != before.Value {
			v.find(e.Name, proof, "%q: the fenced register had %d, and took %d, which was made of %d: an update is lost",
				e.Name, before.Value, e.Value, e.From)
		}
	}
	v.Looked = fmt.Sprintf("fenced register: %d writes taken, %d rejected; trusting register: %d of %d writes lost an update",
		writes[history.Fenced], rejected, lost[history.Trusting], writes[history.Trusting])
	v.Figures = []Figure{
		{"writes that the fenced register took", writes[history.Fenced]},
		{"writes that the fenced register rejected", rejected},
		{TakenByTrusting, writes[history.Trusting]},
		{LostByTrusting, lost[history.Trusting]},
	}
	return v
}
