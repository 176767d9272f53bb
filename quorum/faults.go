package quorum

import (
	"errors"
	"sync/atomic"

	"github.com/redlock-go/redlock/node"
)

// PermanentFailures are what the acquires of one caller have learned of the nodes' state of repair: whose last word was a failure that
// a person must mend. They outlive a round, which is decided before every node has spoken. Another caller's are its own:
// a right may be missing for one name only.
type PermanentFailures struct {
	need  int
	seats []atomic.Bool
}

// NewPermanentFailures returns the PermanentFailures of a caller who knows nothing yet.
func (q *Quorum) NewPermanentFailures() *PermanentFailures {
	return &PermanentFailures{need: q.need, seats: make([]atomic.Bool, len(q.nodes))}
}

// note takes a vote of an acquire. Other operations say nothing of it: a node that refuses SET may well answer the release.
func (f *PermanentFailures) note(t *tally, seat int) {
	f.mark(seat, t.votes[seat])
	if len(t.twins) > 0 { // the other's vote may have changed
		for i, v := range t.votes {
			if t.voted[i] {
				f.mark(i, v)
			}
		}
	}
}

func (f *PermanentFailures) mark(seat int, v node.Vote) {
	if errors.Is(v.Err, node.ErrDropped) {
		return
	}
	f.seats[seat].Store(v.Err != nil && (errors.Is(v.Err, ErrSameServer) || node.Permanent(v.Err)))
}

// stuck reports whether a person must mend so many nodes that the rest is no majority.
func (f *PermanentFailures) stuck() bool {
	sound := 0
	for i := range f.seats {
		if !f.seats[i].Load() {
			sound++
		}
	}
	return sound < f.need
}
