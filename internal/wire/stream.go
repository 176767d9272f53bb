package wire

import "time"

// gap returns the time between batches; 0 means one batch at a time.
func (p *pipe) gap() time.Duration {
	if p.conn.link == nil || !p.conn.link.streams() {
		return 0
	}
	return p.state.window.gap()
}

// scheduleNext makes sendAhead run when the window opens, if a batch waits for that.
func (p *pipe) scheduleNext(fx *effects) {
	if p.mayStream() && p.gap() > 0 {
		fx.sendAheadAt = p.state.window.opensAt()
	}
}

// mayStream reports whether a batch waits that may be sent while replies are outstanding.
func (p *pipe) mayStream() bool {
	c := &p.state.calls
	return len(c.written) > 0 && len(c.queue) > 0 && !c.pinging() && p.state.health.suspect == nil &&
		p.conn.writer == nil && !p.closing.closed
}

// sendAhead sends a batch while replies to earlier ones are outstanding.
func (p *pipe) sendAhead() {
	t, fx := p.nextAhead(p.clock.Now())
	p.apply(fx)
	if t.do == doFlush {
		p.finishWrite(t.link, t.link.flush())
	}
}

func (p *pipe) nextAhead(now time.Time) (t task, fx effects) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fx.now, t.do = now, doNothing
	switch {
	case p.gap() == 0, !p.mayStream():
	case p.state.window.stalled(p.conn.silentSince, now): // settle schedules the next batch
	case now.Before(p.state.window.opensAt()):
		p.scheduleNext(&fx)
	default:
		t = p.send(now, &fx)
	}
	return t, fx
}
