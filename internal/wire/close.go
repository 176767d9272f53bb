package wire

import (
	"time"

	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/node"
)

// beginClose returns a channel that is closed when nothing is left to do; nil if the pipe is being closed already.
func (co *core) beginClose(deadline time.Time) (drained chan struct{}, fx effects) {
	if co.closing.closed || co.closing.drained != nil {
		return nil, fx
	}
	drained = make(chan struct{})
	co.closing.drained, co.closing.deadline = drained, deadline
	co.checkDrained(&fx)
	return drained, fx
}

// checkDrained ends a waiting close if no call is left to wait for.
func (co *core) checkDrained(fx *effects) {
	if co.closing.drained == nil {
		return
	}
	idle := !co.driver.busy && len(co.state.calls.queue) == 0 ||
		co.conn.state == connDialing && !co.state.calls.queuesDurable()
	if idle && !co.repeatsBy(co.closing.deadline) {
		close(co.closing.drained)
		co.closing.drained = nil
		co.shut(fx)
	}
}

// repeatsBy reports whether a release must be sent again at t or earlier.
func (co *core) repeatsBy(t time.Time) bool {
	next := earliest(co.state.outbox.dueMain(), co.nextOrphan())
	return len(co.spare.sent) > 0 || !next.IsZero() && !next.After(t)
}

// shut makes the pipe accept nothing more. Its driver ends when it rests.
func (co *core) shut(fx *effects) {
	if !co.closing.closed {
		co.closing.closed = true
		fx.endDriver = true
	}
}

// endClose gives the open calls their votes and counts the releases that are not confirmed.
func (co *core) endClose(now time.Time) (fx effects, unconfirmed int) {
	fx.now = now
	co.shut(&fx)
	for c := range co.allCalls() {
		v := unsent(node.ErrClosed)
		if c.sent {
			v = unknown(node.ErrClosed)
		}
		if c.claimVote() {
			fx.deliveries = append(fx.deliveries, delivery{c, v})
		}
	}
	unconfirmed = co.unconfirmed() // each open release has its vote now
	for _, l := range []link.Link{co.conn.link, co.conn.successor, co.spare.link} {
		if l != nil {
			fx.close = append(fx.close, l)
		}
	}
	return fx, unconfirmed
}
