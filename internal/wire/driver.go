package wire

import (
	"time"

	"github.com/redlock-go/redlock/internal/link"
)

// driver is what the core knows of the goroutine that writes calls and receives replies. It runs from the first call
// until the pipe is closed: a new goroutine for each batch would grow its stack each time.
type driver struct {
	started bool
	busy    bool // it has something to do
}

// task is what the goroutine of the driver, or of the spare connection, does next, without the mutex.
type task struct {
	do         action
	link       link.Link
	patience   time.Duration // for doConnect, see [link.Master]
	writerDone chan struct{} // for doAwaitWriter

	// Of the spare connection:
	calls           int           // for doFlush: how many calls the batch has
	maxSilence      time.Duration // for doFlush: how long the connection may be silent
	main            link.Link     // for doProve: the main connection
	mainSilentSince time.Time     // for doProve
}

type action uint8

const (
	doRest        action = iota // nothing is left to do
	doReceive                   // receive replies from link
	doAwaitWriter               // wait until another goroutine has written
	doYield                     // let other goroutines run
	doConnect                   // make a connection
	doVerify                    // send a PING over link
	doFlush                     // write the batch that was put into link
	doProve                     // see whether the main connection stays silent while link works
	doNothing                   // nothing was sent; the driver decides again
)

// rouse wakes the driver if it rests while calls wait. Until the next try of a suspect master is due, it leaves that to
// tick.
func (co *core) rouse(now time.Time, fx *effects) {
	if co.driver.busy || co.closing.closed || len(co.state.calls.queue) == 0 {
		return
	}
	if !co.state.health.due(now) {
		fx.wake(co.state.health.retryAt)
		return
	}
	co.driver.busy = true
	if !co.driver.started {
		co.driver.started = true
		fx.startDriver = true
	}
	fx.wakeDriver = true
}

// nextTask decides what the driver does next.
func (co *core) nextTask(now time.Time) (t task, fx effects) {
	s, conn := &co.state, &co.conn
	switch {
	case len(s.calls.written) > 0:
		return task{do: doReceive, link: conn.link}, fx
	case len(s.calls.queue) == 0, co.closing.closed:
		co.rest(&fx)
		return task{do: doRest}, fx
	case conn.link != nil && conn.writer == conn.link: // the replies arrived before the writer returned from writing
		if conn.writerDone == nil {
			conn.writerDone = make(chan struct{})
		}
		return task{do: doAwaitWriter, writerDone: conn.writerDone}, fx
	case s.health.suspect == nil && s.pacing.yield.before(now): // calls to a suspect one fail, so none joins
		return task{do: doYield}, fx
	}
	fx.now = now
	conn.silentSince = now
	switch l, verified := co.usable(now, &fx); {
	case l == nil && !s.health.due(now):
		co.giveUp(s.health.suspect, now, &fx)
		return task{do: doRest}, fx
	case l == nil:
		conn.state.on(connDial)
		co.checkDrained(&fx) // close may have begun since the driver was started
		return task{do: doConnect, patience: s.calls.patience()}, fx
	case !verified:
		s.calls.ask(ping, 0, now)
		co.beginWrite(now)
		return task{do: doVerify, link: l}, fx
	}
	t = co.send(now, &fx)
	return t, fx
}

// usable returns the connection for the next batch; nil if there is none. The successor replaces a connection that has
// ended, or that endProof has closed. If verified is false, a PING must first show whether the connection works.
func (co *core) usable(now time.Time, fx *effects) (l link.Link, verified bool) {
	conn := &co.conn
	for conn.link != nil || conn.successor != nil {
		if conn.link == nil { // the successor may have waited for long, so it is checked, too
			conn.state.on(connAdopted)
			co.use(conn.successor, conn.successorAt, fx)
			conn.successor = nil
		}
		state := conn.link.State()
		if conn.successor != nil { // endProof has closed the link, whose State may not show it yet
			state = link.Ended
		}
		if state != link.Ended {
			return conn.link, state != link.Unverified
		}
		fx.close = append(fx.close, conn.link) // the master may be fine: the next connection carries the calls
		conn.ended()
	}
	return nil, false
}

// use makes l the pipe's connection. The driver or the spare began to make it at began.
func (co *core) use(l link.Link, began time.Time, fx *effects) {
	co.conn.link, co.state.pacing.rtt = l, minRTT{}
	co.conn.roleAt = began
	co.noteBar(l.Server(), fx)
	co.state.servers.setMain(l.Server().RunID)
	if co.state.servers.gone(l.Server().RunID, began) {
		l.Replace()
	}
	if report := co.state.rights.handshake(l.Server().Scripts, began); report != nil {
		fx.reports = append(fx.reports, report)
	}
}

// giveUp fails all queued calls but the durable ones that still have something to undo. The driver rests until the
// master may be tried again.
func (co *core) giveUp(err error, now time.Time, fx *effects) {
	fx.deliveries = append(fx.deliveries, co.state.calls.failQueued(err, now)...)
	co.rest(fx)
	co.rouse(now, fx)
}

// rest records that the driver has nothing to do.
func (co *core) rest(fx *effects) {
	co.driver.busy = false
	co.checkDrained(fx)
}

// connected records what became of an attempt to connect. more: the driver does not rest yet.
func (co *core) connected(l link.Link, err error, now time.Time) (fx effects, more bool) {
	fx.now = now
	switch {
	case co.closing.closed: // err shows nothing of the master
		co.conn.state.on(connFailed)
		if err == nil {
			fx.close = append(fx.close, l)
		}
	case err != nil:
		co.conn.state.on(connFailed)
		fx.reportIf(co.state.health.fail(err, now), err)
		co.giveUp(err, now, &fx)
		return fx, false
	default:
		co.conn.state.on(connMade)
		if co.state.health.suspect == nil {
			fx.wake(co.state.calls.postponeQueued(now)) // tick may have waited for all of the calls' Connect
		}
		co.use(l, co.conn.silentSince, &fx) // when connecting began
	}
	return fx, true
}

// send puts the next batch into the connection, and returns the task to write it.
func (co *core) send(now time.Time, fx *effects) task {
	l := co.conn.link
	co.beginCheck(now, fx)
	server := l.Server()
	batch, dropped := co.state.calls.load(server, co.state.bar(server), co.state.rights, now)
	fx.deliveries = append(fx.deliveries, dropped...)
	if len(batch) == 0 { // settle schedules the next batch if calls wait for the recheck of a right
		return task{do: doNothing}
	}
	co.batches.count(len(batch))
	co.state.pacing.yield.batch = len(batch)
	// A link that does not stream asks for the role itself.
	if l.Streams() && server.Role != "" && now.Sub(co.conn.roleAt) >= roleInterval {
		batch = co.state.calls.ask(askRole, len(batch), now)
		co.conn.roleAt = now
	}
	if co.state.servers.doubt {
		batch = co.state.calls.ask(askServer, len(batch), now)
		co.state.servers.doubt = false
	}
	for _, c := range batch {
		l.Put(c.bytes())
	}
	co.beginWrite(now)
	if h := &co.state.health; h.suspect != nil { // all calls may be past their deadlines, and would not make tick run
		h.retryAt = later(h.retryAt, now.Add(max(retryMin, h.backoff)))
		co.startSpare(now, fx) // for the next proof
	}
	return task{do: doFlush, link: l}
}

// beginWrite records that a goroutine writes to the connection.
func (co *core) beginWrite(now time.Time) {
	co.conn.writer, co.state.pacing.lastSent = co.conn.link, now
}

// wrote records that a goroutine has written to a connection.
func (co *core) wrote(l link.Link) (fx effects) {
	if co.conn.writer == l {
		co.conn.writer = nil
		if co.conn.writerDone != nil {
			close(co.conn.writerDone)
			co.conn.writerDone = nil
		}
	}
	co.scheduleNext(&fx)
	return fx
}

// settle records what the driver received from l. Only settle removes calls from the written ones. It appends the
// deliveries to scratch.
func (co *core) settle(l link.Link, replies []link.Reply, err error, scratch []delivery, now time.Time) (fx effects) {
	fx.now = now
	s := &co.state
	if n := min(len(replies), len(s.calls.written)); n > 0 {
		co.conn.silentSince = now
		s.pacing.rtt.measure(now.Sub(s.calls.written[n-1].sentAt()), now)
	}
	out := settlement{state: s, server: l.Server(), now: now, deliveries: scratch}
	s.calls.written = dropFirst(s.calls.written, out.settleAll(s.calls.written, replies, err))
	s.calls.retry(out.retry)
	if out.changed {
		l.Change(out.server)
	}
	switch {
	case out.ended:
		fx.close = append(fx.close, l)
		co.connectionEnded(&out, &fx)
	case out.answered:
		co.conn.server = out.server
		co.conn.state.on(connAnswered)
		fx.reportIf(s.health.answer(), nil)
		co.noteBar(out.server, &fx)
	}
	s.outbox.owe(owedUnanswered, now, now, out.unanswered...)
	if len(out.unanswered) > 0 {
		co.startSpare(now, &fx)
	}
	fx.deliveries, fx.reports = out.deliveries, append(fx.reports, out.reports...)
	fx.wake(s.outbox.dueMain())
	co.scheduleNext(&fx)
	return fx
}

// connectionEnded handles the end of the pipe's connection. The master becomes suspect if a reply was malformed, or if
// the connection never carried an answer: the next one would probably end in the same way. The latter does not count if
// the connection carried only a PING, or if endProof closed it for a successor that works.
func (co *core) connectionEnded(out *settlement, fx *effects) {
	fresh := co.conn.state == connFresh
	co.conn.ended()
	if out.lost {
		co.state.late.connLost(out.server.RunID, out.lostSince)
	}
	silent := fresh && !out.answered && !out.onlyPing && co.conn.successor == nil
	if !co.closing.closed && (out.malformed != nil || silent) {
		fx.reportIf(co.state.health.fail(out.err, out.now), out.err)
	}
}
