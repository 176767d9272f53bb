package node

import "time"

// close ends the pipe when nothing waits in it any more, or at the deadline. It returns how many releases nobody has confirmed.
func (p *pipe) close(deadline time.Time) int {
	p.mu.Lock()
	if p.closed || p.closing != nil {
		p.mu.Unlock()
		return 0
	}
	drained := make(chan struct{})
	p.closing, p.closeBy = drained, deadline
	p.endIfDrained()
	p.mu.Unlock()

	out := make(chan struct{})
	timer := p.clock.AfterFunc(deadline.Sub(p.clock.Now()), func() { close(out) })
	defer timer.Stop()
	select {
	case <-drained:
	case <-out:
	}
	p.alarm.Stop()

	p.mu.Lock()
	p.closing = nil
	p.shut()
	unconfirmed := len(p.later) + p.refusals.count()
	var open []*Call
	for _, calls := range [][]*Call{p.queue, p.wire, p.recovery.calls()} {
		for _, c := range calls {
			if c.Delivery.Durable && !c.needless() {
				unconfirmed++
			}
			if !c.f.voted {
				c.f.voted = true
				open = append(open, c)
			}
		}
	}
	links := []link{p.link, p.spare, p.recovery.conn}
	p.spare = nil // the link is settled by its receiver
	p.mu.Unlock()

	for _, l := range links {
		if l != nil {
			l.close()
		}
	}
	p.baton.Stop() // behind that: it may be writing
	now := p.clock.Now()
	for _, c := range open {
		if !c.f.sent.IsZero() {
			c.deliver(unknown(ErrClosed), now)
		} else {
			c.deliver(unsent(ErrClosed), now)
		}
	}
	return unconfirmed
}
