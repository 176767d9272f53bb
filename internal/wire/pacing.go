package wire

import "time"

// A master nearby gets one batch at a time: it is best to send the calls together that arrive during a round trip of a
// fraction of a millisecond. With a distant master, a call would then wait almost one round trip on average before it
// is sent. So a distant master gets a batch every fraction of a round trip, while the replies to earlier batches are
// outstanding. All go over one connection, in order.

const (
	// maxInFlight is how many batches share a round trip. So a call waits at most for that part of it before it is sent.
	maxInFlight = 8
	// minGap is the shortest time between batches. Where the gap would be shorter, one batch is sent at a time.
	minGap = time.Millisecond
	// rttWindow is how long a measured round trip counts: at least this, at most twice this. The path may become longer.
	// BBR uses the same time (Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 14:5, 2016).
	rttWindow = 10 * time.Second
	// longYield is the time slice of Go's scheduler. A yield that takes this long waited for goroutines that compute.
	longYield = 10 * time.Millisecond
	// maxPause bounds the pause after a long yield, see yield.pause.
	maxPause = 1023
)

// pacing decides when the next batch is sent.
type pacing struct {
	lastSent time.Time // when the last batch was sent
	rtt      minRTT
	yield    yield
}

// gap returns the time between batches; 0 means one batch at a time.
func (p *pacing) gap() time.Duration {
	if g := p.rtt.shortest / maxInFlight; g >= minGap {
		return g
	}
	return 0
}

// nextAt returns when the next batch may be sent.
func (p *pacing) nextAt() time.Time { return p.lastSent.Add(p.gap()) }

// stalled reports whether the master has been silent for longer than two round trips. More batches would only fill its
// socket buffer.
func (p *pacing) stalled(silentSince, now time.Time) bool {
	return now.Sub(silentSince) > 2*p.rtt.shortest
}

// yield decides whether the driver yields before it sends a batch. Callers with a fresh vote then run first and add
// their next calls, so there are fewer writes. Where goroutines compute without a pause, a yield takes as long as their
// time slices. So after a long yield, many more batches are sent before the next one; after a short one, half as many.
type yield struct {
	batch       int       // how many calls the last batch had: a lone caller gains nothing
	began       time.Time // when the driver began to yield; zero: it does not
	pause, left int       // how many batches follow the last yield without another, and how many of them remain
}

// before reports whether the driver yields now, before it sends a batch. After the yield, the driver asks again.
func (y *yield) before(now time.Time) bool {
	switch {
	case !y.began.IsZero():
		if now.Sub(y.began) < longYield {
			y.pause /= 2
		} else {
			y.pause = min(16*y.pause+15, maxPause)
		}
		y.began, y.left = time.Time{}, y.pause
	case y.left > 0:
		y.left--
	case y.batch > 1:
		y.began = now
	}
	return !y.began.IsZero()
}

// minRTT is the shortest of the latest round trips of a connection. Longer round trips include waiting. The zero value
// has measured none.
type minRTT struct {
	shortest time.Duration
	// current and previous are the shortest of the period that began at since, and of the one before it.
	current, previous time.Duration
	since             time.Time
}

// measure records a round trip that ended at now.
func (m *minRTT) measure(rtt time.Duration, now time.Time) {
	switch {
	case m.since.IsZero(), now.Sub(m.since) >= 2*rttWindow:
		m.current, m.previous, m.since = rtt, rtt, now
	case now.Sub(m.since) >= rttWindow:
		m.current, m.previous, m.since = rtt, m.current, now
	}
	m.current = min(m.current, rtt)
	m.shortest = min(m.current, m.previous)
}

// gap is that of the connection's pacing. Without a connection that carries several batches at once it is 0.
func (co *core) gap() time.Duration {
	if co.conn.link == nil || !co.conn.link.Streams() {
		return 0
	}
	return co.state.pacing.gap()
}

// scheduleNext makes sendAhead run when the next batch may be sent, if one waits for that.
func (co *core) scheduleNext(fx *effects) {
	if co.mayStream() && co.gap() > 0 {
		fx.sendAheadAt = co.state.pacing.nextAt()
	}
}

// mayStream reports whether a batch waits that may be sent while replies are outstanding.
func (co *core) mayStream() bool {
	c := &co.state.calls
	return len(c.written) > 0 && len(c.queue) > 0 && !c.pinging() && co.state.health.suspect == nil &&
		co.conn.writer == nil && co.conn.successor == nil && !co.closing.closed
}

// nextAhead decides whether a batch is sent while replies to earlier ones are outstanding.
func (co *core) nextAhead(now time.Time) (t task, fx effects) {
	fx.now, t.do = now, doNothing
	switch {
	case co.gap() == 0, !co.mayStream():
	case co.state.pacing.stalled(co.conn.silentSince, now): // settle schedules the next batch
	case now.Before(co.state.pacing.nextAt()):
		co.scheduleNext(&fx)
	default:
		t = co.send(now, &fx)
	}
	return t, fx
}
