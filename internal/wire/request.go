package wire

import (
	"sync/atomic"
	"time"
)

// Request is one operation that is asked of the nodes of a round. All its calls share it, so that a round takes little
// memory. It must not change once one of them was submitted.
type Request struct {
	Op *Op
	// Voter receives the vote of each call, together with the call's Index.
	Voter Voter
	// Asked is the time of the request, and Deadline the time at which the votes are due.
	Asked, Deadline time.Time
	// Connect bounds how much later than the deadline a vote may be: by the time for which the request waited for a
	// connection to a master that was not suspect, and by that of an answer that the server lacks the script.
	Connect time.Duration

	// Window is how long the server must have been up for its grant to count. If it is 0, the uptime does not matter.
	Window time.Duration

	// Of a request that is not durable:

	// Canceled, if not nil, makes a node drop the request if it is true before the request was written.
	Canceled *atomic.Bool
	// Ended, if not nil, makes a node drop the request if it returns true just before the request is written. The node
	// calls it with its own mutex held, so it must not block or call the node.
	Ended func() bool
	// RequireTrusted makes a node skip a server that is known to have come up within the window. Fencing uses it: a
	// grant that does not count would still raise the counter.
	RequireTrusted bool

	// Of a durable request:

	// Keeps means that a key remains after the request. A denial of a repeated request then stays a denial. Otherwise
	// it counts as a grant: an earlier sending removed the key.
	Keeps bool
	// KeyTTL is how long a key that a durable request removes can live. Once the master has answered with an error, the
	// node repeats the request for at most that time, since every key has expired by then. It repeats a confirmed
	// request for about as long. See also [Call.HasKeys].
	KeyTTL time.Duration
	// FirstAsked is when the first operation that a durable request undoes was asked; the zero time if that is unknown.
	// If such an operation may have been unanswered when a connection ended, it may arrive late. The node then repeats
	// the request after it was confirmed.
	FirstAsked time.Time
}

// Voter receives the votes on the requests that name it.
type Voter interface {
	// Vote is called exactly once for each request, from any goroutine, possibly from within Submit. It must not block.
	Vote(index int, v Vote)
}

// Call is a Request of one node, and the memory in which the node keeps track of it. The caller provides that memory,
// so that one slice can hold the calls of a round.
type Call struct {
	*Request
	// Written, if not nil, is shared by the calls that set keys and the call that undoes them. A node sets it just before
	// it writes one of the former. While it is false, there is nothing to undo: the node drops the durable request if it
	// cannot send it at once, and does not count it as unconfirmed.
	Written *atomic.Bool
	Index   uint16 // of the node in the round
	// Durable keeps the request in the node until the master has answered it, past its deadline and over any number of
	// connections. It is for releases, which may be repeated. Otherwise the node sends the request at most once, and
	// not after its deadline.
	Durable bool
	// HasKeys means that the master had the keys that the request removes when it was asked. A KeyTTL later they have
	// certainly expired. The node then gives the request up, whatever the master does.
	HasKeys bool

	// How far the call has come. The pipe's mutex guards these fields.

	voted     bool          // the call has its vote, or a goroutine is about to deliver it; see claimVote
	asText    bool          // send the text of the script, not its digest
	repeated  bool          // the call was sent before, and may have been executed then
	sent      bool          // the call was written and so may have reached the master
	sentAfter time.Duration // from Asked to when the call was last written
	grace     time.Duration // how much later than at its Deadline the vote is due
	resent    *resent       // nil: neither of its times is known
}

// resent has the times of a durable call that were found out after it was sent. Most calls need none.
type resent struct {
	confirmed time.Time // when the call was first answered without an error; zero: it was not
	expiresAt time.Time // when the keys have certainly expired, as the pipe found out; zero: unknown
}

// bytes returns the call as it is written to a connection.
func (c *Call) bytes() []byte {
	if c.asText {
		return c.Op.text()
	}
	return c.Op.out
}

// setSent records that the call is written now.
func (c *Call) setSent(now time.Time) { c.sent, c.sentAfter = true, now.Sub(c.Asked) }

// sentAt returns when the call was last written.
func (c *Call) sentAt() time.Time { return c.Asked.Add(c.sentAfter) }

// due returns when the vote is due. It is later than the call's Deadline if the call had to wait for a connection.
func (c *Call) due() time.Time { return c.Deadline.Add(c.grace) }

// dueUnsent returns when the vote is due if no connection is made by then.
func (c *Call) dueUnsent() time.Time { return later(c.due(), c.Asked.Add(c.Connect)) }

// postpone makes the vote due later by d, as far as Connect allows.
func (c *Call) postpone(d time.Duration) { c.grace = min(c.grace+d, c.Connect) }

// claimVote reports whether the call has no vote yet, and reserves the vote for the caller, which must pass it to
// deliver.
func (c *Call) claimVote() bool {
	first := !c.voted
	c.voted = true
	return first
}

// deliver passes a vote to the voter. It must be called without the pipe's mutex.
func (c *Call) deliver(v Vote, now time.Time) {
	v.Took = max(0, now.Sub(c.Asked)) // now may have been read before the call was made
	c.Voter.Vote(int(c.Index), v)
}

// nothingToUndo reports whether what the call undoes was never written.
func (c *Call) nothingToUndo() bool {
	return c.Durable && c.Written != nil && !c.Written.Load()
}

// expired reports whether the call has its vote and the keys that it removes have certainly expired.
func (c *Call) expired(now time.Time) bool {
	at := c.expiresAt()
	return c.voted && !at.IsZero() && !now.Before(at)
}

// isMoot reports whether the call has its vote and nothing left to undo: its keys have certainly expired, or were never
// set.
func (c *Call) isMoot(now time.Time) bool {
	return c.expired(now) || c.voted && c.nothingToUndo()
}

// expiresAt returns when the keys that the call removes have certainly expired; the zero time if that is unknown. The
// caller knows it if HasKeys is set. Otherwise the first refusal, or handshake of the spare connection, shows it.
func (c *Call) expiresAt() time.Time {
	switch {
	case c.HasKeys:
		return c.Asked.Add(c.KeyTTL)
	case c.resent != nil:
		return c.resent.expiresAt
	default:
		return time.Time{}
	}
}

// expireAt records when the keys have certainly expired, unless that is known already.
func (c *Call) expireAt(t time.Time) {
	if c.expiresAt().IsZero() {
		c.ensureResent().expiresAt = t
	}
}

// confirmed records that the master executed the call at now. It returns when it did so first.
func (c *Call) confirmed(now time.Time) time.Time {
	r := c.ensureResent()
	if r.confirmed.IsZero() {
		r.confirmed = now
	}
	return r.confirmed
}

// ensureResent returns the call's resent, and allocates it if there is none.
func (c *Call) ensureResent() *resent {
	if c.resent == nil {
		c.resent = new(resent)
	}
	return c.resent
}
