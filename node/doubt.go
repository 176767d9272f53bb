package node

import (
	"slices"
	"sort"
	"time"
)

const (
	// secondLook is when a release is sent again at the earliest: one that the master refused, and one that may have come
	// before what it is to undo.
	secondLook = 500 * time.Millisecond
	// firstRepetition is added to the time for which a lost connection had been silent: the first interval after which a TCP
	// repeats what was not acknowledged, a second while it knows nothing of the path.
	firstRepetition = time.Second
	// longestWait is the longest interval between two such repetitions (RFC 6298 and Linux: two minutes; others less).
	longestWait = 2 * time.Minute
)

// doubt is about what may still be on its way in a connection that ended without an answer. The acquire that a release is
// to undo may lie there, in a buffer of the master, of a proxy, or of a kernel that repeats it, and arrive when the
// release has been confirmed on the next connection. Ending the old connection takes back what lies on this side only.
//
// How late can it come? A TCP repeats at intervals that double, counted from the first sending. If the path was closed
// for the time s, the next repetition comes at most s, and one first interval, after it opened. So from the moment at
// which the master answers again, and for as long again as it had been silent before, releases are repeated: half a
// second after they were confirmed, then at doubling ages, and a last time when nothing can come any more. So a
// late acquire is undone within half a second, or within the time that it was late.
//
// A release is repeated only if what it undoes was asked before the master answered again (see [Delivery.FirstAsked]): all later
// calls went over the new connection, in order. And it is repeated for no longer than its [Delivery.KeyTTL] after it was
// confirmed. What comes later than that lives for a shorter time than it was late, by its TTL, and looking
// at doubling ages promises no more.
type doubt struct {
	inDoubt     bool      // a connection ended with calls unanswered, and the master has answered none since
	silentSince time.Time // when the oldest call was sent that may still be on its way; zero: none is
	runID       string    // of the server that it was sent to
	backSince   time.Time // when the master answered again
	doubtUntil  time.Time // when everything has arrived, if the master stays
	later       []pending // what is to be sent again, in the order it is due
}

// pending is a pursued call that is to be sent again.
type pending struct {
	call *Call
	due  time.Time
}

// lose notes that a connection ended with calls unanswered that were sent to that server at that time.
func (d *doubt) lose(runID string, sent time.Time) {
	if d.silentSince.IsZero() {
		d.silentSince, d.runID = sent, runID
	}
	d.inDoubt = true
}

// heard notes that a server answered; again, if it had been suspect.
func (d *doubt) heard(runID string, again bool, now time.Time) {
	switch {
	case d.silentSince.IsZero():
	case d.runID != "" && runID != "" && runID != d.runID: // the process has ended, and its connections with it
		d.inDoubt, d.silentSince = false, time.Time{}
	case d.inDoubt, again: // a silence on the new connection too puts off what the old one holds
		silent := now.Sub(d.silentSince)
		d.inDoubt, d.backSince = false, now
		d.doubtUntil = now.Add(min(silent, longestWait) + firstRepetition)
	case !now.Before(d.doubtUntil):
		d.silentSince = time.Time{}
	}
}

// lookAgain says when a release that was just confirmed is to be sent again; ok is false if never.
func (d *doubt) lookAgain(c *Call, now time.Time) (at time.Time, ok bool) {
	if d.silentSince.IsZero() || !c.Delivery.FirstAsked.Before(d.backSince) {
		return at, false
	}
	if c.f.confirmed.IsZero() {
		c.f.confirmed = now
	}
	last := c.f.confirmed.Add(c.Delivery.KeyTTL + firstRepetition)
	if d.doubtUntil.Before(last) {
		last = d.doubtUntil
	}
	at = now.Add(max(secondLook, now.Sub(d.backSince)))
	if last.Before(at) {
		at = last
	}
	return at, now.Before(last)
}

// dueBy reports whether something is to be sent again at t or earlier.
func (p *pipe) dueBy(t time.Time) bool {
	refused := p.refusals.next()
	return len(p.later) > 0 && !p.later[0].due.After(t) || !refused.IsZero() && !refused.After(t) || p.recovery.dueBy(t)
}

// resend has a pursued call sent again at due.
func (p *pipe) resend(c *Call, due time.Time) {
	i := sort.Search(len(p.later), func(i int) bool { return p.later[i].due.After(due) })
	p.later = slices.Insert(p.later, i, pending{c, due})
	p.alarm.By(due)
}

// sendDue queues again what is due.
func (p *pipe) sendDue(now time.Time) {
	n := 0
	for n < len(p.later) && !p.later[n].due.After(now) {
		p.queue = append(p.queue, p.later[n].call)
		n++
	}
	p.later = slices.Delete(p.later, 0, n)
	p.queue = append(p.queue, p.refusals.due(now)...)
	if next := p.refusals.next(); !next.IsZero() {
		p.alarm.By(next)
	}
	if len(p.later) > 0 {
		p.alarm.By(p.later[0].due)
	}
}
