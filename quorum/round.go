package quorum

import (
	"context"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/wire"
)

// round asks all nodes for one operation. It sends the requests, counts the votes, and calls handler.finish once they
// decide the round.
type round struct {
	wire.Request
	handler handler
	q       *Quorum
	calls   []wire.Call

	mu      sync.Mutex
	decider decider
}

// handler prepares the calls of a round and handles the votes. The round calls prepare and voted for each node, from
// several goroutines at the same time.
type handler interface {
	// prepare sets the fields of a call that are its node's own. The Request is shared and must not change. If prepare
	// returns a vote, the node is not asked.
	prepare(index int, c *wire.Call) *wire.Vote
	// voted records a node's vote on a call, and returns the vote that counts. It is called for every vote, also after
	// the decision.
	voted(index int, c *wire.Call, v wire.Vote) wire.Vote
	// counted acts on a vote once the tally has it, also after the decision. The round's mutex is held. duplicates are
	// the pairs of nodes that the vote has shown to be one server.
	counted(t *tally, index int, c *wire.Call, duplicates [][2]int)
	// decides reports whether the votes decide the round. The votes of all nodes always do.
	decides(t *tally) bool
	// finish acts on the decision. It is called once.
	finish(r *round)
}

// byMajority has the defaults of a handler: a majority that grants or denies decides.
type byMajority struct{}

func (byMajority) prepare(int, *wire.Call) *wire.Vote               { return nil }
func (byMajority) voted(_ int, _ *wire.Call, v wire.Vote) wire.Vote { return v }
func (byMajority) counted(*tally, int, *wire.Call, [][2]int)        {}
func (byMajority) decides(t *tally) bool                            { return t.majorityAgrees() }
func (byMajority) finish(*round)                                    {}

// awaited is a handler whose decision is waited for.
type awaited struct {
	byMajority
	done chan struct{} // closed at the decision
}

func newAwaited() awaited { return awaited{done: make(chan struct{})} }

func (a awaited) finish(*round) { close(a.done) }

// wait returns nil at the decision, or why the wait ended before.
func (a awaited) wait(ctx context.Context, q *Quorum) error {
	select {
	case <-a.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-q.cfg.Closing:
		return ErrClosing
	}
}

// ask starts a round that asks all nodes at once.
func (q *Quorum) ask(req *wire.Request, timeout time.Duration, h handler) *round {
	r := q.newRound(req, timeout, h)
	r.start()
	return r
}

// newRound makes a round of a copy of req, and sets its Asked and Deadline. The caller may set Op and decider.first
// before start.
func (q *Quorum) newRound(req *wire.Request, timeout time.Duration, h handler) *round {
	r := allocateRound(len(q.nodes), q.need)
	r.Request, r.handler, r.q = *req, h, q
	r.Voter = r
	r.stamp(&r.Request, timeout)
	r.decider.first = NoFirst
	return r
}

// stamp sets the times of a request that is sent now.
func (r *round) stamp(req *wire.Request, timeout time.Duration) {
	req.Asked = r.q.cfg.Clock.Now()
	req.Deadline = req.Asked.Add(timeout)
}

// start asks the first node, or all nodes.
func (r *round) start() {
	if first := r.decider.first; first != NoFirst {
		r.submit(int(first), &r.Request)
		return
	}
	r.submitFrom(0, &r.Request)
}

// submitRest asks all nodes but the first one, with new times. It copies the request, because the first node may still
// use the old one.
func (r *round) submitRest() {
	later := r.Request
	r.stamp(&later, r.Deadline.Sub(r.Asked))
	r.submitFrom(0, &later)
}

// submitFrom asks the node at index and all later nodes, except the first one. If a submit panics, the deferred call
// asks the nodes after it: a node that refuses a call votes at once, and the OnVote callback may panic. One recursive
// call for each node would be simpler, but would grow the stack in each round.
func (r *round) submitFrom(index int, req *wire.Request) {
	defer func() {
		if index < len(r.calls) {
			r.submitFrom(index, req)
		}
	}()
	for index < len(r.calls) {
		i := index
		index++ // before submit, which may panic
		if i != int(r.decider.first) {
			r.submit(i, req)
		}
	}
}

// submit asks one node. It sets the fields of the call one by one: a literal would be built on the stack, which then
// would have to grow for each round.
func (r *round) submit(index int, req *wire.Request) {
	c := &r.calls[index]
	c.Request, c.Index = req, uint16(index)
	if v := r.handler.prepare(index, c); v != nil {
		r.Vote(index, *v)
		return
	}
	r.q.nodes[index].Submit(c)
}

// Vote records and counts a vote. A node calls it once for its call, or submit does with the vote of handler.prepare.
func (r *round) Vote(index int, v wire.Vote) {
	v = r.handler.voted(index, &r.calls[index], v)
	fromPrepare := v.Unsent && v.Err == nil // OnVote gets the nodes' votes only; a node's Unsent vote has an Err
	if r.q.cfg.OnVote != nil && !fromPrepare {
		defer r.count(index, &v) // also if the callback panics
		r.q.cfg.OnVote(r.q.nodes[index].Name(), r.Op, v)
		return
	}
	r.count(index, &v)
}

// count counts a vote and acts on the result. handler.counted runs under the mutex, so that Lease.reserve sees grants
// and duplicates in the order in which they were counted.
func (r *round) count(index int, v *wire.Vote) {
	r.mu.Lock()
	before := len(r.decider.tally.duplicates)
	decided, askRest := r.decider.add(index, v, r.handler.decides)
	duplicates := r.decider.tally.duplicates[before:] // those that this vote has shown
	r.handler.counted(&r.decider.tally, index, &r.calls[index], duplicates)
	r.mu.Unlock()

	for _, pair := range duplicates {
		r.q.reportDuplicate(pair)
	}
	if askRest {
		r.submitRest()
	}
	if decided {
		r.handler.finish(r)
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
			failed = append(failed, &NodeError{Node: r.q.nodes[i].Name(), Op: r.Op.Name, Err: v.Err})
		}
	}
	return JoinNodeErrors(failed)
}

// skipped returns the vote for a node to which nothing is sent.
func skipped() *wire.Vote { return &wire.Vote{Verdict: wire.Failed, Unsent: true} }

// allocateRound returns a round with the memory for its calls and votes. For up to nine nodes, it is one allocation,
// which is most of what a lock allocates.
func allocateRound(nodes, need int) *round {
	switch {
	case nodes <= 5:
		m := new(struct {
			round
			calls [5]wire.Call
			votes [5]wire.Vote
		})
		return m.round.init(m.calls[:nodes], m.votes[:nodes], need)
	case nodes <= 9:
		m := new(struct {
			round
			calls [9]wire.Call
			votes [9]wire.Vote
		})
		return m.round.init(m.calls[:nodes], m.votes[:nodes], need)
	default:
		return new(round).init(make([]wire.Call, nodes), make([]wire.Vote, nodes), need)
	}
}

// init sets the memory of a round, and returns the round.
func (r *round) init(calls []wire.Call, votes []wire.Vote, need int) *round {
	r.calls, r.decider.tally = calls, tally{votes: votes, need: need}
	return r
}
