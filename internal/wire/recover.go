package wire

import "time"

// recoveryTimeout is the shortest time for which a recovery connection may be silent before it is closed.
const recoveryTimeout = 2 * time.Second

// recoveryConn is the connection for the calls of the [outbox] that must not go over the shared one, and the state of
// its goroutine. There is at most one such connection at a time, and its failures do not make the master suspect.
type recoveryConn struct {
	running bool          // the goroutine runs
	link    link          // nil: there is none
	timeout time.Duration // how long link may be silent
	lane    *lane         // the lane of the calls that are sent
	sent    []*Call       // the unanswered calls of the current batch
	retryAt time.Time     // when the next connection may be made
	backoff time.Duration // between two connections
}

// orphans returns the durable calls without an answer whose connection ended.
func (co *core) orphans() []*Call { return append(co.state.outbox.spare(), co.recovery.sent...) }

// nextOrphan returns when the next orphan may be sent; the zero time if there is none.
func (co *core) nextOrphan() time.Time {
	next := co.state.outbox.next(true)
	if next.IsZero() {
		return next
	}
	return later(next, co.recovery.retryAt)
}

// waitLonger doubles the backoff after a failure with err, and postpones the next connection by it.
func (r *recoveryConn) waitLonger(err error, now time.Time) {
	r.backoff = longer(r.backoff, err)
	r.retryAt = now.Add(r.backoff)
}

// startRecovery starts the recovery's goroutine if a call is due. Otherwise tick will run when the next call is due.
func (co *core) startRecovery(now time.Time, fx *effects) {
	if co.recovery.running || co.closing.closed {
		return
	}
	if due := co.nextOrphan(); due.IsZero() || due.After(now) {
		fx.wake(due)
		return
	}
	co.recovery.running = true
	fx.start |= startRecovery
}

// nextRecovery decides what the recovery does next: connect, write a batch of n calls, or rest.
func (co *core) nextRecovery(now time.Time) (t task, n int, patience time.Duration, fx effects) {
	r := &co.recovery
	co.state.outbox.drop(now)
	due := co.nextOrphan()
	switch {
	case due.IsZero(), due.After(now), co.closing.closed:
		co.endRecovery(now, &fx)
		return task{do: doRest}, 0, 0, fx
	case r.link == nil:
		return task{do: doConnect}, 0, 0, fx
	}
	r.lane, r.sent = co.state.outbox.takeSpare(now)
	for _, c := range r.sent {
		c.flight.sent = now
		r.link.put(c.bytes())
	}
	co.batches.count(len(r.sent))
	return task{do: doFlush, link: r.link}, len(r.sent), r.timeout, fx
}

// recoveryConnected records what became of an attempt to make the recovery connection, which took that long. It
// reports whether it succeeded.
//
// A master that answered the handshake has executed all that it received before, so the TTLs of the orphans' keys are
// running. Only the network may still deliver an acquire, for as long as lateDelivery explains.
func (co *core) recoveryConnected(l link, err error, took time.Duration, now time.Time) (fx effects, ok bool) {
	if err != nil || co.closing.closed {
		if err == nil {
			fx.close = append(fx.close, l)
		}
		co.recovery.waitLonger(err, now)
		co.endRecovery(now, &fx)
		return fx, false
	}
	co.recovery.link, co.recovery.timeout = l, max(recoveryTimeout, 4*took)
	for _, c := range co.orphans() {
		c.expireAt(now.Add(maxRTO + initialRTO + c.KeyTTL))
	}
	return fx, true
}

// endRecovery ends the recovery's goroutine and closes its connection. startRecovery starts another goroutine when a
// call is due.
func (co *core) endRecovery(now time.Time, fx *effects) {
	if co.recovery.link != nil {
		fx.close = append(fx.close, co.recovery.link)
	}
	co.recovery.link, co.recovery.running = nil, false
	co.startRecovery(now, fx)
	co.checkDrained(fx)
}

// settleRecovery records the replies to a batch of n calls. It returns how many calls of the batch are not settled.
func (co *core) settleRecovery(l link, n int, replies []reply, err error, now time.Time) (fx effects, left int) {
	fx.now = now
	s, r := &co.state, &co.recovery
	out := settlement{state: s, server: l.server(), now: now}
	r.sent = dropFirst(r.sent, out.settleAll(r.sent, replies, err))
	if out.answered {
		r.backoff = 0
		if co.conn.link == nil { // otherwise the shared connection decides whether the master is suspect
			fx.healthy(s.health.answer())
		}
	}
	for _, c := range out.retry {
		s.outbox.owe(owedUnanswered, c, now, now)
	}
	switch {
	case len(out.unanswered) > 0:
		s.outbox.broke(r.lane, n, out.unanswered, now)
		if n > 1 && !out.answered {
			r.waitLonger(out.err, now)
		}
	case len(r.sent) == 0:
		r.lane.succeeded()
	}
	if out.ended {
		r.link = nil
		fx.close = append(fx.close, l)
	}
	fx.deliveries, fx.reports = out.deliveries, out.reports
	co.startDriver(now, &fx) // refused calls may have been queued again
	fx.wake(s.outbox.next(false))
	return fx, len(r.sent)
}
