package quorum

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/node"
)

// round runs one operation on all nodes. It sends the requests, counts the votes, and calls onDecided once.
type round struct {
	question
	q     *Quorum
	asked time.Time
	calls []node.Call

	mu      sync.Mutex
	decider decider
}

// question is what a round asks. The fields without a comment are those of [node.Request].
type question struct {
	op             *node.Op
	timeout        time.Duration // from asked to the deadline
	connect        time.Duration
	window         time.Duration
	canceled       *atomic.Bool
	requireTrusted bool
	ended          func() bool
	// first is the node that is asked before the others. They are asked unless it denies. With NoFirst, all nodes are
	// asked at once.
	first int
	// failures, if set, records the votes.
	failures *PermanentFailures
	// enough reports whether the votes decide the round.
	enough func(*tally) bool
	// prepareCall, if set, may change the call to one node. If it returns a vote, the node is not asked.
	prepareCall func(index int, c *node.Call) *node.Vote
	// onDecided, if set, is called once, as soon as the round is decided.
	onDecided func(*round)
	// done, if set, is closed as soon as the round is decided.
	done chan struct{}

	// lease, if set, is the lease whose keys the operation sets. onAsk changes its keyState of a node when the node is
	// asked. onVote changes it when the node votes, even after the round is decided.
	lease  *Lease
	onAsk  func(*keyState)
	onVote func(s *keyState, v node.Vote)
	// releases, if set, is the lease that the operation releases.
	releases *Lease
}

// newRound returns a round with the memory for its calls and votes. For up to nine nodes, it is one allocation.
func newRound(nodes, need int) *round {
	switch {
	case nodes <= 5:
		m := new(struct {
			round
			calls [5]node.Call
			votes [5]ballot
		})
		return m.round.init(m.calls[:nodes], m.votes[:nodes], need)
	case nodes <= 9:
		m := new(struct {
			round
			calls [9]node.Call
			votes [9]ballot
		})
		return m.round.init(m.calls[:nodes], m.votes[:nodes], need)
	default:
		return new(round).init(make([]node.Call, nodes), make([]ballot, nodes), need)
	}
}

// init sets the memory of a round, and returns the round.
func (r *round) init(calls []node.Call, votes []ballot, need int) *round {
	r.calls, r.decider.tally = calls, tally{votes: votes, need: need}
	return r
}

// ask starts a round.
func (q *Quorum) ask(what question) *round {
	r := q.prepare(what)
	r.start()
	return r
}

// prepare makes a round and starts its stopwatch.
func (q *Quorum) prepare(what question) *round {
	r := newRound(len(q.nodes), q.need)
	r.question, r.q, r.asked = what, q, q.cfg.Clock.Now()
	r.decider.first, r.decider.enough = what.first, what.enough
	return r
}

// start asks the first node, or all nodes.
func (r *round) start() {
	if r.first != NoFirst {
		r.submit(r.first, r.asked)
		return
	}
	r.submitFrom(0, r.asked)
}

// submitFrom asks the node at index and all later nodes, except r.first. It asks them even if submitting to one panics:
// a node that refuses a call votes at once, and the OnVote callback may panic.
func (r *round) submitFrom(index int, now time.Time) {
	if index == len(r.calls) {
		return
	}
	defer r.submitFrom(index+1, now)
	if index != r.first {
		r.submit(index, now)
	}
}

// submit asks one node.
func (r *round) submit(index int, now time.Time) {
	c := &r.calls[index]
	*c = node.Call{Request: node.Request{
		Op: r.op, Voter: r, Index: index, Asked: now, Deadline: now.Add(r.timeout), Connect: r.connect,
		Window: r.window, Canceled: r.canceled, RequireTrusted: r.requireTrusted, Ended: r.ended,
	}}
	if r.lease != nil {
		r.lease.beginCall(index, c, r.onAsk)
	}
	if r.prepareCall != nil {
		if v := r.prepareCall(index, c); v != nil {
			r.Vote(index, *v)
			return
		}
	}
	r.q.nodes[index].Submit(c)
}

// Vote records and counts a node's vote. The nodes call it once for each call.
func (r *round) Vote(index int, v node.Vote) {
	switch {
	case r.lease != nil:
		v = r.lease.recordVote(index, v, r.calls[index].Asked, r.onVote)
	case r.releases != nil && v.Guarded:
		v = r.releases.guardedVote(index, v)
	}
	r.receive(index, v)
}

// receive counts a vote, and calls OnVote.
func (r *round) receive(index int, v node.Vote) {
	defer r.count(index, v) // also if the callback panics
	if r.q.cfg.OnVote != nil && (v.Err != nil || !v.Unsent) {
		r.q.cfg.OnVote(r.q.nodes[index].Name(), r.op, v)
	}
}

// count counts a vote and acts on the result. It reserves nodes with the mutex held, so that no reservation follows its
// cancellation, and calls back without it.
func (r *round) count(index int, v node.Vote) {
	r.mu.Lock()
	known := len(r.decider.tally.duplicates)
	decided, askRest := r.decider.add(index, v)
	granted, duplicates := r.decider.tally.votes[index].Verdict == node.Granted, r.decider.tally.duplicates[known:]
	if r.failures != nil {
		r.failures.record(&r.decider.tally, index)
	}
	if r.lease != nil && granted {
		r.lease.reserve(index, r.calls[index].Asked)
	}
	if r.lease != nil {
		r.lease.cancelReservations(duplicates)
	}
	r.mu.Unlock()

	for _, pair := range duplicates {
		r.q.reportDuplicate(pair)
	}
	if askRest {
		r.submitFrom(0, r.q.cfg.Clock.Now())
	}
	if decided {
		r.signalDecided()
	}
}

// signalDecided closes done and calls onDecided.
func (r *round) signalDecided() {
	if r.done != nil {
		close(r.done)
	}
	if r.onDecided != nil {
		r.onDecided(r)
	}
}

// withTally calls f with the tally, under the round's mutex.
func (r *round) withTally(f func(*tally)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.decider.tally)
}

// errors returns one error with a *NodeError for each node that has failed so far; nil if none has.
func (r *round) errors() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var failed []*NodeError
	for i, v := range r.decider.tally.votes {
		if v.Err != nil {
			failed = append(failed, &NodeError{Node: r.q.nodes[i].Name(), Op: r.op.Name, Err: v.Err})
		}
	}
	return JoinNodeErrors(failed)
}

// skipped returns the vote for a node to which nothing is sent.
func skipped() *node.Vote { return &node.Vote{Verdict: node.Failed, Unsent: true} }
