package node

import "time"

// recoverCalls gives the pursued calls that the shared connection left unanswered to the recovery.
func (p *pipe) recoverCalls(calls []*Call, now time.Time) {
	if len(calls) == 0 {
		return
	}
	for _, c := range calls {
		p.recovery.orphans = append(p.recovery.orphans, orphan{call: c})
	}
	p.startRecovery(now)
}

// startRecovery starts the recovery's goroutine if a call is due. Otherwise it sets the alarm for the next call.
func (p *pipe) startRecovery(now time.Time) {
	r := &p.recovery
	if r.running || p.closed {
		return
	}
	r.giveUp(now)
	due, ok := r.next()
	switch {
	case !ok:
		r.size = maxBatch
	case due.After(now):
		p.alarm.By(due)
	default:
		r.running = true
		p.spawn(p.recover)
	}
}

// recover is the recovery's goroutine.
func (p *pipe) recover() error {
	for p.recoverStep() {
	}
	return nil
}

// recoverStep makes the recovery connection if there is none, and otherwise sends a batch over it and receives the
// replies. It reports whether there may be more to do.
func (p *pipe) recoverStep() bool {
	p.mu.Lock()
	r, now := &p.recovery, p.clock.Now()
	r.giveUp(now)
	due, ok := r.next()
	switch {
	case !ok, due.After(now), p.closed:
		p.endRecovery(now)
		return false
	case r.conn == nil:
		p.mu.Unlock()
		return p.connectRecovery(now)
	}
	l, patience := r.conn, r.patience
	batch := r.load(now)
	n := len(batch)
	for _, c := range batch {
		c.f.sent = now
		l.put(c.bytes())
	}
	p.mu.Unlock()

	silent := p.clock.AfterFunc(patience, l.close)
	defer silent.Stop()
	_ = l.flush() // receive reports the error
	for left := n; left > 0; silent.Reset(patience) {
		left = p.receiveRecovery(l, n)
	}
	return true
}

// connectRecovery makes the recovery connection. It reports whether it succeeded. A server that answers the handshake
// has executed what it received before, so the TTLs of the orphans' keys are running. Only what the network may still
// deliver is excepted; see doubt.
func (p *pipe) connectRecovery(began time.Time) bool {
	l, err := p.open()
	now := p.clock.Now()
	p.mu.Lock()
	r := &p.recovery
	if err != nil || p.closed {
		r.waitLonger(now)
		p.endRecovery(now)
		if err == nil {
			l.close()
		}
		return false
	}
	r.conn, r.patience = l, max(recoveryTimeout, 4*now.Sub(began))
	for _, o := range r.orphans {
		if o.call.f.expiresAt.IsZero() {
			o.call.f.expiresAt = now.Add(longestWait + firstRepetition + o.call.Delivery.KeyTTL)
		}
	}
	p.mu.Unlock()
	return true
}

// endRecovery closes the recovery connection and lets the goroutine end; startRecovery starts it again when a call is
// due. It is called with the pipe's mutex, and returns without it.
func (p *pipe) endRecovery(now time.Time) {
	r := &p.recovery
	l := r.conn
	r.conn, r.running = nil, false
	p.startRecovery(now)
	p.endIfDrained()
	p.mu.Unlock()
	if l != nil {
		l.close()
	}
}

// receiveRecovery receives replies to a batch of n calls and delivers the votes. It returns how many calls of the batch
// are not settled.
func (p *pipe) receiveRecovery(l link, n int) (left int) {
	replies, err := l.receive()
	now := p.clock.Now()
	p.mu.Lock()
	r := &p.recovery
	out := settlement{pipe: p, server: l.server(), now: now}
	if len(replies) > len(r.sent) {
		replies, err = replies[:len(r.sent)], errUnasked
	}
	r.sent = dropFirst(r.sent, out.settleAll(r.sent, replies, err))
	left = len(r.sent)
	changed := false
	if out.heard {
		r.answered()
		if p.link == nil { // otherwise the shared connection decides whether the master is suspect
			changed = p.trust()
		}
		p.drive(now) // refused calls may have been queued again
	}
	r.putBack(out.again)
	r.broke(out.unanswered, n, out.heard, now)
	if out.broken {
		r.conn = nil
	}
	p.mu.Unlock()

	if out.broken {
		l.close()
	}
	if changed {
		p.tell(nil)
	}
	p.tellNews()
	for _, c := range out.cast {
		c.call.deliver(c.vote, now)
	}
	return left
}
