package node

import (
	"slices"
	"sync"
	"time"

	"github.com/redlock-go/redlock/clock"
)

const (
	// maxBatch bounds one pipeline, so that a long queue does not hold up its own first votes.
	maxBatch = 1024
	// maxQueue bounds the calls that wait for a master. Pursued ones are never refused.
	maxQueue = 1 << 14
)

// pipe is the ordered stream of calls to one master. Whoever finds it idle wakes its driver, which sends what waits, and
// hands out the replies, until there is nothing of either. While replies are awaited calls gather; they leave when all are in,
// or, to a master that is far, at a pace (pace.go). The driver's goroutine stays: a new one each time would grow its stack
// anew (an eighth of a lone caller's CPU time).
type pipe struct {
	clock clock.Clock
	open  func() (link, error)
	spawn func(func() error)
	tell  func(error)
	alarm *clock.Alarm // rings tick
	cast  []cast       // the driver's, reused

	mu      sync.Mutex
	queue   []*Call   // waiting to be written, in order
	back    int       // how many at its head have been written before
	wire    []*Call   // written, or being written, in order
	quiet   time.Time // since when the master has been silent while it was connected to or written to
	driving bool
	hired   bool          // the driver's goroutine runs
	work    chan struct{} // wakes it; closed with the pipe
	link    link          // nil: none
	closed  bool
	closing chan struct{} // non-nil while close waits; closed when there is nothing more to wait for
	closeBy time.Time     // when close waits no longer
	pace
	suspicion
	doubt
	recovery recovery
	refusals refusals
	bars     bars
	news     []error // to be passed to tell, without the mutex
}

func newPipe(clk clock.Clock, open func() (link, error)) *pipe {
	p := &pipe{clock: clk, open: open, work: make(chan struct{}, 1), recovery: recovery{size: maxBatch}}
	p.alarm = clock.NewAlarm(clk, p.tick)
	p.baton = clock.NewAlarm(clk, p.overlap)
	return p
}

func (p *pipe) submit(c *Call) {
	p.mu.Lock()
	c.f.expiresAt = c.Delivery.ExpiresAt
	if err := p.refuses(c); err != nil {
		c.f.voted = true
		p.mu.Unlock()
		c.deliver(unsent(err), c.Asked)
		return
	}
	p.queue = append(p.queue, c)
	p.drive(c.Asked)
	p.keepPace()
	p.mu.Unlock()
	p.alarm.By(c.Deadline)
}

// refuses says why a call is not taken.
func (p *pipe) refuses(c *Call) error {
	switch {
	case p.closed, p.closing != nil && !c.Delivery.Durable:
		return ErrClosed
	case c.Delivery.Durable:
		return nil
	case p.barred(c, c.Asked) != nil:
		return p.barred(c, c.Asked)
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

// turn sends what waits, or makes the connection for it, and takes replies. It reports whether there is more to do.
func (p *pipe) turn() bool {
	p.mu.Lock()
	if len(p.news) > 0 {
		p.mu.Unlock()
		p.tellNews()
		return true
	}
	if len(p.wire) > 0 {
		l := p.link
		p.mu.Unlock()
		p.receive(l)
		return true
	}
	if len(p.queue) == 0 || p.closed {
		p.rest()
		p.mu.Unlock()
		return false
	}
	if p.link != nil && p.sender == p.link { // all is answered, before whoever sent it along has returned from writing
		if p.sent == nil {
			p.sent = make(chan struct{})
		}
		sent := p.sent
		p.mu.Unlock()
		<-sent
		return true
	}
	now := p.clock.Now()
	p.quiet = now
	if p.link != nil {
		switch p.link.state() {
		case unverified:
			p.verify(now)
			return true
		case over:
			p.link.close() // says nothing about the master: the next one carries what waits
			p.link = nil
		}
	}
	if p.link == nil && p.spare == nil && p.suspect != nil && now.Before(p.retryAt) {
		err := p.suspect
		failed := p.pause(now)
		p.mu.Unlock()
		for _, c := range failed {
			c.deliver(unsent(err), now)
		}
		return false
	}
	if p.link == nil && !p.adopt() {
		p.mu.Unlock()
		return p.connect()
	}
	p.send(now)
	return true
}

// rest says that the driver has nothing to do.
func (p *pipe) rest() {
	p.driving = false
	p.endIfDrained()
}

// endIfDrained wakes a waiting close if no calls are left to wait for.
func (p *pipe) endIfDrained() {
	if p.closing != nil && !p.driving && len(p.queue) == 0 && !p.dueBy(p.closeBy) {
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

// send writes the next batch. It is called with the pipe's mutex, and returns without it.
func (p *pipe) send(now time.Time) {
	l := p.link
	dropped, sent := p.load(l, now)
	p.sender, p.left = l, now
	p.mu.Unlock()
	for _, d := range dropped {
		d.call.deliver(d.vote, now)
	}
	var err error
	if sent > 0 {
		err = l.flush()
	}
	p.written(l, err)
}

// written ends a writing to a link.
func (p *pipe) written(l link, err error) {
	if err != nil {
		l.close() // its receiver settles what was written
	}
	p.mu.Lock()
	if p.sender == l {
		p.sender = nil
		if p.sent != nil {
			close(p.sent)
			p.sent = nil
		}
	}
	p.keepPace()
	p.mu.Unlock()
}

// load moves the next batch from the queue to the wire. Calls that would be in vain are dropped here, the last moment at
// which they are certain not to be executed; those that must be told so are returned.
func (p *pipe) load(l link, now time.Time) (dropped []cast, sent int) {
	server := l.server()
	n := 0
	for _, c := range p.queue {
		if sent == maxBatch {
			break
		}
		why := p.vain(c, server, now)
		if b := p.bars.against(c.Op); b != nil && !c.f.voted && why == nil {
			if b.call == nil && !now.Before(b.retryAt) {
				p.sendProbe(b, l, now)
				sent++
			}
			if b.call != nil {
				break // wait for the answer to the probe
			}
			why = b.err
		}
		n++
		switch {
		case c.f.voted && !c.Delivery.Durable, c.expired(now):
		case why != nil:
			c.f.voted = true
			dropped = append(dropped, cast{c, unsent(why)})
		default:
			c.f.sent = now
			if c.Written != nil {
				c.Written.Store(true)
			}
			l.put(c.bytes())
			p.wire = append(p.wire, c)
			sent++
		}
	}
	p.queue = dropFirst(p.queue, n)
	p.back = max(0, p.back-n)
	return dropped, sent
}

// dropFirst removes the first n calls, and keeps the room.
func dropFirst(calls []*Call, n int) []*Call {
	rest := copy(calls, calls[n:])
	clear(calls[rest:])
	return calls[:rest]
}

// barred returns the reason why a call must not be sent to the master, or nil. It returns nil if a probe is due or in
// flight, since the probe may find that the reason is gone.
func (p *pipe) barred(c *Call, now time.Time) error {
	if b := p.bars.against(c.Op); b != nil && b.call == nil && now.Before(b.retryAt) {
		return b.err
	}
	return nil
}

// sendProbe sends the probe of b.
func (p *pipe) sendProbe(b *bar, l link, now time.Time) {
	b.call = &Call{Request: Request{Op: b.probe, Asked: now, Deadline: now}, f: flight{voted: true, asText: b.text, sent: now}}
	l.put(b.call.bytes())
	p.wire = append(p.wire, b.call)
}

// tellNews passes the news to tell. It is called without the pipe's mutex.
func (p *pipe) tellNews() {
	p.mu.Lock()
	news := p.news
	p.news = nil
	p.mu.Unlock()
	for _, err := range news {
		p.tell(err)
	}
}

// vain says why it is too late, or too early, to send a call.
func (p *pipe) vain(c *Call, server *Server, now time.Time) error {
	switch {
	case c.Cancelled != nil && c.Cancelled.Load(), !c.Delivery.Durable && !c.Deadline.After(now):
		return ErrDropped
	case c.RequireTrusted:
		return server.restarted(c.Window, now)
	}
	return nil
}

// receive takes the replies that are in, and hands out their votes. Only the driver takes calls off the wire.
func (p *pipe) receive(l link) {
	replies, err := l.receive()
	now := p.clock.Now()
	server := l.server()

	p.mu.Lock()
	out := settlement{pipe: p, server: server, now: now, cast: p.cast[:0]}
	if len(replies) > len(p.wire) {
		replies, err = replies[:len(p.wire)], errUnasked
	}
	n := len(replies)
	if n > 0 {
		p.quiet = now
		p.trip.timed(now.Sub(p.wire[n-1].f.sent), now)
	}
	n = out.settleAll(p.wire, replies, err)
	changed := out.conclude()
	p.wire = dropFirst(p.wire, n)
	if len(out.again) > 0 {
		p.queue = slices.Insert(p.queue, p.back, out.again...)
		p.back += len(out.again)
	}
	p.recoverCalls(out.unanswered, now)
	p.keepPace()
	p.mu.Unlock()

	if out.broken {
		l.close()
	}
	if changed {
		p.tell(out.err)
	}
	for _, c := range out.cast {
		c.call.deliver(c.vote, now)
	}
	clear(out.cast)
	p.cast = out.cast
}
