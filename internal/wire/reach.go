package wire

import "time"

// The goroutines of a pipe that make further connections: the spare one, and those that compare servers.

// runSpare is the goroutine of the [spare] connection.
func (p *pipe) runSpare() error {
	for p.spareOnce() {
	}
	return nil
}

// spareOnce does the next task of the spare connection. It reports whether there may be more to do.
func (p *pipe) spareOnce() bool {
	now := p.clock.Now()
	var t task
	var n int
	p.act(func(co *core) (fx effects) {
		t, n, fx = co.nextSpare(now)
		return fx
	})
	switch t.do {
	case doConnect:
		return p.connectSpare(now)
	case doProve:
		p.prove(t)
	case doFlush:
		silent := p.clock.AfterFunc(t.patience, t.link.close)
		defer silent.Stop()
		_ = t.link.flush() // receive reports the error
		for left := n; left > 0; silent.Reset(t.patience) {
			left = p.receiveSpare(t.link, n)
		}
	default:
		return false
	}
	return true
}

// connectSpare makes the spare connection. It reports whether it succeeded.
func (p *pipe) connectSpare(began time.Time) (ok bool) {
	l, err := p.open(0)
	now := p.clock.Now()
	p.act(func(co *core) (fx effects) {
		fx, ok = co.spareConnected(l, err, now.Sub(began), now)
		return fx
	})
	return ok
}

// prove gives the main connection time to answer before the spare one may replace it.
func (p *pipe) prove(t task) {
	p.beginCompare(t.link)
	over := make(chan struct{})
	p.clock.AfterFunc(thawGrace, func() { close(over) })
	<-over
	now := p.clock.Now()
	p.act(func(co *core) effects { return co.proved(t, now) })
}

// receiveSpare receives replies to a batch of n calls and delivers the votes. It returns how many calls of the batch
// are not settled.
func (p *pipe) receiveSpare(l link, n int) (left int) {
	replies, err := l.receive()
	now := p.clock.Now()
	p.act(func(co *core) (fx effects) {
		fx, left = co.settleSpare(l, n, replies, err, now)
		return fx
	})
	return left
}

// saw records the server that a connection reached.
func (p *pipe) saw(x observation) {
	p.act(func(co *core) effects { return co.saw(x) })
}

// compareFirst compares the server that l has reached with those that other connections reach, if it is new. It waits a
// limited time for the result: if there are several servers, not even the first grant may count. took is how long it
// took to make l, and patience how long it might take.
func (p *pipe) compareFirst(l link, took, patience time.Duration) {
	done := p.beginCompare(l)
	if done == nil || took > compareWait {
		return
	}
	over := make(chan struct{})
	wait := max(min(compareWait, patience-took), compareWaitMin)
	timer := p.clock.AfterFunc(wait, func() { close(over) })
	defer timer.Stop()
	select {
	case <-done:
	case <-over:
	}
}

// beginCompare begins the comparison, unless there is nothing to compare, and returns a channel that is closed when it
// has ended.
func (p *pipe) beginCompare(l link) (done chan struct{}) {
	p.mu.Lock()
	fx := p.core.beginCompare(l)
	p.unlock(&fx)
	return fx.comparison
}

// compare connects, at most comparisons times, until it is settled whether there are several servers. It closes over
// then.
func (p *pipe) compare(over chan struct{}) error {
	defer close(over)
	for i := range comparisons {
		id, done, err := p.reach()
		if err != nil {
			break
		}
		done()
		p.mu.Lock()
		settled := p.core.settled(id, i == 0)
		p.mu.Unlock()
		if settled {
			break
		}
	}
	return nil
}

// checkServers checks whether there are still several servers.
func (p *pipe) checkServers() error {
	runID := p.onlyServer()
	now := p.clock.Now()
	p.act(func(co *core) effects { return co.serversChecked(runID, now) })
	return nil
}

// onlyServer returns the server that all connections of a check reach; "" if they reach several, or none. The
// connections stay open until the check ends. Otherwise a load balancer that prefers the server with the fewest
// connections would lead each to the server that the pipe's connection does not use.
func (p *pipe) onlyServer() (runID string) {
	var open []func()
	defer func() {
		for _, done := range open {
			done()
		}
	}()
	for i := range agreeing {
		id, done, err := p.reach()
		if err != nil {
			return ""
		}
		open = append(open, done)
		if i > 0 && id != runID {
			return ""
		}
		runID = id
	}
	return runID
}
