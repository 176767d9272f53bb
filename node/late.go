package node

import (
	"slices"
	"sort"
	"time"
)

const (
	// repeatAfter is the shortest time after which a release is sent again: one that the master refused, and one that
	// may have arrived before the acquire that it undoes.
	repeatAfter = 500 * time.Millisecond
	// initialRTO is added to the time for which a lost connection was silent. It is the first interval after which TCP
	// retransmits while it knows nothing of the path.
	initialRTO = time.Second
	// maxRTO is the longest interval between two retransmissions (RFC 6298 and Linux: two minutes; others less).
	maxRTO = 2 * time.Minute
)

// lateDelivery tracks what a lost connection may still deliver, and schedules the releases that must therefore be sent
// again.
//
// A connection that ended with requests unanswered may have an acquire in a buffer of the master, of a proxy, or of a
// kernel that retransmits it. The acquire can arrive after its release was confirmed on the next connection. Closing
// the old connection discards only data that is still on this machine.
//
// How late can it arrive? TCP retransmits at doubling intervals, counted from the first sending. If the path was closed
// for the time s, the next retransmission comes at most s plus one first interval after the path opened. So releases
// are repeated from the moment at which the master answers again, and for as long as it had been silent before: half a
// second after they were confirmed, then at doubling ages, and a last time when nothing can arrive any more. A late
// acquire is undone within half a second, or within the time by which it was late.
//
// A release is repeated only if what it undoes was asked before the master answered again (see [Delivery.FirstAsked]):
// later calls went over the new connection, in order. It is repeated for no longer than its [Delivery.KeyTTL] after it
// was confirmed. A key that arrives later expires before it has existed for the time by which it was late, and
// repeating at doubling ages promises no more.
type lateDelivery struct {
	state       lateState
	silentSince time.Time // when the oldest unanswered call was sent
	runID       string    // of the server that it was sent to; "": unknown
	answeredAt  time.Time // when the master answered again
	until       time.Time // when nothing can arrive any more, if the process is not replaced
	scheduled   []repetition
}

// lateState is what lost connections may still deliver.
type lateState uint8

const (
	lateNone     lateState = iota // nothing
	lateSilent                    // a connection ended with calls unanswered, and the master has answered none since
	lateDraining                  // the master answers again; earlier requests may still arrive
)

// lateEvent is something that changes what may arrive late.
type lateEvent uint8

const (
	eventConnLost  lateEvent = iota // a connection ended with calls unanswered
	eventAnswered                   // the same server, or an unknown one, answered
	eventRecovered                  // the same, and it was suspect before: its connection was silent, too
	eventDrained                    // the same, at a time at which nothing can arrive any more
	eventReplaced                   // another process answered: the old one has ended, and its connections with it
)

// transition returns the state after an event. Every event is possible in every state.
func (s lateState) transition(e lateEvent) lateState {
	switch {
	case e == eventConnLost:
		return lateSilent
	case s == lateNone, e == eventReplaced:
		return lateNone
	case s == lateSilent:
		return lateDraining
	case e == eventDrained:
		return lateNone
	default:
		return lateDraining
	}
}

// connLost records that a connection to a server ended, and that the oldest call without an answer was sent at sent. If
// something may arrive late already, the older time remains.
func (l *lateDelivery) connLost(runID string, sent time.Time) {
	if l.state == lateNone {
		l.silentSince, l.runID = sent, runID
	}
	l.state = l.state.transition(eventConnLost)
}

// answered records that a server answered. wasSuspect reports whether the master was suspect until now.
func (l *lateDelivery) answered(runID string, wasSuspect bool, now time.Time) {
	if l.state == lateNone {
		return // the hot path
	}
	e := l.classify(runID, wasSuspect, now)
	before := l.state
	l.state = before.transition(e)
	if l.state == lateDraining && (before == lateSilent || e == eventRecovered) {
		l.answeredAt = now
		l.until = now.Add(min(now.Sub(l.silentSince), maxRTO) + initialRTO)
	}
}

// classify returns the event that an answer is.
func (l *lateDelivery) classify(runID string, wasSuspect bool, now time.Time) lateEvent {
	switch {
	case l.runID != "" && runID != "" && runID != l.runID:
		return eventReplaced
	case wasSuspect:
		return eventRecovered
	case !now.Before(l.until):
		return eventDrained
	default:
		return eventAnswered
	}
}

// mayOvertake reports whether a release that was answered now may have arrived before an operation that it undoes, the
// first of which was asked at firstAsked.
func (l *lateDelivery) mayOvertake(firstAsked time.Time) bool {
	return l.state != lateNone && firstAsked.Before(l.answeredAt)
}

// repeatAt returns when a release that may have overtaken its acquire must be sent again. It was answered at now, and
// first at confirmed. ok is false if the release need not be sent again.
func (l *lateDelivery) repeatAt(confirmed time.Time, keyTTL time.Duration, now time.Time) (at time.Time, ok bool) {
	last := confirmed.Add(keyTTL + initialRTO)
	if l.until.Before(last) {
		last = l.until
	}
	at = now.Add(max(repeatAfter, now.Sub(l.answeredAt)))
	if last.Before(at) {
		at = last
	}
	return at, now.Before(last)
}

// repetition is a release that is to be sent again.
type repetition struct {
	call *Call
	due  time.Time
}

// schedule adds a repetition of a call. The repetitions stay in the order in which they are due.
func (l *lateDelivery) schedule(c *Call, due time.Time) {
	i := sort.Search(len(l.scheduled), func(i int) bool { return l.scheduled[i].due.After(due) })
	l.scheduled = slices.Insert(l.scheduled, i, repetition{c, due})
}

// takeDue removes the calls whose repetition is due and returns them.
func (l *lateDelivery) takeDue(now time.Time) (calls []*Call) {
	for len(calls) < len(l.scheduled) && !l.scheduled[len(calls)].due.After(now) {
		calls = append(calls, l.scheduled[len(calls)].call)
	}
	l.scheduled = slices.Delete(l.scheduled, 0, len(calls))
	return calls
}

// next returns when the next repetition is due; the zero time if there is none.
func (l *lateDelivery) next() time.Time {
	if len(l.scheduled) == 0 {
		return time.Time{}
	}
	return l.scheduled[0].due
}
