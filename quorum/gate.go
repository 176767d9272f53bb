package quorum

import "github.com/redlock-go/redlock/node"

// deferredVote is a vote that arrived while the round was gated.
type deferredVote struct {
	index int
	vote  node.Vote
}

// gate makes the round defer its votes until open is called. It allows the caller to start the round with a mutex
// held: a node that refuses a call votes immediately, and callbacks must not run under a mutex.
func (r *round) gate() { r.gated.Store(true) }

// open ends the gate and counts the deferred votes.
func (r *round) open() {
	r.mu.Lock()
	deferred := r.deferred
	r.deferred = nil
	r.gated.Store(false)
	r.mu.Unlock()
	r.countDeferred(deferred)
}

// deferVote defers a vote if the round is gated, and reports whether it is.
func (r *round) deferVote(index int, v node.Vote) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gated.Load() {
		r.deferred = append(r.deferred, deferredVote{index, v})
		return true
	}
	return false
}

func (r *round) countDeferred(deferred []deferredVote) {
	if len(deferred) > 0 {
		defer r.countDeferred(deferred[1:]) // also if the callback panics
		r.Vote(deferred[0].index, deferred[0].vote)
	}
}
