package wire

import "time"

// thawGrace is how long a master that was frozen may take to answer over its old connection, once a new one has
// answered.
const thawGrace = 100 * time.Millisecond

// tryStandby tries a new connection while the pipe's own is silent. A frozen master answers on neither connection, and
// on both once it has thawed. A master whose network was cut off answers on the new connection long before TCP
// retransmits over the old one.
func (p *pipe) tryStandby() error {
	old, silentSince := p.silent()
	l, err := p.open(0)
	if err == nil {
		p.beginCompare(l)
		over := make(chan struct{})
		p.clock.AfterFunc(thawGrace, func() { close(over) })
		<-over
	}
	p.apply(p.standbyTried(old, silentSince, l, err, p.clock.Now()))
	return nil
}

// silent returns the pipe's connection, and since when it has been silent.
func (p *pipe) silent() (link, time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.conn.link, p.conn.silentSince
}

// standbyTried decides between the old connection and the new one, l. If the old one is still silent, it is closed,
// which ends the driver's receive, and the driver continues with l.
func (p *pipe) standbyTried(old link, silentSince time.Time, l link, err error, now time.Time) (fx effects) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conn.tryingStandby = false
	h := &p.state.health
	silent := p.conn.link == old && p.conn.silentSince.Equal(silentSince) && len(p.state.calls.written) > 0
	switch {
	case err != nil:
		if h.suspect != nil {
			h.fail(err, now)
			fx.wake(h.retryAt)
		}
	case silent && !p.closing.closed:
		p.conn.standby, h.retryAt = l, now
		fx.close = append(fx.close, old)
	default:
		fx.close = append(fx.close, l)
		if p.conn.link != nil { // beginCompare took l for the pipe's connection
			p.state.servers.use(p.conn.link.server().RunID)
		}
	}
	return fx
}
