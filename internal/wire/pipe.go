package wire

import (
	"runtime"
	"sync"
	"time"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/link"
)

// pipe is the ordered stream of calls to one master: it drives a [core]. Only methods of the pipe use the core, with
// the mutex locked. One that changes it applies the [effects] afterwards.
type pipe struct {
	clock          clock.Clock
	open           func(patience time.Duration) (link.Link, error) // makes a connection, see [link.Master]
	reach          func() (runID string, done func(), err error)   // see [link.Master]; nil: not possible
	spawn          func(func() error)                              // starts a goroutine
	onHealth       func(error)                                     // see [Node.Bind]
	tickAlarm      *clock.Alarm                                    // calls tick when something is due
	sendAheadAlarm *clock.Alarm                                    // calls sendAhead when the next batch may be sent
	work           chan struct{}                                   // wakes the driver; closed with the pipe
	scratch        []delivery                                      // the driver's, reused
	votes          voteCounts

	mu        sync.Mutex
	core      core
	reports   []error // what onHealth must be called with, in order
	reporting bool    // a goroutine calls it
}

func newPipe(clk clock.Clock, open func(patience time.Duration) (link.Link, error)) *pipe {
	p := &pipe{clock: clk, open: open, work: make(chan struct{}, 1)}
	p.tickAlarm = clock.NewAlarm(clk, p.tick)
	p.sendAheadAlarm = clock.NewAlarm(clk, p.sendAhead)
	return p
}

// unlock does what must be done before the mutex is unlocked, and unlocks it.
func (p *pipe) unlock(fx *effects) {
	if fx.startDriver {
		p.spawn(p.drive)
	}
	if fx.startSpare {
		p.spawn(p.runSpare)
	}
	if fx.startCheck {
		p.spawn(p.runCheck)
	}
	if done := fx.comparison; done != nil {
		p.spawn(func() error { return p.runComparison(done) })
	}
	if fx.wakeDriver {
		p.work <- struct{}{} // has room: the driver took the last one before it rested
	}
	if fx.endDriver {
		close(p.work)
	}
	p.reports = append(p.reports, fx.reports...)
	p.mu.Unlock()
}

// apply does the rest of what a decision left to be done. It must be called without the mutex.
func (p *pipe) apply(fx *effects) {
	for _, l := range fx.close {
		l.Close()
	}
	if !fx.tickBy.IsZero() {
		p.tickAlarm.By(fx.tickBy)
	}
	if !fx.sendAheadAt.IsZero() {
		p.sendAheadAlarm.By(fx.sendAheadAt)
	}
	if len(fx.reports) > 0 {
		p.report()
	}
	p.votes.count(fx.now, fx.deliveries...)
	for _, d := range fx.deliveries {
		d.call.deliver(d.vote, fx.now)
	}
}

// report calls onHealth in the order of the decisions, unless another goroutine does so: then that one goes on. With a
// mutex instead, onHealth could not submit a call.
func (p *pipe) report() {
	p.mu.Lock()
	for !p.reporting && len(p.reports) > 0 {
		all := p.reports
		p.reports, p.reporting = nil, true
		p.mu.Unlock()
		for _, err := range all {
			p.onHealth(err)
		}
		p.mu.Lock()
		p.reporting = false
	}
	p.mu.Unlock()
}

// submit accepts a call, or refuses it at once.
func (p *pipe) submit(c *Call) {
	var fx effects
	p.mu.Lock()
	err := p.core.submit(c, &fx)
	p.unlock(&fx)
	if err != nil {
		p.refuse(c, err)
		return
	}
	p.apply(&fx)
}

// refuse delivers the vote on a call that is not accepted: not by effects, because a refusal must not allocate.
func (p *pipe) refuse(c *Call, err error) {
	v := unsent(err)
	p.votes.count(c.Asked, delivery{c, v})
	c.deliver(v, c.Asked)
}

func (p *pipe) isSuspect() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.core.state.health.suspect != nil
}

// stats returns what the pipe counted so far.
func (p *pipe) stats() (s Stats) {
	p.votes.mu.Lock()
	s.Votes, s.Dropped, s.Latency = p.votes.byVerdict, p.votes.dropped, p.votes.latency
	p.votes.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.core.stats(&s)
	return s
}

// act has the core decide, and acts. Methods on the path of each call do so themselves: it costs them less.
func (p *pipe) act(decide func(co *core) effects) {
	p.mu.Lock()
	fx := decide(&p.core)
	p.unlock(&fx)
	p.apply(&fx)
}

// tick is called when something is due.
func (p *pipe) tick() {
	now := p.clock.Now()
	p.act(func(co *core) effects { return co.tick(now) })
}

// drive is the driver's goroutine.
func (p *pipe) drive() error {
	for range p.work {
		for p.driveOnce() {
		}
	}
	return nil
}

// driveOnce does the next task. It reports whether there may be more to do.
func (p *pipe) driveOnce() (more bool) {
	now := p.clock.Now()
	p.mu.Lock()
	t, fx := p.core.nextTask(now)
	p.unlock(&fx)
	p.apply(&fx)
	switch t.do {
	case doRest:
		return false
	case doReceive:
		p.receive(t.link)
	case doAwaitWriter:
		<-t.writerDone
	case doYield:
		runtime.Gosched()
	case doConnect:
		return p.connect(t.patience)
	case doVerify:
		p.finishWrite(t.link, t.link.Verify())
	case doFlush:
		p.finishWrite(t.link, t.link.Flush())
	}
	return true
}

// connect makes a connection. It reports whether the driver has more to do.
func (p *pipe) connect(patience time.Duration) (more bool) {
	began := p.clock.Now()
	l, err := p.open(patience)
	if err == nil {
		p.awaitComparison(l, p.clock.Now().Sub(began), patience)
	}
	now := p.clock.Now()
	p.act(func(co *core) (fx effects) {
		fx, more = co.connected(l, err, now)
		return fx
	})
	return more
}

// finishWrite ends a write to a connection.
func (p *pipe) finishWrite(l link.Link, err error) {
	if err != nil {
		l.Close() // the receiver settles what was written
	}
	p.mu.Lock()
	fx := p.core.wrote(l)
	p.unlock(&fx)
	p.apply(&fx)
}

// receive waits for replies and delivers the resulting votes.
func (p *pipe) receive(l link.Link) {
	replies, err := l.Receive()
	now := p.clock.Now()
	p.mu.Lock()
	fx := p.core.settle(l, replies, err, p.scratch, now)
	p.unlock(&fx)
	p.apply(&fx)
	clear(fx.deliveries)
	p.scratch = fx.deliveries[:0]
}

// sendAhead sends a batch while replies to earlier ones are outstanding.
func (p *pipe) sendAhead() {
	now := p.clock.Now()
	p.mu.Lock()
	t, fx := p.core.nextAhead(now)
	p.unlock(&fx)
	p.apply(&fx)
	if t.do == doFlush {
		p.finishWrite(t.link, t.link.Flush())
	}
}

// close ends the pipe when it has nothing left to do, or at the deadline. It returns how many releases the master has
// not confirmed.
func (p *pipe) close(deadline time.Time) (unconfirmed int) {
	p.mu.Lock()
	drained, fx := p.core.beginClose(deadline)
	p.unlock(&fx)
	if drained == nil {
		return 0
	}
	over := make(chan struct{})
	timer := p.clock.AfterFunc(deadline.Sub(p.clock.Now()), func() { close(over) })
	defer timer.Stop()
	select {
	case <-drained:
	case <-over:
	}
	p.tickAlarm.Stop()
	now := p.clock.Now()
	p.mu.Lock()
	fx, unconfirmed = p.core.endClose(now)
	p.unlock(&fx)
	p.apply(&fx)
	p.sendAheadAlarm.Stop() // only now: sendAhead may be writing to a connection that apply has closed
	return unconfirmed
}
