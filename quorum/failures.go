package quorum

import (
	"errors"
	"sync/atomic"

	"github.com/redlock-go/redlock/node"
)

// PermanentFailures records which nodes failed their last acquire with an error that only an operator can fix. Every
// caller has its own, because a right may be missing for one name only. It spans all attempts of the caller, because a
// round may be decided before every node has voted.
type PermanentFailures struct {
	need   int
	failed []atomic.Bool // by node
}

// NewPermanentFailures returns an empty record.
func (q *Quorum) NewPermanentFailures() *PermanentFailures {
	return &PermanentFailures{need: q.need, failed: make([]atomic.Bool, len(q.nodes))}
}

// record records a vote of an acquire. Other operations do not count: a node that refuses SET may answer a release.
func (f *PermanentFailures) record(t *tally, index int) {
	f.set(index, t.votes[index])
	if len(t.duplicates) > 0 { // the vote of the other node may have changed
		for i, v := range t.votes {
			if t.voted[i] {
				f.set(i, v)
			}
		}
	}
}

func (f *PermanentFailures) set(index int, v node.Vote) {
	if errors.Is(v.Err, node.ErrDropped) {
		return
	}
	f.failed[index].Store(v.Err != nil && (errors.Is(v.Err, ErrSameServer) || node.Permanent(v.Err)))
}

// permanent reports whether the nodes that did not fail permanently are too few for a majority.
func (f *PermanentFailures) permanent() bool {
	healthy := 0
	for i := range f.failed {
		if !f.failed[i].Load() {
			healthy++
		}
	}
	return healthy < f.need
}
