package wire

import "time"

const (
	// initialRTO is added to the time for which a lost connection was silent. It is the first interval after which TCP
	// retransmits while it knows nothing of the path.
	initialRTO = time.Second
	// maxRTO is the longest interval between two retransmissions (RFC 6298 and Linux: two minutes; others less).
	maxRTO = 2 * time.Minute
)

// lateDelivery tracks what a lost connection may still deliver, and computes when a release must be sent again.
//
// The problem: a connection ends with an acquire unanswered. The acquire may be in a buffer of the master, of a proxy,
// or of a kernel that retransmits it. Closing the connection discards only data that is still on this machine. So the
// acquire can arrive after its release was confirmed over the next connection.
//
// How late it can arrive: TCP retransmits at doubling intervals, counted from the first sending. If the path was closed
// for a time s, the next retransmission comes at most s plus the first interval after the path opened.
//
// What the node does: once the master answers again, the node repeats releases for as long as the master was silent.
// Before each repetition it waits half a second, or for as long as the master has been answering again if that is
// longer, so the intervals double. It repeats a last time when nothing can arrive any more. So a late acquire is undone
// within half a second, or within the time by which it was late.
//
// Which releases: those that undo an operation that was asked before the master answered again (see
// [Request.FirstAsked]). Later operations went over the new connection, in order. A release is repeated for at most
// its [Request.KeyTTL] after it was confirmed. A key that arrives even later expires by itself within the time by
// which it was late.
type lateDelivery struct {
	state       lateState
	silentSince time.Time // when the oldest unanswered call was sent
	runID       string    // of the server that it was sent to; "": unknown
	answeredAt  time.Time // when the master answered again
	until       time.Time // when nothing can arrive any more, if the process is not replaced
}

// lateState is what lost connections may still deliver.
type lateState uint8

const (
	lateNone     lateState = iota // nothing
	lateSilent                    // a connection ended with calls unanswered, and the master has answered none since
	lateDraining                  // the master answers again; earlier requests may still arrive
)

// connLost records that a connection to a server ended. sent is when the oldest unanswered call was sent. If an earlier
// connection to the same process may still deliver something, its time remains.
func (l *lateDelivery) connLost(runID string, sent time.Time) {
	switch {
	case l.state == lateNone, l.isReplaced(runID):
		l.silentSince, l.runID = sent, runID
	case runID == "":
		l.runID = "" // what is lost may be from any process
	}
	l.state = lateSilent
}

// answered records that a server answered. wasSuspect reports whether the master was suspect until now: then its
// connection was silent, too.
func (l *lateDelivery) answered(runID string, wasSuspect bool, now time.Time) {
	switch {
	case l.state == lateNone: // the hot path
	case l.isReplaced(runID):
		l.state = lateNone
	case l.state == lateSilent, wasSuspect:
		l.state, l.answeredAt = lateDraining, now
		l.until = now.Add(min(now.Sub(l.silentSince), maxRTO) + initialRTO)
	case !now.Before(l.until):
		l.state = lateNone
	}
}

// isReplaced reports whether runID is of another process than the one whose connections were lost. That one has ended,
// and its connections with it.
func (l *lateDelivery) isReplaced(runID string) bool {
	return l.runID != "" && runID != "" && runID != l.runID
}

// mayOvertake reports whether a release that was just answered may have reached the master before an operation that it
// undoes. The first such operation was asked at firstAsked.
func (l *lateDelivery) mayOvertake(firstAsked time.Time) bool {
	return l.state != lateNone && firstAsked.Before(l.answeredAt)
}

// repeatAt returns when to repeat a release that was answered at now and first confirmed at confirmed. ok is false if
// it need not be repeated.
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
