package node

import "time"

// tick looks after deadlines: of votes, of suspects, and of what is to be sent again.
func (p *pipe) tick() {
	now := p.clock.Now()
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	late, next := p.expire(p.wire, now, time.Time{})
	waiting, next := p.expire(p.queue, now, next)
	changed := p.watch(append(late, waiting...), now)
	orphaned, next := p.expire(p.recovery.calls(), now, next)
	late = append(late, orphaned...)
	var failed []*Call
	if changed {
		// Nobody waits for a suspect. Left in the queue, they would be looked through again at each of their deadlines.
		failed = p.abandon(now)
	}
	suspect := p.suspect
	p.sendDue(now)
	p.drive(now)
	p.startRecovery(now)
	p.endIfDrained()
	p.mu.Unlock()

	if !next.IsZero() {
		p.alarm.By(next)
	}
	if changed {
		p.tell(ErrTimeout)
	}
	for _, c := range late {
		c.deliver(unknown(ErrTimeout), now)
	}
	for _, c := range waiting {
		if c.Delivery.Durable {
			c.deliver(unknown(ErrTimeout), now)
		} else {
			c.deliver(unsent(ErrTimeout), now)
		}
	}
	for _, c := range failed {
		c.deliver(unsent(suspect), now)
	}
}

// expire marks the calls whose vote is due and returns them, and the earlier of next and the next deadline.
func (p *pipe) expire(calls []*Call, now, next time.Time) (due []*Call, _ time.Time) {
	for _, c := range calls {
		switch {
		case c.f.voted:
		case !c.Deadline.After(now):
			c.f.voted = true
			due = append(due, c)
		case next.IsZero() || c.Deadline.Before(next):
			next = c.Deadline
		}
	}
	return due, next
}
