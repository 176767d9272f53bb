package wire

import "time"

// thawGrace is how long a master that was frozen may take to answer over its old connection, once a new one has
// answered.
const thawGrace = 100 * time.Millisecond

// silent returns the pipe's connection, and since when it has been silent.
func (co *core) silent() (link, time.Time) {
	return co.conn.link, co.conn.silentSince
}

// standbyTried decides between the old connection and the new one, l. If the old one is still silent, it is closed,
// which ends the driver's receive, and the driver continues with l.
func (co *core) standbyTried(old link, silentSince time.Time, l link, err error, now time.Time) (fx effects) {
	co.conn.tryingStandby = false
	h := &co.state.health
	silent := co.conn.link == old && co.conn.silentSince.Equal(silentSince) && len(co.state.calls.written) > 0
	switch {
	case err != nil:
		if h.suspect != nil {
			h.fail(err, now)
			fx.wake(h.retryAt)
		}
	case silent && !co.closing.closed:
		co.conn.standby, h.retryAt = l, now
		fx.close = append(fx.close, old)
	default:
		fx.close = append(fx.close, l)
		if co.conn.link != nil { // beginCompare took l for the pipe's connection
			co.state.servers.use(co.conn.link.server().RunID)
		}
	}
	return fx
}
