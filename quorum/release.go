package quorum

import (
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/internal/wire"
)

// Release ends the lease at once and removes its keys from every node that may have them. Unless it is silent, it
// publishes release messages if others may have waited for the lease: if it was held, or if the failed acquire may have
// set its keys on a majority. Only the first call has an effect. If done is not nil, Release calls it once, from any
// goroutine and perhaps before Release returns, with the number of subscribers that received the message, as far as the
// nodes know it (0 with an error), and with:
//
//   - nil: a majority answered, and no majority lacked the token.
//   - ErrGone: a majority no longer had the token.
//   - ErrNoQuorum, wrapped: too few nodes answered. Each node repeats the release until it is answered.
//   - ErrEnded: the lease was released before.
func (l *Lease) Release(silent bool, done func(subscribers int64, err error)) {
	l.end(&wire.Request{KeyTTL: l.terms.TTL}, func() *wire.Op {
		held := !l.until.IsZero()
		return l.ops.Release(!silent && (held || l.mayBlock()))
	}, done)
}

// mayBlock reports whether a majority may have the keys of a lease that was not held, so that it may have kept others
// out. A grant that does not count is left out.
//
// If the caller gave up and some node may have the keys, the nodes to which nothing was sent count as well: others may
// be unable to reach them, too, or may begin with a node that has the keys. After a failed attempt they do not count.
// Otherwise contenders that cannot get a majority would wake each other without end.
//
// mayBlock must be called with l.mu held.
func (l *Lease) mayBlock() bool {
	have, untried := 0, 0
	for i := range l.states {
		switch l.states[i].keys {
		case unsent:
			untried++
		case unclear, present:
			have++
		}
	}
	if l.gaveUp && have > 0 {
		have += untried
	}
	return have >= l.q.need
}

// Keep ends the lease at once, like Release, but its names stay taken until the given time, under a token that no lease
// has. The release messages make waiters see the new TTL. The result is nil only if a majority keeps them; unlike in
// Release, a denial does not count. The grant of a server within its restart window counts as it does for Extend. A
// node that executes Keep late keeps the names for that much longer.
func (l *Lease) Keep(until time.Time, done func(subscribers int64, err error)) {
	rest := max(time.Millisecond, until.Sub(l.q.cfg.Clock.Now()))
	rest = (rest + time.Millisecond - 1).Truncate(time.Millisecond) // rounded up
	keep := &wire.Request{KeyTTL: l.terms.TTL + rest, Keeps: true, Window: l.terms.Window}
	l.end(keep, func() *wire.Op { return l.ops.Keep(rest) }, done)
}

// end ends the lease with an operation on every node. makeOp makes the operation, with l.mu held. req has the fields
// that Release and Keep set differently. end adds the drift to its KeyTTL. done may be nil.
func (l *Lease) end(req *wire.Request, makeOp func() *wire.Op, done func(subscribers int64, err error)) {
	if done == nil {
		done = func(int64, error) {}
	}
	l.mu.Lock()
	again := l.released.Swap(true) // with l.mu locked: makeOp must not see what nodes drop because of this
	if !again {
		req.Op = makeOp()
	}
	l.mu.Unlock()
	if again {
		done(0, ErrEnded)
		return
	}
	req.Connect = l.terms.Timeout
	req.KeyTTL += l.terms.Drift
	req.FirstAsked = l.begunAt()
	l.q.ask(req, l.terms.Timeout, &ending{lease: l, done: done})
}

// ending is the handler of an operation that ends a lease: it removes the keys, or keeps the names.
type ending struct {
	byMajority
	lease *Lease
	done  func(subscribers int64, err error)
}

func (h *ending) prepare(index int, c *wire.Call) *wire.Vote {
	return undo(c, h.lease.keysOn(index), &h.lease.states[index].written)
}

func (h *ending) voted(index int, _ *wire.Call, v wire.Vote) wire.Vote {
	if !v.Guarded {
		return v
	}
	h.lease.mu.Lock()
	defer h.lease.mu.Unlock()
	return h.lease.countReserved(&h.lease.states[index], v)
}

func (h *ending) finish(r *round) { h.done(confirmed(r)) }

// undo completes a call that removes the keys or the intent from a node. written records whether a request that sets
// them was written. undo returns a vote if there is nothing to remove.
func undo(c *wire.Call, has presence, written *atomic.Bool) *wire.Vote {
	switch has {
	case unsent:
		return skipped()
	case present:
		c.Durable, c.HasKeys = true, true
	case unclear:
		c.Durable, c.Written = true, written
	case absent: // it is asked once: its answer counts for the majority
	}
	return nil
}

// confirmed returns the result of a decided release. Any answer of a node confirms a release: the node does not have
// the keys. A Keep needs a majority that granted.
func confirmed(r *round) (subscribers int64, err error) {
	var s state
	var gone, answered bool
	r.withTally(func(t *tally) {
		// The number of a release's grant is 1 more than its subscribers; see Ops.Release.
		s, gone, answered, subscribers = t.state(), t.majorityDenied(), t.answered(), max(0, t.maxSeen()-1)
	})
	switch {
	case s == won:
		return subscribers, nil
	case gone:
		return 0, ErrGone
	case answered && !r.Keeps:
		return subscribers, nil
	default:
		return 0, noQuorum(r.errors())
	}
}

// ReleaseToken sends op, which removes a token that is not of a lease of this Quorum, to every node. Each node repeats
// op until its master has answered, but for at most about life, the longest TTL of the token's keys. ReleaseToken calls
// done once, with an error as that of [Lease.Release], but never with ErrEnded.
func (q *Quorum) ReleaseToken(op *wire.Op, timeout, life time.Duration, done func(error)) {
	req := &wire.Request{Op: op, Connect: connectTime(timeout), KeyTTL: life}
	q.ask(req, timeout, &releasing{done: done})
}

// releasing is the handler of a ReleaseToken.
type releasing struct {
	byMajority
	done func(error)
}

func (*releasing) prepare(_ int, c *wire.Call) *wire.Vote {
	c.Durable = true
	return nil
}

func (h *releasing) finish(r *round) {
	_, err := confirmed(r)
	h.done(err)
}

// Broadcast sends op to every node and does not wait for the answers.
func (q *Quorum) Broadcast(op *wire.Op, timeout time.Duration) {
	q.ask(&wire.Request{Op: op}, timeout, byMajority{})
}
