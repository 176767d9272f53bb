package wire

import (
	"sync"
	"time"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/node"
)

// pipe is the ordered stream of calls to one master.
//
// Its state makes the decisions. The pipe locks the mutex, lets the state decide, unlocks the mutex, and then acts: it
// writes, reads, connects, and applies the [effects]. Only two actions happen with the mutex locked: starting a
// goroutine, because none may start once close has returned, and adding a command to the buffer of a connection.
type pipe struct {
	clock       clock.Clock
	open        func(patience time.Duration) (link, error)    // makes a connection, see [dialer.open]
	reach       func() (runID string, done func(), err error) // see [dialer.reach]; nil: not possible
	spawn       func(func() error)                            // starts a goroutine
	onHealth    func(error)                                   // see [Node.Bind]
	tickAlarm   *clock.Alarm                                  // calls tick when something is due
	windowAlarm *clock.Alarm                                  // calls sendAhead when the window opens
	scratch     []delivery                                    // the driver's, reused
	votes       votes

	mu       sync.Mutex
	state    state
	conn     connection
	driver   driver
	recovery recoveryConn
	closing  closing
	batches  batches
}

// connection is what a pipe knows of its connection to the master.
type connection struct {
	link          link          // nil: there is none
	server        *Server       // that answered last; nil: none has
	verified      bool          // link has carried an answer
	roleAt        time.Time     // when the server's role was last asked over link
	barred        error         // why the server that answered last gets no calls for a vote; nil: it gets them
	silentSince   time.Time     // the last reply, or a later write or connect of the driver with no reply due
	writer        link          // the link that a goroutine writes to; nil: none
	writerDone    chan struct{} // closed when that goroutine is done; nil: the driver does not wait for it
	standby       link          // a new connection that works while link stays silent; nil: none
	tryingStandby bool          // a goroutine tries a new connection, see tryStandby
	connecting    bool          // the driver makes a connection
}

// closing is how far the end of a pipe is.
type closing struct {
	drained  chan struct{} // closed when close need not wait any more; nil: close does not wait
	deadline time.Time     // when close stops waiting
	closed   bool          // the pipe accepts nothing more
}

// effects are what a decision under the mutex leaves to be done without it.
type effects struct {
	now         time.Time  // when the decision was made
	close       []link     // connections to close
	health      bool       // onHealth must be called with cause
	cause       error      // why the master is suspect; nil: it has recovered
	deliveries  []delivery // votes to deliver
	reports     []error    // refusals that onHealth must be called with
	tickBy      time.Time  // when tick must run; zero: no need
	sendAheadAt time.Time  // when sendAhead must run; zero: no need
}

func newPipe(clk clock.Clock, open func(patience time.Duration) (link, error)) *pipe {
	p := &pipe{clock: clk, open: open}
	p.driver.work = make(chan struct{}, 1)
	p.state.recovery.size = maxBatch
	p.tickAlarm = clock.NewAlarm(clk, p.tick)
	p.windowAlarm = clock.NewAlarm(clk, p.sendAhead)
	return p
}

// apply does what a decision left to be done. It must be called without the mutex.
func (p *pipe) apply(fx effects) {
	for _, l := range fx.close {
		l.close()
	}
	if !fx.tickBy.IsZero() {
		p.tickAlarm.By(fx.tickBy)
	}
	if !fx.sendAheadAt.IsZero() {
		p.windowAlarm.By(fx.sendAheadAt)
	}
	if fx.health {
		p.onHealth(fx.cause)
	}
	p.votes.count(fx.now, fx.deliveries...)
	for _, d := range fx.deliveries {
		d.call.deliver(d.vote, fx.now)
	}
	for _, err := range fx.reports {
		p.onHealth(err)
	}
}

// wake makes tick run at t or earlier; the zero time has no effect.
func (fx *effects) wake(t time.Time) { fx.tickBy = earliest(fx.tickBy, t) }

// suspect has onHealth called with the failure of a master that became suspect.
func (fx *effects) suspect(changed bool, err error) {
	if changed {
		fx.health, fx.cause = true, err
	}
}

// healthy has onHealth called if a master has recovered.
func (fx *effects) healthy(changed bool) {
	if changed {
		fx.health, fx.cause = true, nil
	}
}

// submit accepts a call, or refuses it at once.
func (p *pipe) submit(c *Call) {
	fx, err := p.admit(c)
	if err != nil {
		p.votes.count(c.Asked, delivery{c, unsent(err)})
		c.deliver(unsent(err), c.Asked) // not by effects: a refusal must not allocate
		return
	}
	p.apply(fx)
}

func (p *pipe) admit(c *Call) (fx effects, refused error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.refusal(c); err != nil {
		return fx, err
	}
	p.state.calls.push(c)
	p.startDriver(c.Asked, &fx)
	p.scheduleNext(&fx)
	fx.wake(c.Deadline)
	return fx, nil
}

// refusal returns why a call is not accepted; nil if it is.
func (p *pipe) refusal(c *Call) error {
	switch {
	case p.closing.closed, p.closing.drained != nil && !c.Durable:
		return node.ErrClosed
	case c.Durable:
		return nil
	}
	if err := p.state.rights.refused(c.Op, c.Asked); err != nil {
		return err
	}
	switch {
	case p.state.health.suspect != nil && (p.driver.running || !p.state.health.due(c.Asked)):
		return p.state.health.suspect
	case len(p.state.calls.queue) >= maxQueue:
		return node.ErrBusy
	}
	return nil
}

func (p *pipe) isSuspect() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state.health.suspect != nil
}

// tick handles everything that is due: the deadlines of calls, the next try of a suspect master, and releases that must
// be sent again.
func (p *pipe) tick() {
	p.apply(p.expire(p.clock.Now()))
}

func (p *pipe) expire(now time.Time) (fx effects) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fx.now = now
	if p.closing.closed {
		return fx
	}
	s := &p.state
	expired, next := s.calls.expire(now, p.conn.connecting && s.health.suspect == nil)
	fx.deliveries = expired
	p.judge(expired, now, &fx)
	orphaned, next := expireCalls(s.recovery.calls(), (*Call).due, now, next)
	for _, c := range orphaned {
		fx.deliveries = append(fx.deliveries, delivery{c, unknown(node.ErrTimeout)})
	}
	if fx.health {
		// Calls must not wait for a suspect master. If they stayed queued, each of their deadlines would cost a scan.
		fx.deliveries = append(fx.deliveries, s.calls.failQueued(s.health.suspect, now)...)
	}
	fx.wake(next)
	s.calls.push(s.late.takeDue(now)...)
	s.calls.push(s.refusals.due(now)...)
	p.wakeForRepetitions(&fx)
	if s.servers.checks > 0 {
		p.checkServers(now)
	}
	p.wakeForCheck(&fx)
	p.startDriver(now, &fx)
	p.startRecovery(now, &fx)
	p.checkDrained()
	return fx
}

// wakeForRepetitions makes tick run when the next release must be sent again.
func (p *pipe) wakeForRepetitions(fx *effects) {
	fx.wake(p.state.late.next())
	fx.wake(p.state.refusals.next())
}

// judge judges the master by the calls that have just expired. While the driver waits for a suspect master, judge
// tries standby connections from time to time.
func (p *pipe) judge(expired []delivery, now time.Time, fx *effects) {
	if !p.driver.running {
		return
	}
	h := &p.state.health
	for _, d := range expired {
		fx.suspect(h.expire(d.call.Request, d.vote.Err, p.conn.silentSince, now), d.vote.Err)
	}
	switch {
	case h.suspect == nil, p.conn.link == nil, p.conn.standby != nil, p.conn.tryingStandby:
	case !h.due(now):
		fx.wake(h.retryAt)
	default:
		p.conn.tryingStandby = true
		p.spawn(p.tryStandby)
	}
}
