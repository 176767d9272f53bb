package quorum

import (
	"time"

	"github.com/redlock-go/redlock/node"
)

// DeniedError reports that another holder has the lock.
type DeniedError struct {
	// Wait is the time until the keys of the present holder expire; 0 if no node reported it.
	Wait time.Duration
	// By is the Data of a node that denied; nil if there is none.
	By any
	// Alone reports whether only the first node was asked: it denied.
	Alone bool

	round *round
}

// Votes returns the votes of the nodes that have answered so far, in the order of the nodes.
func (e *DeniedError) Votes() (votes []node.Vote) {
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
