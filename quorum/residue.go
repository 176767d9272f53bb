package quorum

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/internal/wire"
)

// Residue records on which nodes the probes of one waiter may have left its intent, so that it can be withdrawn.
type Residue struct {
	leftIntent func(wire.Vote) bool // reports whether an answered probe has left the intent on its node
	canceled   atomic.Bool          // set by Withdraw: the nodes drop probes that are not written yet
	firstAsked time.Time            // when the first probe was submitted; only the waiter's goroutine uses it

	mu    sync.Mutex
	nodes []intentState
}

// intentState records whether probes left the intent on one node.
type intentState struct {
	written atomic.Bool // a probe may have been written to the node

	// Residue.mu guards the following.

	inFlight      int  // probes without a vote
	hasIntent     bool // a probe left the intent
	mayHaveIntent bool // a probe was not answered: it may have left the intent, or may yet do so
}

// NewResidue returns a Residue for a waiter that has not probed yet. leftIntent reports whether an answered probe left
// the intent on its node.
func (q *Quorum) NewResidue(leftIntent func(wire.Vote) bool) *Residue {
	return &Residue{leftIntent: leftIntent, nodes: make([]intentState, len(q.nodes))}
}

// begin records when the first probe was submitted.
func (res *Residue) begin(now time.Time) {
	if res.firstAsked.IsZero() {
		res.firstAsked = now
	}
}

// submitted records that a node is asked to probe.
func (res *Residue) submitted(index int, c *wire.Call) {
	s := &res.nodes[index]
	c.Written = &s.written
	res.mu.Lock()
	defer res.mu.Unlock()
	s.inFlight++
}

// voted records the vote on a probe.
func (res *Residue) voted(index int, v wire.Vote) {
	res.mu.Lock()
	defer res.mu.Unlock()
	s := &res.nodes[index]
	s.inFlight--
	switch {
	case v.Verdict.Answered():
		s.hasIntent = s.hasIntent || res.leftIntent(v)
	case !v.Unsent:
		s.mayHaveIntent = true
	}
}

// LeftAny reports whether the votes so far show that a probe left the intent on any node.
func (res *Residue) LeftAny() bool {
	res.mu.Lock()
	defer res.mu.Unlock()
	for i := range res.nodes {
		if res.nodes[i].hasIntent {
			return true
		}
	}
	return false
}

// Withdraw sends op, which removes the intent, to every node on which probes may have left it. It does not wait. Each
// node repeats op until its master answers: a frozen master may execute the probe late, but then executes op after it.
// life is the TTL of the intent. The caller must not probe with res again.
//
// lease is the lease that the waiter acquired, if acquiring it removes the intent; otherwise nil. Withdraw skips the
// nodes that are known to have granted it, unless a probe that was not answered may still arrive there.
func (q *Quorum) Withdraw(op *wire.Op, timeout, life time.Duration, res *Residue, lease *Lease) {
	res.canceled.Store(true)
	if res.empty() {
		return
	}
	req := &wire.Request{Op: op, KeyTTL: life, FirstAsked: res.firstAsked}
	q.ask(req, timeout, &withdrawing{res: res, lease: lease})
}

// withdrawing is the handler of a Withdraw.
type withdrawing struct {
	byMajority
	res   *Residue
	lease *Lease
}

func (h *withdrawing) prepare(index int, c *wire.Call) *wire.Vote {
	intent := h.res.intentOn(index)
	if intent == present && h.lease != nil && h.lease.keysOn(index) == present {
		return skipped() // the acquire has removed it
	}
	return undo(c, intent, &h.res.nodes[index].written)
}

// intentOn returns whether a node has the intent.
func (res *Residue) intentOn(index int) presence {
	res.mu.Lock()
	defer res.mu.Unlock()
	switch s := &res.nodes[index]; {
	case s.mayHaveIntent || s.inFlight > 0:
		return unclear
	case s.hasIntent:
		return present
	default:
		return unsent
	}
}

// empty reports whether the probes certainly left no intent.
func (res *Residue) empty() bool {
	for i := range res.nodes {
		if res.intentOn(i) != unsent {
			return false
		}
	}
	return true
}
