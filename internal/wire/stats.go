package wire

import (
	"errors"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/histogram"
	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/node"
)

// Stats is what a node counted, and its present state, as far as it is known without asking the master.
type Stats struct {
	// Suspect is the failure of a suspect master; nil if it is not suspect.
	Suspect error
	// Barred is why the master gets no acquires: it is a replica, its address leads to several servers, or it refuses
	// the scripts that would release them; nil if it gets some.
	Barred error
	// Server answered last; nil if none has answered yet.
	Server *link.Server
	// Votes has the number of votes by [Verdict], without those that Dropped counts, and without denials that refuse
	// nothing.
	Votes [Granted + 1]int64
	// Dropped is how many requests were canceled, or late, before they were written.
	Dropped int64
	// Latency has the time from the request to the vote, of the votes with which the master answered.
	Latency histogram.Histogram
	// Queued requests wait to be written. InFlight ones were written and have no reply yet.
	Queued, InFlight int
	// Batches is how often requests were written, and Requests how many were written in all.
	Batches, Requests int64
	// Unconfirmed is how many releases the master has not confirmed by their deadline, or may have to execute again.
	Unconfirmed int
}

// Stats returns what the node counted so far.
func (n *Node) Stats() Stats { return n.pipe.stats() }

// voteCounts counts votes.
type voteCounts struct {
	mu        sync.Mutex
	byVerdict [Granted + 1]int64
	dropped   int64
	latency   histogram.Histogram
}

// count counts the votes of deliveries, which were made at now.
func (v *voteCounts) count(now time.Time, made ...delivery) {
	if len(made) == 0 {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range made {
		vote := &made[i].vote
		if vote.Unsent && errors.Is(vote.Err, node.ErrDropped) {
			v.dropped++
			continue
		}
		if name := made[i].call.Op.Name; vote.Verdict == Denied &&
			(name == "release" || name == "withdraw" || name == "inspect") {
			continue // it refuses nothing: there is nothing to release, or a name is held
		}
		v.byVerdict[vote.Verdict]++
		if vote.Answered() {
			v.latency.Observe(now.Sub(made[i].call.Asked))
		}
	}
}

// batches counts what was written. The pipe's mutex guards it.
type batches struct{ batches, requests int64 }

func (b *batches) count(requests int) {
	b.batches++
	b.requests += int64(requests)
}

// stats adds what the core knows to the stats of a node.
func (co *core) stats(s *Stats) {
	if h := &co.state.health; h.suspect != nil {
		s.Suspect = h.suspect.Err
	}
	s.Barred = co.conn.reportedBar
	for _, m := range co.state.rights { // any of them: each bars acquires
		s.Barred = m.err
	}
	s.Server = co.conn.server
	s.Queued, s.InFlight = len(co.state.calls.queue), co.state.calls.inFlight()
	s.Batches, s.Requests = co.batches.batches, co.batches.requests
	s.Unconfirmed = co.unconfirmed()
}

// unconfirmed returns how many releases have their vote and are not confirmed, or may have to be executed again. A
// release that waits for its first answer, and is not late, has no vote.
func (co *core) unconfirmed() int {
	n := co.state.outbox.countMain()
	for c := range co.allCalls() {
		if c.Durable && c.voted && !c.nothingToUndo() {
			n++
		}
	}
	return n
}
