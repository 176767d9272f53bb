package node

import "time"

// connect makes a link. Without one everything that waits has failed, except what is pursued.
func (p *pipe) connect() bool {
	l, err := p.open()
	now := p.clock.Now()
	p.mu.Lock()
	if err == nil && p.closed {
		p.mu.Unlock()
		l.close()
		return true
	}
	if err == nil {
		p.take(l, now)
		p.mu.Unlock()
		return true
	}
	changed := p.fail(err, now)
	failed := p.pause(now)
	p.mu.Unlock()
	if changed {
		p.tell(err)
	}
	for _, c := range failed {
		c.deliver(unsent(err), now)
	}
	return false
}

// pause ends the driver until the suspect is due to be tried again. Everything that waits has failed, except what is
// pursued; the calls whose vote is due are returned.
func (p *pipe) pause(now time.Time) (failed []*Call) {
	failed = p.abandon(now)
	p.rest()
	p.drive(now) // pursued calls go on when the master is due
	return failed
}

// abandon takes every call out of the queue that need not be pursued, and returns those whose vote is due.
func (p *pipe) abandon(now time.Time) (failed []*Call) {
	kept, back := p.queue[:0], 0
	for i, c := range p.queue {
		switch {
		case c.Delivery.Durable && !c.expired(now) && !c.needless():
			kept = append(kept, c)
			if i < p.back {
				back++
			}
		case !c.f.voted:
			c.f.voted = true
			failed = append(failed, c)
		}
	}
	clear(p.queue[len(kept):])
	p.queue, p.back = kept, back
	return failed
}
