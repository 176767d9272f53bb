package link

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/node"
)

const (
	// connectTimeout bounds a connection attempt: TCP, TLS and the handshake. The kernel retransmits a lost SYN after a
	// second, so a new attempt is as good.
	connectTimeout = time.Second
	// connectTimeoutMax is the longest such bound: while no attempt has succeeded yet, and after one that took long.
	connectTimeoutMax = 8 * time.Second
)

// dialer opens the sessions of one node.
type dialer struct {
	options *redis.Options // of the URL
	dial    node.Dialer
	clock   clock.Clock
	saw     func(Observation) // is told the reply to INFO server of each connection that is not an examiner's

	mu             sync.Mutex    // the driver and the spare may connect at the same time
	known          identities    // the server that answered last
	reached        bool          // an attempt of open has succeeded
	dialTimeout    time.Duration // of the next attempt, if it is longer than connectTimeout
	skipRightCheck bool          // do not check the right to run scripts: the check ended a connection
}

// connect opens the transport. Closing it discards what the kernel has not sent yet: a SET in a send buffer must not
// arrive after the release that went over a later connection.
func (d *dialer) connect(ctx context.Context) (net.Conn, error) {
	conn, err := d.dial(ctx, d.options.Network, d.options.Addr)
	if err != nil {
		return nil, err
	}
	if tcp, ok := conn.(interface{ SetLinger(seconds int) error }); ok { // a *net.TCPConn, or a test's
		_ = tcp.SetLinger(0) // fails only on a connection that is gone already
	}
	if d.options.TLSConfig == nil {
		return conn, nil
	}
	secure := tls.Client(conn, d.options.TLSConfig)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, tlsError(err)
	}
	return secure, nil
}

// open makes a connection for requests, see [Master.Open]. An attempt ends after attemptTimeout, or after patience if
// that is longer.
func (d *dialer) open(ctx context.Context, patience time.Duration) (Link, error) {
	began := d.clock.Now()
	patience = max(patience, d.attemptTimeout())
	s, err := d.attempt(ctx, patience, d.identify)
	if errors.Is(err, errRightCheck) {
		s, err = d.attempt(ctx, patience, d.identify)
	}
	d.observeDial(d.clock.Now().Sub(began), err)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// reach makes a connection only to see which server it reaches.
func (d *dialer) reach(ctx context.Context) (runID string, done func(), err error) {
	s, err := d.attempt(ctx, d.attemptTimeout(), d.greet)
	if err != nil {
		return "", nil, err
	}
	return s.identity.RunID, s.Close, nil
}

// attempt connects and does the handshake, for at most t. The end of ctx closes the connection only until attempt
// returns.
func (d *dialer) attempt(
	ctx context.Context, t time.Duration, handshake func(context.Context, net.Conn) (*session, error),
) (*session, error) {
	ctx, cancel := d.withTimeout(ctx, t)
	defer cancel()
	conn, err := d.connect(ctx)
	if err != nil {
		return nil, connectError(ctx, err)
	}
	unwatch := context.AfterFunc(ctx, func() { _ = transport(conn).Close() })
	s, err := handshake(ctx, conn)
	if !unwatch() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = transport(conn).Close()
		return nil, connectError(ctx, err)
	}
	return s, nil
}

// withTimeout returns a context that ends after t, by the dialer's clock.
func (d *dialer) withTimeout(ctx context.Context, t time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := d.clock.AfterFunc(t, func() { cancel(context.DeadlineExceeded) })
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}

// attemptTimeout returns how long an attempt to connect may take.
func (d *dialer) attemptTimeout() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return max(d.dialTimeout, connectTimeout)
}

// observeDial adapts the timeout to an attempt: four times what a successful one took, and twice the last timeout while
// none has ever succeeded; at most connectTimeoutMax.
func (d *dialer) observeDial(t time.Duration, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err == nil:
		d.reached, d.dialTimeout = true, min(4*t, connectTimeoutMax)
		return
	case errors.Is(err, node.ErrTimeout) && !d.reached:
		d.dialTimeout = min(2*max(d.dialTimeout, connectTimeout), connectTimeoutMax)
	}
	d.skipRightCheck = false // the check may not be what ended a connection
}
