package wire

import "time"

// recoveryConn is the connection over which the calls of a [recovery] are repeated, and the state of its goroutine.
type recoveryConn struct {
	running bool          // the goroutine runs
	link    link          // nil: there is none
	timeout time.Duration // how long link may be silent
}

// startRecovery starts the recovery's goroutine if a call is due. Otherwise tick will run when the next call is due.
func (p *pipe) startRecovery(now time.Time, fx *effects) {
	r := &p.state.recovery
	if p.recovery.running || p.closing.closed {
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
		p.recovery.running = true
		p.spawn(p.runRecovery)
	}
}

// runRecovery is the recovery's goroutine.
func (p *pipe) runRecovery() error {
	for p.recoverOnce() {
	}
	return nil
}

// recoverOnce makes the recovery connection if there is none, and otherwise sends a batch over it and receives the
// replies. It reports whether there may be more to do.
func (p *pipe) recoverOnce() bool {
	now := p.clock.Now()
	t, n, patience, fx := p.nextRecovery(now)
	p.apply(fx)
	switch t.do {
	case doConnect:
		return p.connectRecovery(now)
	case doFlush:
		silent := p.clock.AfterFunc(patience, t.link.close)
		defer silent.Stop()
		_ = t.link.flush() // receive reports the error
		for left := n; left > 0; silent.Reset(patience) {
			left = p.receiveRecovery(t.link, n)
		}
		return true
	default:
		return false
	}
}

// nextRecovery decides what the recovery does next: connect, write a batch of n calls, or rest.
func (p *pipe) nextRecovery(now time.Time) (t task, n int, patience time.Duration, fx effects) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r, l := &p.state.recovery, p.recovery.link
	r.dropExpired(now)
	due, ok := r.next()
	switch {
	case !ok, due.After(now), p.closing.closed:
		p.endRecovery(now, &fx)
		return task{do: doRest}, 0, 0, fx
	case l == nil:
		return task{do: doConnect}, 0, 0, fx
	}
	batch := r.load(now)
	for _, c := range batch {
		c.flight.sent = now
		l.put(c.bytes())
	}
	p.batches.count(len(batch))
	return task{do: doFlush, link: l}, len(batch), p.recovery.timeout, fx
}

// connectRecovery makes the recovery connection. It reports whether it succeeded.
func (p *pipe) connectRecovery(began time.Time) bool {
	l, err := p.open(0)
	now := p.clock.Now()
	fx, ok := p.recoveryConnected(l, err, now.Sub(began), now)
	p.apply(fx)
	return ok
}

func (p *pipe) recoveryConnected(l link, err error, took time.Duration, now time.Time) (fx effects, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := &p.state.recovery
	if err != nil || p.closing.closed {
		if err == nil {
			fx.close = append(fx.close, l)
		}
		r.waitLonger(err, now)
		p.endRecovery(now, &fx)
		return fx, false
	}
	p.recovery.link, p.recovery.timeout = l, max(recoveryTimeout, 4*took)
	r.connected(now)
	return fx, true
}

// endRecovery ends the recovery's goroutine and closes its connection. startRecovery starts another goroutine when a
// call is due.
func (p *pipe) endRecovery(now time.Time, fx *effects) {
	if p.recovery.link != nil {
		fx.close = append(fx.close, p.recovery.link)
	}
	p.recovery.link, p.recovery.running = nil, false
	p.startRecovery(now, fx)
	p.checkDrained()
}

// receiveRecovery receives replies to a batch of n calls and delivers the votes. It returns how many calls of the batch
// are not settled.
func (p *pipe) receiveRecovery(l link, n int) (left int) {
	replies, err := l.receive()
	fx, left := p.settleRecovery(l, n, replies, err, p.clock.Now())
	p.apply(fx)
	return left
}

func (p *pipe) settleRecovery(l link, n int, replies []reply, err error, now time.Time) (fx effects, left int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fx.now = now
	s, r := &p.state, &p.state.recovery
	out := settlement{state: s, server: l.server(), now: now}
	r.sent = dropFirst(r.sent, out.settleAll(r.sent, replies, err))
	if out.answered {
		r.answered()
		if p.conn.link == nil { // otherwise the shared connection decides whether the master is suspect
			fx.healthy(s.health.answer())
		}
		p.startDriver(now, &fx) // refused calls may have been queued again
	}
	r.putBack(out.retry)
	r.broke(out.unanswered, n, out.answered, out.err, now)
	if out.ended {
		p.recovery.link = nil
		fx.close = append(fx.close, l)
	}
	fx.deliveries, fx.reports = out.deliveries, out.reports
	p.wakeForRepetitions(&fx)
	return fx, len(r.sent)
}
