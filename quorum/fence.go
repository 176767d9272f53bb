package quorum

import (
	"context"
	"fmt"

	"github.com/redlock-go/redlock/internal/wire"
)

// A fencing token is a number that a majority agrees on and that only grows. Each node counts for itself and returns
// its count with the grant. The largest count of a majority is the token. If a majority did not return it, the lease
// writes it back: a node that still has the lease's key raises its count to the token. The majority of the next lock
// shares a node with this one, finds the token there, and gets a larger one. docs/fencing.md has the argument.

// maxFenceDelay is how many node timeouts an acquire with fencing may take before it settles its token: one for the
// first node, one for the others, and one for delays of this process. If it takes longer, the process was paused or had
// to connect, and the hint may be older than the token of a lock that was acquired and released meanwhile. The order of
// tokens rests on the hint if masters have restarted without their counters; docs/fencing.md has the bound.
const maxFenceDelay = 3

var errOldHint = fmt.Errorf(
	"%w for a fencing token: more than three node timeouts after the acquire began", ErrTooLate,
)

// settleFence decides the fencing token of a lease that a majority has granted. If a majority returned the same number,
// that is the token. Otherwise the token is the largest number returned, and is written back to the other nodes. A node
// whose counter is already larger denies, because another holder may get that number. If such denials prevent a
// majority, settleFence writes another number back; see knownGrants.propose.
func (l *Lease) settleFence(ctx context.Context, acquire *round) error {
	if l.q.since(l.q.cfg.Clock.Now()) > l.begun+maxFenceDelay*l.terms.Timeout {
		return noQuorum(errOldHint)
	}
	known := readGrants(acquire, l.ops.Overlaps())
	for !known.settled {
		r, err := l.raise(ctx, known)
		if err != nil {
			return err
		}
		var s state
		var maxSeen int64
		r.withTally(func(t *tally) { s, maxSeen = t.state(), t.maxSeen() })
		if s == won {
			known.settled = true
		} else if !known.propose(acquire, l.ops.Overlaps(), maxSeen) {
			return noQuorum(r.errors())
		}
		if err := l.checkValidity(); err != nil {
			return err
		}
	}
	l.fence = known.fence
	return nil
}

// knownGrants are the grants of an acquire that have arrived.
type knownGrants struct {
	fence      int64       // the fencing token to agree on
	settled    bool        // a majority has it
	count      int         // how many grants there are
	agree      []wire.Vote // by node, its grant if that carries fence; otherwise the zero Vote
	mustNotAsk []bool      // by node, whether it must not be asked for the write-back
}

// readGrants reads the grants. If leases overlap, a node grants the write-back even if its counter is larger than the
// token. That is safe only if the node granted this lease at most the token. So a node whose grant has not arrived is
// not asked.
func readGrants(acquire *round, overlaps bool) (known knownGrants) {
	acquire.withTally(func(t *tally) {
		if known.fence, known.settled = t.majorityFence(); known.settled {
			return
		}
		known.fence = t.maxGranted()
		known.agree, known.mustNotAsk = make([]wire.Vote, len(t.votes)), make([]bool, len(t.votes))
		for i, v := range t.votes {
			if v.Verdict != wire.Granted {
				known.mustNotAsk[i] = overlaps
				continue
			}
			known.count++
			if v.Number == known.fence {
				known.agree[i] = v
			}
		}
	})
	return known
}

// propose chooses the token of the next write-back after one that no majority took. maxSeen is the largest number of
// any node. propose reports whether another write-back may succeed.
func (known *knownGrants) propose(acquire *round, overlaps bool, maxSeen int64) bool {
	if overlaps { // no node denied because of its counter: only a grant that has arrived since can help
		before := known.count
		*known = readGrants(acquire, true)
		return known.settled || known.count > before
	}
	if maxSeen <= known.fence { // no counter is too large: nodes failed, or lack the key
		return false
	}
	known.fence = maxSeen
	clear(known.agree) // they carry a smaller number
	return true
}

// raise writes the fencing token back, which raises the counters, to all nodes but those that granted it or must not be
// asked.
func (l *Lease) raise(ctx context.Context, known knownGrants) (*round, error) {
	h := &raising{awaited: newAwaited(), known: known}
	req := l.terms.request(l.ops.Raise(l.terms, known.fence))
	req.Canceled = &l.released
	r := l.q.ask(req, l.terms.Timeout, h)
	return r, h.wait(ctx, l.q)
}

// raising is the handler of a write-back.
type raising struct {
	awaited
	known knownGrants
}

func (h *raising) prepare(index int, c *wire.Call) *wire.Vote {
	if v := h.known.agree[index]; v.Verdict == wire.Granted {
		v.Unsent = true // this request is not sent
		return &v
	}
	if h.known.mustNotAsk[index] {
		return skipped()
	}
	return nil
}

// decides also ends the round when no majority can grant any more: propose then chooses what to write back.
func (*raising) decides(t *tally) bool { return t.state() != open }

// fenceConclusive is like conclusive, for grants that carry fencing tokens. If a node returned the token of the owner's
// other holds, the round continues until a majority has returned one token or every node has voted: a new token would
// make the other holds stale.
func (t *tally) fenceConclusive() bool {
	if t.state() != won {
		return t.conclusive()
	}
	if _, ok := t.majorityFence(); ok || t.complete() {
		return true
	}
	for _, v := range t.votes {
		if v.Verdict == wire.Granted && v.Owned {
			return false
		}
	}
	return true
}

// majorityFence returns the number that a majority granted, if there is one.
func (t *tally) majorityFence() (number int64, ok bool) {
	for _, v := range t.votes {
		if v.Verdict == wire.Granted && t.grantsOf(v.Number) >= t.need {
			return v.Number, true
		}
	}
	return 0, false
}

// grantsOf returns how many nodes granted a number.
func (t *tally) grantsOf(number int64) (n int) {
	for _, v := range t.votes {
		if v.Verdict == wire.Granted && v.Number == number {
			n++
		}
	}
	return n
}

// maxGranted returns the largest number that a node granted.
func (t *tally) maxGranted() (largest int64) {
	for _, v := range t.votes {
		if v.Verdict == wire.Granted {
			largest = max(largest, v.Number)
		}
	}
	return largest
}
