package wire

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/link"
)

const (
	// thawGrace is how long a master that was frozen may take to answer over its main connection, once it has answered
	// over the spare one.
	thawGrace = 100 * time.Millisecond
	// spareTimeout is the shortest time for which the spare connection may be silent before it is closed.
	spareTimeout = 2 * time.Second
)

// spare is a second connection to the master, and the state of its goroutine. It has two tasks:
//
//   - It proves that only the main connection fails, and not the master. The proof: the master answers a handshake on
//     the spare connection, begun after the main one became silent, and the main one stays silent for thawGrace more. A
//     frozen master answers on neither, and on both once it has thawed. A master whose network was cut off answers on
//     the spare connection long before TCP retransmits over the main one. Once there is a proof, the spare connection
//     replaces the main one.
//   - It carries the calls of the [outbox] that must not go over the main connection.
//
// [spareState] has the states. nextSpareTask decides what the goroutine does: it connects; then it proves, or sends a
// batch and receives its replies, until nothing is due.
//
// Its failures do not make the master suspect. While the main connection is silent, a failure to connect postpones the
// next proof. An answer over it ends the suspicion only while there is no main connection.
type spare struct {
	state   spareState
	link    link.Link     // nil: there is none, see state
	began   time.Time     // when connecting link began
	timeout time.Duration // how long link may be silent
	lane    *lane         // the lane of the calls that are sent
	sent    []*Call       // the unanswered calls of the current batch
	dialAt  time.Time     // when the next connection may be made for calls of the outbox
	backoff time.Duration // between two such connections
}

// waitLonger doubles the backoff after a failure with err, and postpones the next connection by it.
func (sp *spare) waitLonger(err error, now time.Time) {
	sp.backoff = longer(sp.backoff, err)
	sp.dialAt = now.Add(sp.backoff)
}

// orphans yields the durable calls that only the spare connection may carry; see [cause.onlySpare]. There may be many,
// so it copies none.
func (co *core) orphans() iter.Seq[*Call] {
	return concat(co.state.outbox.orphans, slices.Values(co.spare.sent))
}

// allCalls yields every call that may lack its vote: those that wait, those without a reply, and the orphans. All other
// calls of the outbox have their votes.
func (co *core) allCalls() iter.Seq[*Call] {
	c := &co.state.calls
	return concat(slices.Values(c.queue), slices.Values(c.written), co.orphans())
}

// concat yields the calls of one sequence after the other.
func concat(all ...iter.Seq[*Call]) iter.Seq[*Call] {
	return func(yield func(*Call) bool) {
		for _, calls := range all {
			for c := range calls {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// nextOrphan returns when the next orphan may be sent; the zero time if there is none.
func (co *core) nextOrphan() time.Time {
	next := co.state.outbox.dueSpare()
	if next.IsZero() {
		return next
	}
	return later(next, co.spare.dialAt)
}

// needsProof reports whether the driver waits for a suspect master, over a connection that nothing replaces yet.
func (co *core) needsProof() bool {
	return co.driver.busy && co.state.health.suspect != nil && co.conn.link != nil && co.conn.successor == nil
}

// spareDue returns when the spare connection has something to do; the zero time if it has nothing.
func (co *core) spareDue() time.Time {
	if co.needsProof() {
		return earliest(co.state.health.retryAt, co.nextOrphan())
	}
	return co.nextOrphan()
}

// startSpare starts the spare connection's goroutine if that has something to do. Otherwise tick will run when it has.
func (co *core) startSpare(now time.Time, fx *effects) {
	if co.spare.state != spareNone || co.closing.closed {
		return
	}
	if due := co.spareDue(); due.IsZero() || due.After(now) {
		fx.wake(due)
		return
	}
	co.spare.state.on(spareStart)
	fx.startSpare = true
}

// nextSpareTask decides what the spare connection's goroutine does next: connect, prove that the main connection alone
// is silent, write a batch, or rest.
func (co *core) nextSpareTask(now time.Time) (t task, fx effects) {
	sp := &co.spare
	co.state.outbox.drop(now)
	due := co.spareDue()
	proving := co.needsProof() && co.state.health.due(now) // before the calls: it may replace the main connection
	switch {
	case due.IsZero(), due.After(now), co.closing.closed:
		co.endSpare(spareRest, now, &fx)
		return task{do: doRest}, fx
	case sp.link == nil:
		sp.state.on(spareDial)
		sp.began = now
		return task{do: doConnect}, fx
	case proving && co.conn.silentSince.After(sp.began):
		sp.state.on(spareRedial)
		fx.close = append(fx.close, sp.link) // it was made while the master still answered, so it proves nothing
		sp.link, sp.began = nil, now
		return task{do: doConnect}, fx
	case proving:
		sp.state.on(spareProve)
		return task{do: doProve, link: sp.link, main: co.conn.link, mainSilentSince: co.conn.silentSince}, fx
	}
	sp.state.on(spareSend)
	sp.lane, sp.sent = co.state.outbox.takeSpare(now)
	for _, c := range sp.sent {
		c.setSent(now)
		sp.link.Put(c.bytes())
	}
	co.batches.count(len(sp.sent))
	return task{do: doFlush, link: sp.link, calls: len(sp.sent), maxSilence: sp.timeout}, fx
}

// spareConnected records what became of an attempt to make the spare connection. took is how long the attempt took.
// ok reports whether it succeeded.
//
// A master that answered the handshake has executed all that it received before, so the TTLs of the orphans' keys are
// running. Only the network may still deliver an acquire, for as long as lateDelivery explains.
func (co *core) spareConnected(l link.Link, err error, took time.Duration, now time.Time) (fx effects, ok bool) {
	if err != nil || co.closing.closed {
		if err == nil {
			fx.close = append(fx.close, l)
		} else {
			co.spare.waitLonger(err, now)
			if co.needsProof() {
				co.state.health.fail(err, now)
			}
		}
		co.endSpare(spareFailed, now, &fx)
		return fx, false
	}
	co.spare.state.on(spareMade)
	co.spare.link, co.spare.timeout = l, max(spareTimeout, 4*took)
	for c := range co.orphans() {
		c.expireAt(now.Add(maxRTO + initialRTO + c.KeyTTL))
	}
	return fx, true
}

// endProof decides whether the spare connection replaces the main one. The master has answered a handshake over the
// spare one since the main one became silent. If the main one is still silent, endProof closes it, which ends the
// driver's receive; the driver then continues over the spare one.
func (co *core) endProof(t task, now time.Time) (fx effects) {
	h := &co.state.health
	silent := co.conn.link == t.main && co.conn.silentSince.Equal(t.mainSilentSince) && len(co.state.calls.written) > 0
	if silent && !co.closing.closed {
		co.spare.state.on(spareProved)
		co.conn.successor, co.conn.successorAt = t.link, co.spare.began
		co.spare.link, h.retryAt = nil, now
		fx.close = append(fx.close, t.main)
		return fx
	}
	if co.conn.link != nil { // beginComparison noted the server of the spare connection as that of the main one
		co.state.servers.setMain(co.conn.link.Server().RunID)
	}
	co.spare.state.on(spareRefuted)
	if h.suspect != nil {
		h.retryAt = later(h.retryAt, now.Add(retryMin))
	}
	return fx
}

// endSpare ends the goroutine at an event and closes the connection. startSpare starts another goroutine when there is
// something to do.
func (co *core) endSpare(e spareEvent, now time.Time, fx *effects) {
	if co.spare.link != nil {
		fx.close = append(fx.close, co.spare.link)
	}
	co.spare.state.on(e)
	co.spare.link = nil
	co.startSpare(now, fx)
	co.checkDrained(fx)
}

// settleSpare records the replies to a batch of n calls. It returns how many calls of the batch are not settled.
func (co *core) settleSpare(l link.Link, n int, replies []link.Reply, err error, now time.Time) (fx effects, left int) {
	fx.now = now
	s, sp := &co.state, &co.spare
	out := settlement{state: s, server: l.Server(), now: now}
	sp.sent = dropFirst(sp.sent, out.settleAll(sp.sent, replies, err))
	if out.answered {
		sp.backoff = 0
		if co.conn.link == nil { // otherwise the main connection decides whether the master is suspect
			fx.reportIf(s.health.answer(), nil)
		}
	}
	// Not sent, or sent by a digest that the master does not know. A call of owedBreaker goes to owedUnanswered here,
	// where it may break one more batch.
	s.outbox.owe(owedUnanswered, now, now, out.retry...)
	switch {
	case len(out.unanswered) > 0:
		s.outbox.broke(sp.lane, n, out.unanswered, now)
	case out.ended && !out.answered: // a wrapped client had no connection: all calls are in out.retry
		sp.waitLonger(out.err, now)
	case len(sp.sent) == 0:
		sp.lane.succeeded()
	}
	switch {
	case out.ended:
		sp.state.on(spareEnded)
		sp.link = nil
		fx.close = append(fx.close, l)
	case len(sp.sent) > 0:
		sp.state.on(spareAnswered)
	default:
		sp.state.on(spareSettled)
	}
	fx.deliveries, fx.reports = out.deliveries, append(fx.reports, out.reports...)
	co.rouse(now, &fx) // refused calls may have been queued again
	fx.wake(s.outbox.dueMain())
	return fx, len(sp.sent)
}

// runSpare is the goroutine of the [spare] connection.
func (p *pipe) runSpare() error {
	for p.spareOnce() {
	}
	return nil
}

// spareOnce does the next task of the spare connection. It reports whether there may be more to do.
func (p *pipe) spareOnce() (more bool) {
	now := p.clock.Now()
	var t task
	p.act(func(co *core) (fx effects) {
		t, fx = co.nextSpareTask(now)
		return fx
	})
	switch t.do {
	case doConnect:
		l, err := p.open(0)
		made := p.clock.Now()
		p.act(func(co *core) (fx effects) {
			fx, more = co.spareConnected(l, err, made.Sub(now), made)
			return fx
		})
		return more
	case doProve:
		p.prove(t)
	case doFlush:
		cut := p.clock.AfterFunc(t.maxSilence, t.link.Close)
		defer cut.Stop()
		_ = t.link.Flush() // receive reports the error
		for left := t.calls; left > 0; cut.Reset(t.maxSilence) {
			replies, err := t.link.Receive()
			now := p.clock.Now()
			p.act(func(co *core) (fx effects) {
				fx, left = co.settleSpare(t.link, t.calls, replies, err, now)
				return fx
			})
		}
	default:
		return false
	}
	return true
}

// prove gives the main connection time to answer before the spare one may replace it.
func (p *pipe) prove(t task) {
	p.beginComparison(t.link)
	_ = clock.Sleep(context.Background(), p.clock, thawGrace)
	now := p.clock.Now()
	p.act(func(co *core) effects { return co.endProof(t, now) })
}
