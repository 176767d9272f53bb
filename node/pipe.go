package node

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/clock"
)

const (
	// maxBatch bounds one pipeline, so that a long queue does not hold up its own first votes.
	maxBatch = 1024
	// maxQueue bounds the calls that wait for a master. Pursued ones are never refused.
	maxQueue = 1 << 14
)

// pipe is the ordered stream of calls to one master. Whoever finds it idle wakes its driver, which sends batch after
// batch until nothing waits. The driver's goroutine stays between batches: a new one each time would grow its stack
// anew (an eighth of a lone caller's CPU time).
type pipe struct {
	clock clock.Clock
	open  func() (link, error)
	spawn func(func() error)
	tell  func(error)
	alarm *clock.Alarm // rings tick
	// The driver's, reused from batch to batch.
	cmds []redis.Cmder
	cast []cast

	mu      sync.Mutex
	queue   []*Call   // waiting to be written, in order
	wire    []*Call   // written, or being written
	began   time.Time // of the present batch or connection attempt
	driving bool
	hired   bool          // the driver's goroutine runs
	work    chan struct{} // wakes it; closed with the pipe
	link    link          // nil: none
	closed  bool
	closing chan struct{} // non-nil while close waits; closed when there is nothing more to wait for
	closeBy time.Time     // when close waits no longer
	suspicion
	doubt
}

func newPipe(clk clock.Clock, open func() (link, error)) *pipe {
	p := &pipe{clock: clk, open: open, work: make(chan struct{}, 1)}
	p.alarm = clock.NewAlarm(clk, p.tick)
	return p
}

func (p *pipe) submit(c *Call) {
	p.mu.Lock()
	if err := p.refuses(c); err != nil {
		c.voted = true
		p.mu.Unlock()
		c.cast(unsent(err), c.Asked)
		return
	}
	p.queue = append(p.queue, c)
	p.drive(c.Asked)
	p.mu.Unlock()
	p.alarm.By(c.Deadline)
}

// refuses says why a call is not taken.
func (p *pipe) refuses(c *Call) error {
	switch {
	case p.closed, p.closing != nil && !c.Pursue:
		return ErrClosed
	case c.Pursue:
		return nil
	case p.suspect != nil && (p.driving || c.Asked.Before(p.retryAt)):
		return p.suspect
	case len(p.queue) >= maxQueue:
		return ErrBusy
	}
	return nil
}

// drive starts the driver if there is something to do and nobody does it. A suspect master gets one only when it
// is due to be tried again.
func (p *pipe) drive(now time.Time) {
	if p.driving || p.closed || len(p.queue) == 0 {
		return
	}
	if p.suspect != nil && now.Before(p.retryAt) {
		p.alarm.By(p.retryAt)
		return
	}
	p.driving = true
	if !p.hired {
		p.hired = true
		p.spawn(p.run)
	}
	p.work <- struct{}{} // has room: the driver took the last one before it rested
}

func (p *pipe) run() error {
	for range p.work {
		for p.turn() {
		}
	}
	return nil
}

// turn sends one batch, or makes the connection for it. It reports whether there is more to do.
func (p *pipe) turn() bool {
	p.mu.Lock()
	if len(p.queue) == 0 || p.closed {
		p.rest()
		p.mu.Unlock()
		return false
	}
	p.began = p.clock.Now()
	if p.link == nil && p.spare == nil && p.suspect != nil && p.began.Before(p.retryAt) {
		err, now := p.suspect, p.began
		failed := p.pause(now)
		p.mu.Unlock()
		for _, c := range failed {
			c.cast(unsent(err), now)
		}
		return false
	}
	if p.link == nil && !p.adopt() {
		p.mu.Unlock()
		return p.connect()
	}
	l := p.link
	dropped := p.load()
	p.mu.Unlock()
	for _, c := range dropped {
		c.cast(unsent(ErrDropped), p.began)
	}
	if len(p.wire) > 0 {
		p.exchange(l)
	}
	return true
}

// rest says that the driver has nothing to do.
func (p *pipe) rest() {
	p.driving = false
	if p.closing != nil && len(p.queue) == 0 && !p.dueBy(p.closeBy) {
		close(p.closing)
		p.closing = nil
		p.shut()
	}
}

// shut makes the pipe take nothing more. Its driver ends when it comes to rest.
func (p *pipe) shut() {
	if !p.closed {
		p.closed = true
		close(p.work)
	}
}

// connect makes a link. Without one everything that waits has failed, except what is pursued.
func (p *pipe) connect() bool {
	l, err := p.open()
	now := p.clock.Now()
	p.mu.Lock()
	if err == nil && p.closed {
		p.mu.Unlock()
		l.close()
		return true
	}
	if err == nil {
		p.take(l)
		p.mu.Unlock()
		return true
	}
	changed := p.fail(err, now)
	failed := p.pause(now)
	p.mu.Unlock()
	if changed {
		p.tell(err)
	}
	for _, c := range failed {
		c.cast(unsent(err), now)
	}
	return false
}

// pause ends the driver until the suspect is due to be tried again. Everything that waits has failed, except what is
// pursued; the calls whose vote is due are returned.
func (p *pipe) pause(now time.Time) (failed []*Call) {
	failed = p.abandon(now)
	p.rest()
	p.drive(now) // pursued calls go on when the master is due
	return failed
}

// abandon takes every call out of the queue that need not be pursued, and returns those whose vote is due.
func (p *pipe) abandon(now time.Time) (failed []*Call) {
	kept := p.queue[:0]
	for _, c := range p.queue {
		switch {
		case c.Pursue && !c.overdue(now) && !c.idle():
			kept = append(kept, c)
		case !c.voted:
			c.voted = true
			failed = append(failed, c)
		}
	}
	clear(p.queue[len(kept):])
	p.queue = kept
	return failed
}

// load moves the next batch from the queue to the wire. Calls whose asker has gone are dropped here, the last moment
// at which they are certain not to be executed; those that must be told so are returned.
func (p *pipe) load() (dropped []*Call) {
	n := 0
	for _, c := range p.queue {
		if len(p.wire) == maxBatch {
			break
		}
		n++
		switch {
		case c.voted && !c.Pursue, c.overdue(p.began):
		case c.Void != nil && c.Void.Load(), !c.Pursue && !c.Deadline.After(p.began):
			c.voted = true
			dropped = append(dropped, c)
		default:
			c.written = true
			if c.Wrote != nil {
				c.Wrote.Store(true)
			}
			p.wire = append(p.wire, c)
		}
	}
	rest := copy(p.queue, p.queue[n:])
	clear(p.queue[rest:])
	p.queue = p.queue[:rest]
	return dropped
}

// exchange sends the batch and hands out its votes. The wire is the driver's alone, but for the flags that tick sets.
func (p *pipe) exchange(l link) {
	p.cmds = p.cmds[:0]
	for _, c := range p.wire {
		args := c.Op.args
		if c.asText {
			args = c.Op.text()
		}
		p.cmds = append(p.cmds, redis.NewCmd(context.Background(), args...))
	}
	execErr := l.exec(p.cmds)
	now := p.clock.Now()
	server := l.server()

	p.mu.Lock()
	out := settlement{pipe: p, server: server, now: now, cast: p.cast[:0]}
	for i, c := range p.wire {
		out.settle(c, p.cmds[i].(*redis.Cmd), execErr)
	}
	clear(p.wire)
	p.wire = p.wire[:0]
	if len(out.again) > 0 {
		p.queue = append(out.again, p.queue...)
	}
	changed := out.conclude()
	p.mu.Unlock()

	clear(p.cmds)
	if out.broken {
		l.close()
	}
	if changed {
		p.tell(out.err)
	}
	for _, c := range out.cast {
		c.call.cast(c.vote, now)
	}
	clear(out.cast)
	p.cast = out.cast
}

// tick looks after deadlines: of votes, of suspects, and of what is to be sent again.
func (p *pipe) tick() {
	now := p.clock.Now()
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	late, next := p.expire(p.wire, now, time.Time{})
	waiting, next := p.expire(p.queue, now, next)
	changed := p.watch(append(late, waiting...), now)
	p.sendDue(now)
	p.drive(now)
	p.mu.Unlock()

	if !next.IsZero() {
		p.alarm.By(next)
	}
	if changed {
		p.tell(ErrTimeout)
	}
	for _, c := range late {
		c.cast(unknown(ErrTimeout), now)
	}
	for _, c := range waiting {
		if c.Pursue {
			c.cast(unknown(ErrTimeout), now)
		} else {
			c.cast(unsent(ErrTimeout), now)
		}
	}
}

// expire marks the calls whose vote is due and returns them, and the earlier of next and the next deadline.
func (p *pipe) expire(calls []*Call, now, next time.Time) (due []*Call, _ time.Time) {
	for _, c := range calls {
		switch {
		case c.voted:
		case !c.Deadline.After(now):
			c.voted = true
			due = append(due, c)
		case next.IsZero() || c.Deadline.Before(next):
			next = c.Deadline
		}
	}
	return due, next
}

func (p *pipe) close(deadline time.Time) int {
	p.mu.Lock()
	if p.closed || p.closing != nil {
		p.mu.Unlock()
		return 0
	}
	drained := make(chan struct{})
	p.closing, p.closeBy = drained, deadline
	if !p.driving {
		p.rest()
	}
	p.mu.Unlock()

	out := make(chan struct{})
	timer := p.clock.AfterFunc(deadline.Sub(p.clock.Now()), func() { close(out) })
	defer timer.Stop()
	select {
	case <-drained:
	case <-out:
	}
	p.alarm.Stop()

	p.mu.Lock()
	p.closing = nil
	p.shut()
	unconfirmed := len(p.later)
	var open []*Call
	for _, calls := range [][]*Call{p.queue, p.wire} {
		for _, c := range calls {
			if c.Pursue && !c.idle() {
				unconfirmed++
			}
			if !c.voted {
				c.voted = true
				open = append(open, c)
			}
		}
	}
	links := []link{p.link, p.spare}
	p.link, p.spare = nil, nil
	p.mu.Unlock()

	for _, l := range links {
		if l != nil {
			l.close()
		}
	}
	now := p.clock.Now()
	for _, c := range open {
		if c.written {
			c.cast(unknown(ErrClosed), now)
		} else {
			c.cast(unsent(ErrClosed), now)
		}
	}
	return unconfirmed
}

// cast gives the call's vote to its voter. Whoever sets voted casts, after it has let go of the pipe's mutex.
func (c *Call) cast(v Vote, now time.Time) {
	v.Took = now.Sub(c.Asked)
	c.Voter.Vote(c.Seat, v)
}

// idle: a call that has nothing to undo.
func (c *Call) idle() bool { return c.Needs != nil && !c.Needs.Load() }

// overdue: a pursued call whose keys have certainly expired.
func (c *Call) overdue(now time.Time) bool {
	return c.Pursue && c.voted && !c.GiveUp.IsZero() && !now.Before(c.GiveUp)
}
