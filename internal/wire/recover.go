package wire

import "time"

// recoveryConn is the connection over which the calls of a [recovery] are repeated, and the state of its goroutine.
type recoveryConn struct {
	running bool          // the goroutine runs
	link    link          // nil: there is none
	timeout time.Duration // how long link may be silent
}

// startRecovery starts the recovery's goroutine if a call is due. Otherwise tick will run when the next call is due.
func (co *core) startRecovery(now time.Time, fx *effects) {
	r := &co.state.recovery
	if co.recovery.running || co.closing.closed {
		return
	}
	r.dropExpired(now)
	due, ok := r.next()
	switch {
	case !ok:
		r.size = maxBatch
	case due.After(now):
		fx.wake(due)
	default:
		co.recovery.running = true
		fx.start |= startRecovery
	}
}

// nextRecovery decides what the recovery does next: connect, write a batch of n calls, or rest.
func (co *core) nextRecovery(now time.Time) (t task, n int, patience time.Duration, fx effects) {
	r, l := &co.state.recovery, co.recovery.link
	r.dropExpired(now)
	due, ok := r.next()
	switch {
	case !ok, due.After(now), co.closing.closed:
		co.endRecovery(now, &fx)
		return task{do: doRest}, 0, 0, fx
	case l == nil:
		return task{do: doConnect}, 0, 0, fx
	}
	batch := r.load(now)
	for _, c := range batch {
		c.flight.sent = now
		l.put(c.bytes())
	}
	co.batches.count(len(batch))
	return task{do: doFlush, link: l}, len(batch), co.recovery.timeout, fx
}

// recoveryConnected records what became of an attempt to make the recovery connection, which took that long. It
// reports whether it succeeded.
func (co *core) recoveryConnected(l link, err error, took time.Duration, now time.Time) (fx effects, ok bool) {
	r := &co.state.recovery
	if err != nil || co.closing.closed {
		if err == nil {
			fx.close = append(fx.close, l)
		}
		r.waitLonger(err, now)
		co.endRecovery(now, &fx)
		return fx, false
	}
	co.recovery.link, co.recovery.timeout = l, max(recoveryTimeout, 4*took)
	r.connected(now)
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
	s, r := &co.state, &co.state.recovery
	out := settlement{state: s, server: l.server(), now: now}
	r.sent = dropFirst(r.sent, out.settleAll(r.sent, replies, err))
	if out.answered {
		r.answered()
		if co.conn.link == nil { // otherwise the shared connection decides whether the master is suspect
			fx.healthy(s.health.answer())
		}
		co.startDriver(now, &fx) // refused calls may have been queued again
	}
	r.putBack(out.retry)
	r.broke(out.unanswered, n, out.answered, out.err, now)
	if out.ended {
		co.recovery.link = nil
		fx.close = append(fx.close, l)
	}
	fx.deliveries, fx.reports = out.deliveries, out.reports
	co.wakeForRepetitions(&fx)
	return fx, len(r.sent)
}
