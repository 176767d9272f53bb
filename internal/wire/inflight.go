package wire

import (
	"fmt"
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/node"
)

const (
	// maxBatch bounds one pipeline, so that a long queue does not delay its own first votes.
	maxBatch = 1024
	// maxQueue bounds the calls that wait for a master. Durable calls are always accepted.
	maxQueue = 1 << 14
)

// inflight holds the calls of a pipe: those that wait to be written, and those that were written and have no reply yet.
//
// Calls are written in the order of push, over one connection, and replies arrive in the order of writing. So a release
// never overtakes the acquire that it undoes. A call that the master certainly did not execute goes back to the head of
// the queue, after the calls that are there for the same reason. All others that must be written again go to the
// [outbox], and from there to the end of the queue, or over the spare connection.
type inflight struct {
	queue      []*Call // waiting to be written
	votedAhead int     // how many calls at the head of queue have their votes, at least; expire does not look at them
	written    []*Call // written, or being written, without a reply
}

// delivery is a vote that its voter has yet to receive.
type delivery struct {
	call *Call
	vote Vote
}

// push appends calls to the queue.
func (f *inflight) push(calls ...*Call) { f.queue = append(f.queue, calls...) }

// retry puts calls at the head of the queue, in order, after those at the head that were written before. An acquire
// that would follow its own release there is dropped, because its lease has set Canceled.
func (f *inflight) retry(calls []*Call) {
	first := 0
	for len(calls) > 0 && first < len(f.queue) && f.queue[first].sent {
		first++
	}
	f.queue, f.votedAhead = slices.Insert(f.queue, first, calls...), 0
}

// load moves the next batch from the queue to the written calls and returns it. The batch may contain rechecks of
// missing rights. load drops the calls that are canceled, late, or refused, and returns their votes. It drops all calls
// for a vote if bar is not nil. Until load returns a call for the first time, the master has certainly not executed it;
// from then on it may have.
func (f *inflight) load(
	server *link.Server, bar error, rights rights, now time.Time,
) (batch []*Call, dropped []delivery) {
	first, taken := len(f.written), 0
	for _, c := range f.queue {
		if len(f.written)-first == maxBatch {
			break
		}
		err := c.dropReason(server, bar, now)
		if err == nil && !c.voted {
			recheck, wait, refused := rights.check(c.Op, now)
			if recheck != nil {
				f.written = append(f.written, recheck)
			}
			if err = refused; wait {
				break // until the master has answered the recheck
			}
		}
		taken++
		switch {
		case c.voted && !c.Durable, c.expired(now): // dropped: no caller waits for it
		case err == nil:
			c.setSent(now)
			if !c.Durable && c.Written != nil {
				c.Written.Store(true)
			}
			f.written = append(f.written, c)
		case c.claimVote():
			dropped = append(dropped, delivery{c, unsent(err)})
		}
	}
	f.queue, f.votedAhead = dropFirst(f.queue, taken), max(0, f.votedAhead-taken)
	return f.written[first:], dropped
}

// dropReason returns why a call must not be sent any more, or not to this server; nil if it may be sent. bar is why the
// server gets no calls for a vote.
func (c *Call) dropReason(server *link.Server, bar error, now time.Time) error {
	switch {
	case c.Canceled != nil && c.Canceled.Load(), !c.Durable && !c.due().After(now), c.Ended != nil && c.Ended():
		return node.ErrDropped
	case c.RequireTrusted:
		if err := server.Restarted(c.Window, now); err != nil {
			return err
		}
	}
	if c.asksForVote() {
		return bar
	}
	return nil
}

// dropFirst removes the first n calls and keeps the capacity.
func dropFirst(calls []*Call, n int) []*Call {
	rest := copy(calls, calls[n:])
	clear(calls[rest:])
	return calls[:rest]
}

// expiry gathers the votes that are due at now, and when the next one is; the zero time if there is none.
type expiry struct {
	now     time.Time
	expired []delivery
	next    time.Time
}

// add adds the vote of a call, which is due at due, unless the call has its vote.
func (x *expiry) add(c *Call, due time.Time, v Vote) {
	switch {
	case c.voted:
	case due.After(x.now):
		x.next = earliest(x.next, due)
	case c.claimVote():
		x.expired = append(x.expired, delivery{c, v})
	}
}

// expire adds the votes of all calls to x. If connecting is true, the queue waits for a connection; if suspect is not
// nil, for the next try of the master. expire removes no call: written ones still await their replies, and load drops
// queued ones.
func (f *inflight) expire(x *expiry, connecting bool, suspect *node.SuspectError) {
	for _, c := range f.written {
		x.add(c, c.due(), unknown(node.ErrTimeout))
	}
	due, err := (*Call).due, node.ErrTimeout
	switch {
	case suspect != nil:
		err = suspect
	case connecting:
		due, err = (*Call).dueUnsent, errNotConnected
	}
	// While a master is down, all releases of the locks that it has wait here. Most have their votes.
	for f.votedAhead < len(f.queue) && f.queue[f.votedAhead].voted {
		f.votedAhead++
	}
	for _, c := range f.queue[f.votedAhead:] {
		v := unsent(err)
		if c.Durable {
			v = unknown(err)
		}
		x.add(c, due(c), v)
	}
}

// errNotConnected is the error of a call for which no connection was made in time.
var errNotConnected = fmt.Errorf("connecting: %w", node.ErrTimeout)

// postponeQueued makes the votes of the queue due later by the time for which each call waited for the connection. It
// returns when the next vote is due; the zero time if none is.
func (f *inflight) postponeQueued(now time.Time) (next time.Time) {
	for _, c := range f.queue {
		c.postpone(max(0, now.Sub(c.Asked)-c.grace))
		if !c.voted {
			next = earliest(next, c.due())
		}
	}
	return next
}

// queuesDurable reports whether the queue has a durable call that undoes something.
func (f *inflight) queuesDurable() bool {
	return slices.ContainsFunc(f.queue, func(c *Call) bool { return c.Durable && !c.nothingToUndo() })
}

// connectSlack is how long before the votes of its calls are due an attempt to connect ends, so that they say why it
// failed.
const connectSlack = 100 * time.Millisecond

// patience returns how long an attempt to connect may take for the calls of the queue.
func (f *inflight) patience() (longest time.Duration) {
	for _, c := range f.queue {
		longest = max(longest, c.Connect-connectSlack)
	}
	return longest
}

// later returns the later of two times. The zero time is the earliest.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// earliest returns the earlier of two times. Unlike for later, the zero time stands for none.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// failQueued empties the queue because the master cannot be asked, and returns the votes of the failed calls. It keeps
// the durable calls that still have something to undo.
func (f *inflight) failQueued(err error, now time.Time) (failed []delivery) {
	kept := f.queue[:0]
	for _, c := range f.queue {
		switch {
		case c.Durable && !c.expired(now) && !c.nothingToUndo():
			kept = append(kept, c)
		case c.claimVote():
			failed = append(failed, delivery{c, unsent(err)})
		}
	}
	clear(f.queue[len(kept):])
	f.queue, f.votedAhead = kept, 0
	return failed
}

// inFlight returns how many calls were written, without those of the node itself, which have no voter.
func (f *inflight) inFlight() (n int) {
	for _, c := range f.written {
		if c.Voter != nil {
			n++
		}
	}
	return n
}

// ask puts a question of the node itself ahead of the last n written calls, and returns it with them.
func (f *inflight) ask(o *Op, n int, now time.Time) (batch []*Call) {
	first := len(f.written) - n
	question := &Call{Request: &Request{Op: o, Asked: now}, voted: true, sent: true}
	f.written = slices.Insert(f.written, first, question)
	return f.written[first:]
}

// pinging reports whether a PING is being written or waits for its reply.
func (f *inflight) pinging() bool { return len(f.written) > 0 && f.written[0].Op == ping }

// ping is the operation that checks whether an idle connection still works.
var ping = Command("ping", func(reply any) Vote {
	if reply != "PONG" {
		return BadReply(reply)
	}
	return grant()
}, "ping")
