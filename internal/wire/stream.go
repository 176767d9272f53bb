package wire

import "time"

// gap returns the time between batches; 0 means one batch at a time.
func (co *core) gap() time.Duration {
	if co.conn.link == nil || !co.conn.link.streams() {
		return 0
	}
	return co.state.window.gap()
}

// scheduleNext makes sendAhead run when the window opens, if a batch waits for that.
func (co *core) scheduleNext(fx *effects) {
	if co.mayStream() && co.gap() > 0 {
		fx.sendAheadAt = co.state.window.opensAt()
	}
}

// mayStream reports whether a batch waits that may be sent while replies are outstanding.
func (co *core) mayStream() bool {
	c := &co.state.calls
	return len(c.written) > 0 && len(c.queue) > 0 && !c.pinging() && co.state.health.suspect == nil &&
		co.conn.writer == nil && !co.closing.closed
}

// nextAhead decides whether a batch is sent while replies to earlier ones are outstanding.
func (co *core) nextAhead(now time.Time) (t task, fx effects) {
	fx.now, t.do = now, doNothing
	switch {
	case co.gap() == 0, !co.mayStream():
	case co.state.window.stalled(co.conn.silentSince, now): // settle schedules the next batch
	case now.Before(co.state.window.opensAt()):
		co.scheduleNext(&fx)
	default:
		t = co.send(now, &fx)
	}
	return t, fx
}
