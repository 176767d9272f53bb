package node

import (
	"time"

	"github.com/redlock-go/redlock/clock"
)

// A master nearby gets one batch at a time: what gathers during a round trip of a fraction of a millisecond is better sent
// together. To a master that is far that would make callers wait for each other's round trip, nearly another one on average. It
// gets batches at a pace, a fraction of the round trip apart, while earlier ones are under way. They go over the one
// connection, in order.

const (
	// overlaps is how many batches share a round trip: the last caller of a batch waits for that part of it.
	overlaps = 8
	// leastGap is the shortest time between batches. On a link on which it would be shorter there is one batch at a time.
	leastGap = time.Millisecond
	// lately is how long a round trip counts, at least, and twice that at most: a way may become longer. BBR looks back as far
	// (Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 14:5, 2016).
	lately = 10 * time.Second
)

// pace is when the next batch may leave while earlier ones are under way. The pipe's mutex guards it.
type pace struct {
	baton  *clock.Alarm  // rings overlap
	left   time.Time     // when the last batch left
	sender link          // is being written to
	sent   chan struct{} // closed when that is over; nil: nobody waits for it
	trip   way
}

// way is the shortest of a link's latest round trips: it is the way itself, the others have waited on it. The zero value
// has timed none.
type way struct {
	shortest time.Duration
	// The shortest of the period that runs since, and of the one before.
	running, before time.Duration
	since           time.Time
}

func (w *way) timed(trip time.Duration, now time.Time) {
	switch {
	case w.since.IsZero(), now.Sub(w.since) >= 2*lately:
		w.running, w.before, w.since = trip, trip, now
	case now.Sub(w.since) >= lately:
		w.running, w.before, w.since = trip, w.running, now
	}
	w.running = min(w.running, trip)
	w.shortest = min(w.running, w.before)
}

// gap is the time between batches; 0: one at a time.
func (p *pipe) gap() time.Duration {
	if g := p.trip.shortest / overlaps; g >= leastGap && p.link != nil && p.link.streams() {
		return g
	}
	return 0
}

// keepPace has the next batch sent when it may leave, if it need not wait for the driver.
func (p *pipe) keepPace() {
	if gap := p.gap(); gap > 0 && p.mayOverlap() {
		p.baton.By(p.left.Add(gap))
	}
}

// mayOverlap: there is something to send behind what is under way.
func (p *pipe) mayOverlap() bool {
	return len(p.wire) > 0 && len(p.queue) > 0 && p.sender == nil && p.suspect == nil && p.link != nil && !p.closed &&
		!p.verifying()
}

// overlap sends a batch behind those that are under way.
func (p *pipe) overlap() {
	now := p.clock.Now()
	p.mu.Lock()
	gap := p.gap()
	switch {
	case gap == 0, !p.mayOverlap(), now.Sub(p.quiet) > 2*p.trip.shortest:
		// Nothing to do, or the master is silent, and what it is sent would lie there. The next receipt begins anew.
		p.mu.Unlock()
	case now.Before(p.left.Add(gap)):
		p.keepPace()
		p.mu.Unlock()
	default:
		p.send(now)
	}
}
