package quorum

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/node"
)

// Residue records what probes may have left on the nodes, so that it can be withdrawn. One caller uses it for all its
// probes.
type Residue struct {
	left  func(node.Vote) bool // reports whether an answered probe left something
	void  atomic.Bool          // drops probes that were not written yet
	since time.Time            // when the first probe was asked

	mu    sync.Mutex
	seats []remnant
}

// remnant is what probes may have left on one node.
type remnant struct {
	wrote atomic.Bool // a probe was written to the node, or may have been
	open  int         // probes without a vote; guarded by Residue.mu, as all below
	left  bool        // a probe left something
	maybe bool        // a probe was not answered, and may have left something or may do so yet
}

// NewResidue returns a Residue of a caller that has not probed yet. left reports whether an answered probe left something
// on its node.
func (q *Quorum) NewResidue(left func(node.Vote) bool) *Residue {
	return &Residue{left: left, seats: make([]remnant, len(q.nodes))}
}

// Probe is [Quorum.Read] for an op that may leave something on a node, which res records.
func (q *Quorum) Probe(ctx context.Context, op *node.Op, timeout time.Duration, clear bool, res *Residue) ([]Answer, error) {
	if res.since.IsZero() {
		res.since = q.cfg.Clock.Now()
	}
	return q.read(ctx, op, timeout, clear, res)
}

// record has the call's vote recorded, however late it comes.
func (res *Residue) record(seat int, c *node.Call) {
	s := &res.seats[seat]
	c.Void, c.Wrote = &res.void, &s.wrote
	c.Voter = &probe{res: res, round: c.Voter}
	res.mu.Lock()
	s.open++
	res.mu.Unlock()
}

// probe records a vote and passes it on.
type probe struct {
	res   *Residue
	round node.Voter
}

func (p *probe) Vote(seat int, v node.Vote) {
	p.res.mu.Lock()
	s := &p.res.seats[seat]
	s.open--
	switch {
	case v.Verdict.Answered():
		s.left = s.left || p.res.left(v)
	case !v.Unsent:
		s.maybe = true
	}
	p.res.mu.Unlock()
	p.round.Vote(seat, v)
}

// Left reports whether the probes left something on any node, as far as their votes are known.
func (res *Residue) Left() bool {
	res.mu.Lock()
	defer res.mu.Unlock()
	for i := range res.seats {
		if res.seats[i].left {
			return true
		}
	}
	return false
}

// Withdraw asks every node on which the probes may have left something to take it back with op, and does not wait. A node
// that does not answer is asked until it does: a frozen one executes the probe late, and then the withdrawal after it.
// What a probe leaves lives for life. No probe may follow.
//
// If the operations of a lease also remove what the probes left, pass the lease; else nil. Withdraw then leaves out the nodes
// that granted it, and those that have answered every probe and not yet the acquisition.
func (q *Quorum) Withdraw(op *node.Op, timeout, life time.Duration, res *Residue, lease *Lease) {
	res.void.Store(true)
	if res.empty() {
		return
	}
	q.ask(ask{
		op: op, timeout: timeout, scout: Everywhere,
		enough:  func(*tally) bool { return false },
		decided: func(*round) {},
		each: func(seat int, c *node.Call) *node.Vote {
			at := unsent
			if lease != nil {
				at = lease.place(seat)
			}
			res.mu.Lock()
			defer res.mu.Unlock()
			s := &res.seats[seat]
			c.Linger, c.Since = life, res.since
			switch {
			case at == placed:
				return skipped()
			case s.maybe || s.open > 0:
				c.Pursue, c.Needs = true, &s.wrote
			case s.left && at != doubtful:
				c.Pursue, c.GiveUp = true, c.Asked.Add(life)
			default:
				return skipped()
			}
			return nil
		},
	})
}

// skipped is the vote of a node that is not asked.
func skipped() *node.Vote { return &node.Vote{Verdict: node.Failed, Unsent: true} }

// empty reports whether the probes have certainly left nothing.
func (res *Residue) empty() bool {
	res.mu.Lock()
	defer res.mu.Unlock()
	for i := range res.seats {
		if s := &res.seats[i]; s.left || s.maybe || s.open > 0 {
			return false
		}
	}
	return true
}
