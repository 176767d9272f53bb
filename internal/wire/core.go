package wire

import (
	"time"

	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/node"
)

// core decides everything about one master. It has a method for each event, which takes the time of the event if it
// matters, changes the core, and returns what remains to be done: the [effects], for the driver a [task]. It has no
// mutex, no clock and no goroutine. Of a link it calls only the methods that do not block. It reads and sets the flags
// that a call shares with its caller, calls [Request.Ended], and closes channels that others wait on.
//
// The [pipe] guards the core with its mutex, and acts.
type core struct {
	state   state // what it knows of the master and of its calls
	conn    connection
	driver  driver
	spare   spare
	closing closing
	batches batches
	reaches bool // the pipe can make connections just to compare servers, see pipe.reach
}

// state is what a [core] knows of its master and of its calls: what a [settlement] reads and changes.
type state struct {
	calls   inflight
	health  health
	pacing  pacing
	late    lateDelivery
	rights  rights
	servers servers
	outbox  outbox
}

// connection is what a pipe knows of its connection to the master.
type connection struct {
	state       connState
	link        link.Link    // nil: there is none
	server      *link.Server // that last answered a call over this connection or an earlier one; nil: none has
	roleAt      time.Time    // link's last question for the role was asked at this time or later
	reportedBar error        // why no calls for a vote are sent, as last reported; nil: they are sent
	// silentSince is when the last reply arrived or, if that is later, when the driver last began to write or to
	// connect with no reply due.
	silentSince time.Time
	writer      link.Link     // the link that a goroutine writes to; nil: none
	writerDone  chan struct{} // closed when that goroutine is done; nil: the driver does not wait for it
	successor   link.Link     // the spare connection that works while link stayed silent; nil: none
	successorAt time.Time     // when connecting successor began
}

// ended records that the connection ended.
func (c *connection) ended() {
	c.state.on(connEnded)
	c.link = nil
}

// closing is how far the end of a pipe is.
type closing struct {
	drained  chan struct{} // closed when nothing is left to do; nil: no close has begun, or it need not wait
	deadline time.Time     // when close stops waiting
	closed   bool          // the pipe accepts nothing more
}

// effects are what a decision of the core leaves to be done. The method for an event returns them; the methods that it
// calls add to them. Only submit, which is called for each call, adds to those of its caller instead, without a copy.
type effects struct {
	now         time.Time   // when the decision was made
	close       []link.Link // connections to close
	reports     []error     // what onHealth must be called with, in order
	deliveries  []delivery  // votes to deliver
	tickBy      time.Time   // when tick must run; zero: no need
	sendAheadAt time.Time   // when sendAhead must run; zero: no need

	// The pipe does what follows before it unlocks the mutex: no goroutine may start once the core is closed.
	startDriver bool          // start its goroutine
	startSpare  bool          // start the goroutine of the spare connection
	startCheck  bool          // start a check of whether there are still several servers
	comparison  chan struct{} // if not nil: compare servers, and close it then
	wakeDriver  bool          // the driver has work
	endDriver   bool          // the driver's goroutine ends when it rests
}

// wake makes tick run at t or earlier; the zero time has no effect.
func (fx *effects) wake(t time.Time) { fx.tickBy = earliest(fx.tickBy, t) }

// reportIf has onHealth called if the master's health changed: with its failure, or with nil if it has recovered.
func (fx *effects) reportIf(changed bool, err error) {
	if changed {
		fx.reports = append(fx.reports, err)
	}
}

// submit accepts a call, or returns why it does not.
func (co *core) submit(c *Call, fx *effects) (refused error) {
	if err := co.refusal(c); err != nil {
		return err
	}
	co.state.calls.push(c)
	co.rouse(c.Asked, fx)
	co.scheduleNext(fx)
	fx.wake(c.Deadline)
	return nil
}

// refusal returns why a call is not accepted; nil if it is.
func (co *core) refusal(c *Call) error {
	switch {
	case co.closing.closed, co.closing.drained != nil && !c.Durable:
		return node.ErrClosed
	case c.Durable:
		return nil
	}
	if err := co.state.rights.refused(c.Op, c.Asked); err != nil {
		return err
	}
	switch {
	case co.state.health.suspect != nil && (co.driver.busy || !co.state.health.due(c.Asked)):
		return co.state.health.suspect
	case len(co.state.calls.queue) >= maxQueue:
		return node.ErrBusy
	}
	return nil
}

// tick handles everything that is due at now: the deadlines of calls, the next try of a suspect master, and releases
// that must be sent again.
func (co *core) tick(now time.Time) (fx effects) {
	fx.now = now
	if co.closing.closed {
		return fx
	}
	s := &co.state
	x := expiry{now: now}
	s.calls.expire(&x, co.conn.state == connDialing, s.health.suspect)
	co.judge(x.expired, now, &fx)
	for c := range co.orphans() {
		x.add(c, c.due(), unknown(node.ErrTimeout))
	}
	fx.deliveries = x.expired
	if len(fx.reports) > 0 { // the master became suspect
		// Calls must not wait for a suspect master. If they stayed queued, each of their deadlines would cost a scan.
		fx.deliveries = append(fx.deliveries, s.calls.failQueued(s.health.suspect, now)...)
	}
	fx.wake(x.next)
	s.outbox.drop(now)
	s.calls.push(s.outbox.takeMain(now)...)
	fx.wake(s.outbox.dueMain())
	if s.servers.agreed > 0 { // then the checks do not wait for requests
		co.beginCheck(now, &fx)
	}
	co.wakeForCheck(&fx)
	co.rouse(now, &fx)
	co.startSpare(now, &fx)
	co.checkDrained(&fx)
	return fx
}

// judge judges the master by the calls that have just expired, unless it was asked nothing: the driver rests, or this
// process was paused before the driver ran. While the driver connects, expired calls count only once connecting has
// taken as long as any call of the queue allows, because a suspect master fails all of them.
func (co *core) judge(expired []delivery, now time.Time, fx *effects) {
	switch {
	case len(expired) == 0:
		return
	case co.conn.state == connDialing:
		if now.Sub(co.conn.silentSince) < co.state.calls.patience() {
			return
		}
	case len(co.state.calls.written) == 0:
		return
	}
	h := &co.state.health
	for _, d := range expired {
		if h.expire(d.call.Request, d.vote.Err, co.conn.silentSince, now) {
			fx.reportIf(true, d.vote.Err)
		}
	}
}
