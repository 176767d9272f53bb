package wire

import (
	"time"

	"github.com/redlock-go/redlock/node"
)

// close ends the pipe when it has nothing left to do, or at the deadline. It returns how many releases the master has
// not confirmed.
func (p *pipe) close(deadline time.Time) (unconfirmed int) {
	drained := p.beginClose(deadline)
	if drained == nil {
		return 0
	}
	over := make(chan struct{})
	timer := p.clock.AfterFunc(deadline.Sub(p.clock.Now()), func() { close(over) })
	defer timer.Stop()
	select {
	case <-drained:
	case <-over:
	}
	p.tickAlarm.Stop()
	fx, unconfirmed := p.endClose(p.clock.Now())
	p.apply(fx)
	p.windowAlarm.Stop() // only now: sendAhead may be writing to a connection that apply has closed
	return unconfirmed
}

// beginClose returns a channel that is closed when nothing is left to do; nil if the pipe is being closed already.
func (p *pipe) beginClose(deadline time.Time) (drained chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing.closed || p.closing.drained != nil {
		return nil
	}
	drained = make(chan struct{})
	p.closing.drained, p.closing.deadline = drained, deadline
	p.checkDrained()
	return drained
}

// checkDrained ends a waiting close if no call is left to wait for.
func (p *pipe) checkDrained() {
	if p.closing.drained == nil {
		return
	}
	idle := !p.driver.running && len(p.state.calls.queue) == 0 || p.conn.connecting && !p.state.calls.queuesDurable()
	if idle && !p.repeatsBy(p.closing.deadline) {
		close(p.closing.drained)
		p.closing.drained = nil
		p.shut()
	}
}

// repeatsBy reports whether a release must be sent again at t or earlier.
func (p *pipe) repeatsBy(t time.Time) bool {
	if p.recovery.running {
		return true
	}
	next := earliest(p.state.late.next(), p.state.refusals.next())
	if due, ok := p.state.recovery.next(); ok && !due.After(t) {
		return true
	}
	return !next.IsZero() && !next.After(t)
}

// shut makes the pipe accept nothing more. Its driver ends when it rests.
func (p *pipe) shut() {
	if !p.closing.closed {
		p.closing.closed = true
		close(p.driver.work)
	}
}

// endClose gives the open calls their votes and counts the releases that are not confirmed.
func (p *pipe) endClose(now time.Time) (fx effects, unconfirmed int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fx.now = now
	p.shut()
	s := &p.state
	for _, calls := range [][]*Call{s.calls.queue, s.calls.written, s.recovery.calls()} {
		for _, c := range calls {
			v := unsent(node.ErrClosed)
			if !c.flight.sent.IsZero() {
				v = unknown(node.ErrClosed)
			}
			if c.claimVote() {
				fx.deliveries = append(fx.deliveries, delivery{c, v})
			}
		}
	}
	unconfirmed = s.unconfirmed() // each open release has its vote now
	for _, l := range []link{p.conn.link, p.conn.standby, p.recovery.link} {
		if l != nil {
			fx.close = append(fx.close, l)
		}
	}
	return fx, unconfirmed
}
