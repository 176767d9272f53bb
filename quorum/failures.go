package quorum

import (
	"errors"
	"sync/atomic"

	"github.com/redlock-go/redlock/node"
)

// PermanentFailures records which nodes failed their last acquire with an error that only an operator can fix. Every
// caller has its own, because a right may be missing for one name only. It spans all attempts of the caller, because a
// round may be decided before every node has voted. The zero value is an empty record.
type PermanentFailures struct {
	failed atomic.Pointer[[]atomic.Bool] // by node; nil: no node has failed
}

// record records a vote of an acquire. Other operations do not count: a node that refuses SET may answer a release.
func (f *PermanentFailures) record(t *tally, index int) {
	f.set(t, index)
	if len(t.duplicates) > 0 { // addDuplicate may have turned the other node's vote into ErrSameServer
		for i := range t.votes {
			if t.hasVoted(i) {
				f.set(t, i)
			}
		}
	}
}

// set records the vote that the tally has of one node.
func (f *PermanentFailures) set(t *tally, index int) {
	err := t.votes[index].Err
	if errors.Is(err, node.ErrDropped) { // not sent: says nothing about the node
		return
	}
	permanent := err != nil && (errors.Is(err, ErrSameServer) || node.Permanent(err))
	failed := f.failed.Load()
	if failed == nil {
		if !permanent {
			return
		}
		all := make([]atomic.Bool, len(t.votes))
		f.failed.CompareAndSwap(nil, &all) // rounds of one caller may overlap
		failed = f.failed.Load()
	}
	(*failed)[index].Store(permanent)
}

// permanent reports whether the nodes that did not fail permanently are fewer than need, a majority.
func (f *PermanentFailures) permanent(need int) bool {
	failed := f.failed.Load()
	if failed == nil {
		return false
	}
	healthy := 0
	for i := range *failed {
		if !(*failed)[i].Load() {
			healthy++
		}
	}
	return healthy < need
}
