package wire

import "time"

// driver is the goroutine that writes calls and receives replies. It starts with the first call and runs until the pipe
// is closed: a new goroutine each time would grow its stack again, which costs an eighth of a lone caller's CPU time.
type driver struct {
	started bool
	running bool          // it has something to do
	work    chan struct{} // wakes it; closed with the pipe
}

// task is what the driver must do next, without the mutex.
type task struct {
	do         action
	link       link
	patience   time.Duration // for a connection, see [dialer.open]
	writerDone chan struct{} // to wait for
}

type action uint8

const (
	doRest        action = iota // nothing is left to do
	doReceive                   // receive replies from link
	doAwaitWriter               // wait until another goroutine has written
	doConnect                   // make a connection
	doVerify                    // send a PING over link
	doFlush                     // write the batch that was put into link
	doNothing                   // nothing now; the driver calls next again
)

// startDriver wakes the driver if it rests and calls wait. If the master is suspect, it makes tick do so when the next
// try is due.
func (p *pipe) startDriver(now time.Time, fx *effects) {
	if p.driver.running || p.closing.closed || len(p.state.calls.queue) == 0 {
		return
	}
	if !p.state.health.due(now) {
		fx.wake(p.state.health.retryAt)
		return
	}
	p.driver.running = true
	if !p.driver.started {
		p.driver.started = true
		p.spawn(p.drive)
	}
	p.driver.work <- struct{}{} // has room: the driver took the last one before it rested
}

// drive is the driver's goroutine.
func (p *pipe) drive() error {
	for range p.driver.work {
		for p.driveOnce() {
		}
	}
	return nil
}

// driveOnce does the next task. It reports whether there may be more to do.
func (p *pipe) driveOnce() bool {
	t, fx := p.next()
	p.apply(fx)
	switch t.do {
	case doRest:
		return false
	case doReceive:
		p.receive(t.link)
	case doAwaitWriter:
		<-t.writerDone
	case doConnect:
		return p.connect(t.patience)
	case doVerify:
		p.finishWrite(t.link, t.link.verify())
	case doFlush:
		p.finishWrite(t.link, t.link.flush())
	}
	return true
}

// next decides what the driver does next.
func (p *pipe) next() (t task, fx effects) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, conn := &p.state, &p.conn
	switch {
	case len(s.calls.written) > 0:
		return task{do: doReceive, link: conn.link}, fx
	case len(s.calls.queue) == 0, p.closing.closed:
		p.rest()
		return task{do: doRest}, fx
	case conn.link != nil && conn.writer == conn.link: // the replies arrived before the writer returned from writing
		if conn.writerDone == nil {
			conn.writerDone = make(chan struct{})
		}
		return task{do: doAwaitWriter, writerDone: conn.writerDone}, fx
	}
	now := p.clock.Now()
	fx.now, conn.silentSince = now, now
	if conn.link != nil {
		switch conn.link.state() {
		case linkUnverified:
			s.calls.ping(now)
			p.beginWrite(now)
			return task{do: doVerify, link: conn.link}, fx
		case linkEnded: // the master may be fine: the next connection carries the calls
			fx.close = append(fx.close, conn.link)
			conn.link = nil
		}
	}
	if conn.link == nil {
		switch {
		case conn.standby != nil:
			p.use(conn.standby, now, &fx)
			conn.standby = nil
		case !s.health.due(now):
			p.giveUp(s.health.suspect, now, &fx)
			return task{do: doRest}, fx
		default:
			conn.connecting = true
			p.checkDrained() // close may have begun since the driver was started
			return task{do: doConnect, patience: s.calls.patience()}, fx
		}
	}
	return p.send(now, &fx), fx
}

// use makes l the pipe's connection.
func (p *pipe) use(l link, now time.Time, fx *effects) {
	p.conn.link, p.conn.verified, p.state.window.rtt = l, false, minRTT{}
	p.conn.roleAt = now
	p.noteBar(l.server(), fx)
	p.state.servers.use(l.server().RunID)
	if report := p.state.rights.handshake(l.server().scripts, now); report != nil {
		fx.reports = append(fx.reports, report)
	}
}

// giveUp fails all queued calls but the durable ones, and ends the driver's work until the master may be tried again.
func (p *pipe) giveUp(err error, now time.Time, fx *effects) {
	fx.deliveries = append(fx.deliveries, p.state.calls.failQueued(err, now)...)
	p.rest()
	p.startDriver(now, fx)
}

// rest records that the driver has nothing to do.
func (p *pipe) rest() {
	p.driver.running = false
	p.checkDrained()
}

// connect makes a connection. It reports whether the driver has more to do.
func (p *pipe) connect(patience time.Duration) bool {
	began := p.clock.Now()
	l, err := p.open(patience)
	if err == nil {
		p.compareFirst(l, p.clock.Now().Sub(began), patience)
	}
	fx, ok := p.connected(l, err, p.clock.Now())
	p.apply(fx)
	return ok
}

func (p *pipe) connected(l link, err error, now time.Time) (fx effects, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fx.now = now
	p.conn.connecting = false
	switch {
	case err != nil:
		fx.suspect(p.state.health.fail(err, now), err)
		p.giveUp(err, now, &fx)
		return fx, false
	case p.closing.closed:
		fx.close = append(fx.close, l)
	default:
		if p.state.health.suspect == nil {
			p.state.calls.connected(now)
		}
		p.use(l, now, &fx)
	}
	return fx, true
}

// send puts the next batch into the connection, and returns the task to write it.
func (p *pipe) send(now time.Time, fx *effects) task {
	l := p.conn.link
	p.checkServers(now)
	batch, dropped := p.state.calls.load(l.server(), p.state.bar(l.server()), p.state.rights, now)
	fx.deliveries = append(fx.deliveries, dropped...)
	if len(batch) == 0 { // settle schedules the next one if calls wait for the recheck of a right
		return task{do: doNothing}
	}
	p.batches.count(len(batch))
	if p.asksRole(l, now) {
		batch = p.state.calls.ask(askRole, len(batch), now)
		p.conn.roleAt = now
	}
	if p.state.servers.doubt {
		batch = p.state.calls.ask(askServer, len(batch), now)
		p.state.servers.doubt = false
	}
	for _, c := range batch {
		l.put(c.bytes())
	}
	p.beginWrite(now)
	return task{do: doFlush, link: l}
}

// beginWrite records that a goroutine writes to the connection.
func (p *pipe) beginWrite(now time.Time) {
	p.conn.writer, p.state.window.lastSent = p.conn.link, now
}

// finishWrite ends a write to a connection.
func (p *pipe) finishWrite(l link, err error) {
	if err != nil {
		l.close() // the receiver settles what was written
	}
	p.apply(p.wrote(l))
}

func (p *pipe) wrote(l link) (fx effects) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn.writer == l {
		p.conn.writer = nil
		if p.conn.writerDone != nil {
			close(p.conn.writerDone)
			p.conn.writerDone = nil
		}
	}
	p.scheduleNext(&fx)
	return fx
}

// receive waits for replies and delivers the resulting votes. Only the driver calls it, so only the driver removes
// calls from the written ones.
func (p *pipe) receive(l link) {
	replies, err := l.receive()
	fx := p.settle(l, replies, err, p.clock.Now())
	p.apply(fx)
	clear(fx.deliveries)
	p.scratch = fx.deliveries[:0]
}

func (p *pipe) settle(l link, replies []reply, err error, now time.Time) (fx effects) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fx.now = now
	s := &p.state
	if n := min(len(replies), len(s.calls.written)); n > 0 {
		p.conn.silentSince = now
		s.window.rtt.measure(now.Sub(s.calls.written[n-1].flight.sent), now)
	}
	out := settlement{state: s, server: l.server(), now: now, deliveries: p.scratch}
	s.calls.dropSettled(out.settleAll(s.calls.written, replies, err))
	s.calls.retry(out.retry)
	if out.changed {
		l.change(out.server)
	}
	switch {
	case out.ended:
		fx.close = append(fx.close, l)
		p.lost(&out, &fx)
	case out.answered:
		p.conn.verified, p.conn.server = true, out.server
		p.noteBar(out.server, &fx)
		fx.healthy(s.health.answer())
	}
	s.recovery.add(out.unanswered)
	if len(out.unanswered) > 0 {
		p.startRecovery(now, &fx)
	}
	fx.deliveries, fx.reports = out.deliveries, append(fx.reports, out.reports...)
	p.wakeForRepetitions(&fx)
	p.scheduleNext(&fx)
	return fx
}

// lost handles the end of the pipe's connection. If the connection never carried an answer, or the wrong one, the
// master becomes suspect, because the next connection would probably end in the same way. Otherwise the driver connects
// again.
func (p *pipe) lost(out *settlement, fx *effects) {
	p.conn.link = nil
	if out.lost {
		p.state.late.connLost(out.server.RunID, out.lostSince)
	}
	if out.malformed != nil || !p.conn.verified && !out.answered && !out.onlyPing {
		fx.suspect(p.state.health.fail(out.err, out.now), out.err)
	}
}
