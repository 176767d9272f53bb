package node

import "time"

const (
	// A suspect is tried again after retryMin, then at doubling intervals up to retryMax.
	retryMin = 20 * time.Millisecond
	retryMax = 500 * time.Millisecond
	// grace is how long a thawed master may take over its old connection once a new one has answered.
	grace = 100 * time.Millisecond
)

// suspicion is a pipe's opinion of its master. All of it is guarded by the pipe's mutex.
type suspicion struct {
	suspect *SuspectError // nil: trusted
	retryAt time.Time     // when a suspect is tried again
	backoff time.Duration
	probing bool
	proven  bool // the link has carried an answer
	spare   link // a new connection that answered while the old one stays silent
}

func (p *pipe) isSuspect() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.suspect != nil
}

// fail notes that the master could not be used, and reports whether that is news.
func (p *pipe) fail(err error, now time.Time) (changed bool) {
	changed = p.suspect == nil
	p.suspect = &SuspectError{Err: err}
	p.backoff = min(max(2*p.backoff, retryMin), retryMax)
	p.retryAt = now.Add(p.backoff)
	return changed
}

// trust notes that the master answered, and reports whether that is news.
func (p *pipe) trust() (changed bool) {
	changed = p.suspect != nil
	p.suspect, p.backoff = nil, 0
	return changed
}

// watch judges a master by the calls it has just let expire: it is suspect if it has been silent for most of
// their time, and not if they merely queued behind others. While a suspect keeps the driver waiting, a probe is sent
// beside it from time to time.
func (p *pipe) watch(expired []*Call, now time.Time) (changed bool) {
	if !p.driving {
		return false
	}
	for _, c := range expired {
		if p.suspect != nil {
			break // nothing new, and no reason to put off the probe
		}
		if now.Sub(p.quiet) >= c.Deadline.Sub(c.Asked)/2 {
			changed = p.fail(ErrTimeout, now)
		}
	}
	if p.suspect == nil || p.link == nil || p.spare != nil || p.probing {
		return changed
	}
	if now.Before(p.retryAt) {
		p.alarm.By(p.retryAt)
		return changed
	}
	p.probing = true
	p.spawn(p.probe)
	return changed
}

// probe tries a new connection while the old one stays silent. A frozen master answers neither, and once thawed both;
// one that was cut off answers the new one, long before the old one's packets are repeated, if they ever are.
func (p *pipe) probe() error {
	p.mu.Lock()
	old, quiet := p.link, p.quiet
	p.mu.Unlock()

	fresh, err := p.open()
	if err == nil {
		timeUp := make(chan struct{})
		p.clock.AfterFunc(grace, func() { close(timeUp) })
		<-timeUp
	}
	now := p.clock.Now()

	p.mu.Lock()
	p.probing = false
	if err != nil {
		if p.suspect != nil {
			p.fail(err, now)
			p.alarm.By(p.retryAt)
		}
		p.mu.Unlock()
		return nil
	}
	stuck := !p.closed && p.link == old && p.quiet.Equal(quiet) && len(p.wire) > 0
	if stuck {
		p.spare, p.retryAt = fresh, now
	}
	p.mu.Unlock()
	if stuck {
		old.close() // ends its silence, and the driver goes on with the spare
	} else {
		fresh.close()
	}
	return nil
}

// adopt makes the spare connection the pipe's, if there is one.
func (p *pipe) adopt() bool {
	if p.spare == nil {
		return false
	}
	l := p.spare
	p.spare = nil
	p.take(l, p.clock.Now())
	return true
}

// take makes l the pipe's connection.
func (p *pipe) take(l link, now time.Time) {
	p.link, p.proven, p.trip = l, false, way{}
	if news := p.bars.handshake(l.server().scripts, now); news != nil {
		p.news = append(p.news, news)
	}
}
