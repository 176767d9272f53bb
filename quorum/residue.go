package quorum

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/node"
)

// Residue records on which nodes the probes of one caller may have left something, so that it can be withdrawn.
type Residue struct {
	left  func(node.Vote) bool // reports whether an answered probe left something
	void  atomic.Bool          // set by Withdraw: probes that were not written yet are dropped
	since time.Time            // when the first probe was submitted

	mu    sync.Mutex
	seats []remnant
}

// remnant is what probes may have left on one node.
type remnant struct {
	wrote atomic.Bool // a probe may have been written to the node
	open  int         // how many probes have no vote yet; guarded by Residue.mu, as all below
	left  bool        // a probe left something
	maybe bool        // a probe was not answered: it may have left something, or may still do so
}

// NewResidue returns a Residue for a caller that has not probed yet. left reports whether an answered probe left
// something on its node.
func (q *Quorum) NewResidue(left func(node.Vote) bool) *Residue {
	return &Residue{left: left, seats: make([]remnant, len(q.nodes))}
}

// begin records when the first probe was submitted.
func (res *Residue) begin(now time.Time) {
	if res.since.IsZero() {
		res.since = now
	}
}

// record makes res record the vote of c, even if it arrives after the round.
func (res *Residue) record(seat int, c *node.Call) {
	s := &res.seats[seat]
	c.Cancelled, c.Written = &res.void, &s.wrote
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

// Left reports whether the votes so far show that a probe left something on any node.
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

// Withdraw sends op, which removes what the probes left, to every node on which they may have left something. It does
// not wait. It repeats op until the node answers: a frozen node executes the probe late, and op after it. life is the
// TTL of what a probe leaves. The caller must not probe with res again.
//
// If the operations of a lease remove what the probes left, pass that lease; otherwise nil. Withdraw then skips the
// nodes that granted the lease. It also skips those that have answered every probe but have not yet answered the
// acquisition.
func (q *Quorum) Withdraw(op *node.Op, timeout, life time.Duration, res *Residue, lease *Lease) {
	res.void.Store(true)
	if res.empty() {
		return
	}
	q.ask(ask{
		op: op, timeout: timeout, scout: NoFirst,
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
			c.Delivery.KeyTTL, c.Delivery.FirstAsked = life, res.since
			switch {
			case at == placed:
				return skipped()
			case s.maybe || s.open > 0:
				c.Delivery.Durable, c.Delivery.OnlyIfWritten = true, &s.wrote
			case s.left && at != doubtful:
				c.Delivery.Durable, c.Delivery.ExpiresAt = true, c.Asked.Add(life)
			default:
				return skipped()
			}
			return nil
		},
	})
}

// skipped returns the vote for a node to which nothing is sent.
func skipped() *node.Vote { return &node.Vote{Verdict: node.Failed, Unsent: true} }

// empty reports whether it is certain that the probes left nothing.
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
