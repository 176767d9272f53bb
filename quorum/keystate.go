package quorum

import (
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

// keyState is what a lease knows of its keys on one node. Lease.mu guards it, except written. A process may hold many
// locks, so it is small. Times are counted from Quorum.made.
//
// A reservation lets the grants of a restarted server count (countReserved):
//
//   - A node is reserved until reservedUntil: for one validity from the request of its last grant that counted.
//   - Until then it cannot vote for another client. The keys keep others out, and a server that restarted without them
//     has no vote for the restart window, which is longer than a TTL. So its grants to this lease count in that window.
//   - An extension that restores the keys on a reserved node reserves it for another validity, although its vote does
//     not count.
//   - A node that turns out to be the same server as another is no longer reserved.
type keyState struct {
	reservedUntil time.Duration // 0: it is not reserved
	written       atomic.Bool   // an operation that sets keys may have been written to the node
	inFlight      uint16        // extensions without a vote
	keys          presence

	keysFromExtension bool // a vote on an extension has set keys; a later vote on the acquire is older news
}

// presence is whether a node has the keys of a lease, or the intent of a waiter.
type presence uint8

const (
	unsent  presence = iota // nothing was written to the node
	absent                  // the node does not have them; a release still asks it once, for the majority
	present                 // the node reported that it has them
	guarded                 // present, but mayBlock leaves it out: the grant does not count
	unclear                 // the node may have them, or may still get them
)

// current returns whether the node has the keys. That is unclear while an extension is in flight, since it would
// restore them, however late it arrives.
func (s *keyState) current() presence {
	switch {
	case s.inFlight > 0:
		return unclear
	case s.keys == guarded:
		return present
	default:
		return s.keys
	}
}

// askedToAcquire records that the node is asked for the lease.
func (s *keyState) askedToAcquire() { s.keys = unclear }

// votedOnAcquire records the vote on the acquire.
func (s *keyState) votedOnAcquire(v wire.Vote) {
	switch {
	case s.keysFromExtension: // that vote is newer
	case v.Verdict == wire.Granted:
		s.keys = present
	case v.Guarded:
		s.keys = guarded
	case v.Verdict == wire.Unknown:
		s.keys = unclear
	case v.Unsent:
		s.keys = unsent
	default:
		s.keys = absent
	}
}

// askedToExtend records that the node is asked for an extension.
func (s *keyState) askedToExtend() { s.inFlight++ }

// votedOnExtend records the vote on an extension. One that was certainly not executed says nothing about the keys.
func (s *keyState) votedOnExtend(v wire.Vote) {
	s.inFlight--
	switch {
	case v.Verdict == wire.Granted || v.Healed || v.Guarded:
		s.keys, s.keysFromExtension = present, true
	case v.Verdict == wire.Denied:
		s.keys, s.keysFromExtension = absent, true
	case v.Verdict == wire.Unknown:
		s.keys, s.keysFromExtension = unclear, true
	}
}

// dropped records that a node dropped an operation because the lease is being released. The release asks such a node,
// although it has no keys: otherwise a release could miss its majority although the nodes work.
func (s *keyState) dropped() {
	if s.keys == unsent {
		s.keys = absent
	}
}

// keysOn returns whether a node has the keys of the lease.
func (l *Lease) keysOn(index int) presence {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.states[index].current()
}

// beginCall prepares a call that sets the keys of the lease on a node. change updates the node's keyState.
func (l *Lease) beginCall(index int, c *wire.Call, change func(*keyState)) {
	s := &l.states[index]
	c.Written = &s.written
	l.mu.Lock()
	defer l.mu.Unlock()
	change(s)
}

// recordVote records a vote with change, and returns the vote that counts. asked is when the node was asked. If the
// vote restored the keys on a reserved node, recordVote extends the reservation. A grant extends it later, in reserve:
// the tally must look for duplicates first.
func (l *Lease) recordVote(
	index int, v wire.Vote, asked time.Time, change func(*keyState, wire.Vote),
) wire.Vote {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.states[index]
	v = l.countReserved(s, v)
	change(s, v)
	if v.Healed && l.reserved(s) {
		l.extendReservation(s, asked)
	}
	if v.Unsent && l.released.Load() {
		s.dropped()
	}
	return v
}

// countReserved makes the vote of a restarted server count if the node is reserved for the lease. A guarded vote of a
// server that does not identify itself stays guarded, since it may be the same server as another. It must be called
// with l.mu held.
func (l *Lease) countReserved(s *keyState, v wire.Vote) wire.Vote {
	_, restarted := v.Err.(*node.RestartError) //nolint:errorlint // it is not wrapped
	if v.Guarded && restarted && l.reserved(s) {
		v.Verdict, v.Guarded, v.Err = wire.Granted, false, nil
	}
	return v
}

// reserve reserves a node for the lease after a grant that counted. If the vote shows that two nodes are one server,
// their grants are one grant, and reserve ends the reservations of both: once an operator corrects the address of one,
// a server that never had the keys answers there.
func (l *Lease) reserve(t *tally, index int, c *wire.Call, duplicates [][2]int) {
	granted := t.votes[index].Verdict == wire.Granted
	if !granted && len(duplicates) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if granted {
		l.extendReservation(&l.states[index], c.Asked)
	}
	for _, pair := range duplicates {
		for _, i := range pair {
			l.states[i].reservedUntil = 0
			if l.states[i].keys == present && t.votes[i].Err == ErrSameServer { //nolint:errorlint // it is not wrapped
				l.states[i].keys = guarded
			}
		}
	}
}

// extendReservation reserves a node until a validity after asked. It must be called with l.mu held.
func (l *Lease) extendReservation(s *keyState, asked time.Time) {
	s.reservedUntil = max(s.reservedUntil, l.q.since(asked)+l.terms.validity())
}

// reserved reports whether a node is reserved for the lease. It must be called with l.mu held.
func (l *Lease) reserved(s *keyState) bool {
	return l.q.since(l.q.cfg.Clock.Now()) < s.reservedUntil
}
