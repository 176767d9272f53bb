package quorum

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/node"
)

// Residue records on which nodes the probes of one caller may have left something, so that it can be withdrawn.
type Residue struct {
	left     func(node.Vote) bool // reports whether an answered probe left something
	canceled atomic.Bool          // set by Withdraw: probes that were not written yet are dropped
	since    time.Time            // when the first probe was submitted

	mu    sync.Mutex
	nodes []remnant
}

// remnant records what probes may have left on one node.
type remnant struct {
	written atomic.Bool // a probe may have been written to the node

	// Residue.mu guards the following.

	inFlight int  // probes without a vote
	left     bool // a probe left something
	maybe    bool // a probe was not answered: it may have left something, or may still do so
}

// NewResidue returns a Residue for a caller that has not probed yet. left reports whether an answered probe left
// something on its node.
func (q *Quorum) NewResidue(left func(node.Vote) bool) *Residue {
	return &Residue{left: left, nodes: make([]remnant, len(q.nodes))}
}

// begin records when the first probe was submitted.
func (res *Residue) begin(now time.Time) {
	if res.since.IsZero() {
		res.since = now
	}
}

// record makes res record the vote of c, even if it arrives after the round.
func (res *Residue) record(index int, c *node.Call) {
	s := &res.nodes[index]
	c.Canceled, c.Written = &res.canceled, &s.written
	c.Voter = &probe{res: res, round: c.Voter}
	res.mu.Lock()
	s.inFlight++
	res.mu.Unlock()
}

// probe records a vote and passes it on.
type probe struct {
	res   *Residue
	round node.Voter
}

func (p *probe) Vote(index int, v node.Vote) {
	p.res.mu.Lock()
	s := &p.res.nodes[index]
	s.inFlight--
	switch {
	case v.Verdict.Answered():
		s.left = s.left || p.res.left(v)
	case !v.Unsent:
		s.maybe = true
	}
	p.res.mu.Unlock()
	p.round.Vote(index, v)
}

// Left reports whether the votes so far show that a probe left something on any node.
func (res *Residue) Left() bool {
	res.mu.Lock()
	defer res.mu.Unlock()
	for i := range res.nodes {
		if res.nodes[i].left {
			return true
		}
	}
	return false
}

// Withdraw sends op, which removes what the probes left, to every node on which they may have left something. It does
// not wait. It repeats op until the node answers: a frozen node executes the probe late, and op after it. life is the
// TTL of what a probe leaves. The caller must not probe with res again.
//
// If the operations of a lease remove what the probes left, pass that lease; otherwise nil. Withdraw then skips the
// nodes that granted the lease. It also skips those that have answered every probe but have not yet answered the
// acquisition.
func (q *Quorum) Withdraw(op *node.Op, timeout, life time.Duration, res *Residue, lease *Lease) {
	res.canceled.Store(true)
	if res.empty() {
		return
	}
	q.ask(question{
		op: op, timeout: timeout, first: NoFirst,
		enough: func(*tally) bool { return false },
		each: func(index int, c *node.Call) *node.Vote {
			keys := unsent
			if lease != nil {
				keys = lease.keysOn(index)
			}
			res.mu.Lock()
			defer res.mu.Unlock()
			s := &res.nodes[index]
			c.Delivery.KeyTTL, c.Delivery.FirstAsked = life, res.since
			switch {
			case keys == present:
				return skipped()
			case s.maybe || s.inFlight > 0:
				c.Delivery.Durable, c.Delivery.OnlyIfWritten = true, &s.written
			case s.left && keys != unclear:
				c.Delivery.Durable, c.Delivery.ExpiresAt = true, c.Asked.Add(life)
			default:
				return skipped()
			}
			return nil
		},
	})
}

// empty reports whether it is certain that the probes left nothing.
func (res *Residue) empty() bool {
	res.mu.Lock()
	defer res.mu.Unlock()
	for i := range res.nodes {
		if s := &res.nodes[i]; s.left || s.maybe || s.inFlight > 0 {
			return false
		}
	}
	return true
}
