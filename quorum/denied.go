package quorum

import (
	"time"

	"github.com/redlock-go/redlock/internal/wire"
)

// DeniedError reports that a node denied the acquire: a majority answered and at least one node denied, or the first
// node denied and no other was asked. Another client has the lock, or contends for it.
type DeniedError struct {
	// Wait is the longest time that a node reported until the keys in the way expire; 0 if no node reported one.
	Wait time.Duration
	// By is the Data of that denial; nil if it has none.
	By any
	// Alone reports whether only the first node was asked: it denied.
	Alone bool

	round *round
}

// Votes returns the votes of the nodes that have answered so far, in the order of the nodes.
func (e *DeniedError) Votes() (votes []wire.Vote) {
	e.round.withTally(func(t *tally) {
		for _, v := range t.votes {
			if v.Verdict.Answered() {
				votes = append(votes, v.Vote)
			}
		}
	})
	return votes
}

func (e *DeniedError) Error() string { return "held by another" }
