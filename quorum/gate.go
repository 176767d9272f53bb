package quorum

import "github.com/redlock-go/redlock/node"

// keptVote is a vote that arrived while the round was gated.
type keptVote struct {
	index int
	vote  node.Vote
}

// gate makes the round keep its votes back until open is called. It allows the caller to start the round with a mutex
// held: a node that refuses a call votes immediately, and callbacks must not run under a mutex.
func (r *round) gate() { r.gated.Store(true) }

// open ends the gate and counts the votes that were kept back.
func (r *round) open() {
	r.mu.Lock()
	kept := r.kept
	r.kept = nil
	r.gated.Store(false)
	r.mu.Unlock()
	r.countKept(kept)
}

// keep keeps a vote back if the round is gated, and reports whether it is.
func (r *round) keep(index int, v node.Vote) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gated.Load() {
		r.kept = append(r.kept, keptVote{index, v})
		return true
	}
	return false
}

func (r *round) countKept(kept []keptVote) {
	if len(kept) > 0 {
		defer r.countKept(kept[1:]) // also if the callback panics
		r.Vote(kept[0].index, kept[0].vote)
	}
}
