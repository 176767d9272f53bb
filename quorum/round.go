package quorum

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/node"
)

// round is one operation asked of all nodes: a result slot per node, a tally, and the moment of decision.
type round struct {
	ask
	q     *Quorum
	asked time.Time
	slept time.Duration // the sleepMeter's reading before asked
	calls []node.Call

	mu      sync.Mutex
	tally   tally
	called  bool // decided was called
	kept    []keptVote
	gated   atomic.Bool // votes are kept, see gate; cleared under mu
	widened bool        // the scout has voted, and the others have been asked
}

// ask is what a round asks.
type ask struct {
	op      *node.Op
	timeout time.Duration
	window  time.Duration
	void    *atomic.Bool
	// scout is the node that is asked first, and the others only if it does not deny; -1: all at once.
	scout int
	// fencing: the grants carry fencing tokens.
	fencing bool
	// faults take note of the votes, if set.
	faults *PermanentFailures
	// enough says when enough is known.
	enough func(*tally) bool
	// each may adjust the call to one node, or answer it by returning a vote.
	each func(seat int, c *node.Call) *node.Vote
	// decided is called once, without the round's mutex, as soon as enough is known.
	decided func(*round)
	// complete, if set, is called once, without the round's mutex, when every node has voted.
	complete func(*round)
}

func (q *Quorum) ask(a ask) *round {
	r := q.prepare(a)
	r.start()
	return r
}

// prepare makes a round, and starts its stopwatch.
func (q *Quorum) prepare(a ask) *round {
	n := len(q.nodes)
	r := &round{ask: a, q: q, asked: q.cfg.Clock.Now(), calls: make([]node.Call, n), tally: newTally(n, q.need)}
	r.slept = q.sleep.recent(r.asked)
	r.tally.fencing = a.fencing
	return r
}

// start asks the nodes.
func (r *round) start() {
	if r.scout >= 0 {
		r.submit(r.scout, r.asked)
		return
	}
	r.submitFrom(0, r.asked)
}

// submitFrom submits the calls for seat and all later seats, except the scout's. A node that refuses a call votes
// immediately, and the OnVote callback may panic. submitFrom then still submits the remaining calls.
func (r *round) submitFrom(seat int, now time.Time) {
	if seat == len(r.calls) {
		return
	}
	defer r.submitFrom(seat+1, now)
	if seat != r.scout {
		r.submit(seat, now)
	}
}

// submit asks one node, unless each answers for it.
func (r *round) submit(seat int, now time.Time) {
	c := &r.calls[seat]
	*c = node.Call{Request: node.Request{
		Op: r.op, Voter: r, Index: seat, Asked: now, Deadline: now.Add(r.timeout),
		Window: r.window, RequireTrusted: r.fencing, Cancelled: r.void,
	}}
	if r.each != nil {
		if v := r.each(seat, c); v != nil {
			r.Vote(seat, *v)
			return
		}
	}
	r.q.nodes[seat].Submit(c)
}

// keptVote is a vote that arrived while the round was gated.
type keptVote struct {
	seat int
	vote node.Vote
}

// gate makes the round keep votes, uncounted, until open is called. So a round can be started with a mutex held: a node
// that refuses a call votes immediately, and callbacks must not run under a mutex.
func (r *round) gate() { r.gated.Store(true) }

// open ends the gate and counts the votes that were kept.
func (r *round) open() {
	r.mu.Lock()
	kept := r.kept
	r.kept = nil
	r.gated.Store(false)
	r.mu.Unlock()
	r.countKept(kept)
}

// keep keeps a vote if the round is gated, and reports whether it is.
func (r *round) keep(seat int, v node.Vote) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gated.Load() {
		r.kept = append(r.kept, keptVote{seat, v})
		return true
	}
	return false
}

func (r *round) countKept(kept []keptVote) {
	if len(kept) > 0 {
		defer r.countKept(kept[1:]) // also if the callback panics
		r.Vote(kept[0].seat, kept[0].vote)
	}
}

// Vote counts a node's answer. It is called by the nodes, once for each call.
func (r *round) Vote(seat int, v node.Vote) {
	if r.gated.Load() && r.keep(seat, v) {
		return
	}
	defer r.count(seat, v) // also if the callback panics
	if r.q.cfg.OnVote != nil && (v.Err != nil || !v.Unsent) {
		r.q.cfg.OnVote(r.q.nodes[seat].Name(), r.op, v)
	}
}

// count counts a vote. It asks the other nodes after the scout, and calls decided when the round is decided.
func (r *round) count(seat int, v node.Vote) {
	r.mu.Lock()
	known := len(r.tally.twins)
	s := r.tally.add(seat, v)
	twins := r.tally.twins[known:]
	if r.faults != nil {
		r.faults.note(&r.tally, seat)
	}
	var done, widen bool
	switch {
	case r.called:
	case r.scout == seat && !r.widened:
		// The scout's no is the answer. Its silence is not: the others can make a majority without it.
		done = v.Verdict == node.Denied || s == lost
		widen = !done && len(r.calls) > 1
		done = done || s == won && !widen // of one node
		r.widened = widen
	default:
		done = r.enough(&r.tally) || r.tally.complete()
	}
	r.called = r.called || done
	complete := r.complete != nil && r.tally.complete()
	r.mu.Unlock()

	for _, pair := range twins {
		r.q.tellTwins(pair)
	}
	if widen {
		r.submitFrom(0, r.q.cfg.Clock.Now())
	}
	if done {
		r.decided(r)
	}
	if complete {
		r.complete(r)
	}
}

// wasAsked reports whether the node was asked: with a scout that denied, only the scout was. It is called with the round's
// mutex.
func (r *round) wasAsked(seat int) bool { return r.scout < 0 || r.scout == seat || r.widened }

// look calls f with the tally, under the round's mutex.
func (r *round) look(f func(*tally)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.tally)
}

// errors gathers one *NodeError for each node that failed so far; nil if none did.
func (r *round) errors() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var failed []*NodeError
	for i, v := range r.tally.votes {
		if v.Err != nil {
			failed = append(failed, &NodeError{Node: r.q.nodes[i].Name(), Op: r.op.Name, Err: v.Err})
		}
	}
	return Gather(failed)
}
