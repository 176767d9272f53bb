package node

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/redlock-go/redlock/clock"
)

// Open makes a node for the master at a URL: redis://[user:password@]host[:port][/db], rediss:// for TLS, or
// unix://[user:password@]/path/to/socket[?db=n]. Open does not connect: the node connects on first use. The
// URL's password appears in no error and no log. The query parameter zone=NAME names the failure domain of the master,
// such as an availability zone, for package doctor.
func Open(rawURL string, opts ...Option) (*Node, error) {
	o, zone, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	s, err := newSettings(opts)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.applyTLS(o), s.applyCredentials(o)); err != nil {
		return nil, err
	}
	d := &dialer{options: o, dial: s.dialer, clock: s.clock}
	n := newNode(cmp.Or(s.name, o.Addr), s.clock, d.open, d.subscribe)
	n.zone, n.connect = zone, d.examine
	return n, nil
}

// clientOptions returns a copy of base with the settings of every connection. docs/history/measured.md has the
// measurements behind them.
func clientOptions(base *redis.Options) *redis.Options {
	o := *base
	o.MaxRetries = -1   // a repeated SET NX would find its own key
	o.DialerRetries = 1 // a refused port costs 400 ms otherwise
	o.PipelinePoolSize = -1
	o.Protocol = 2 // RESP2: without push messages, none must be looked for before each batch
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	o.ContextTimeoutEnabled = false // a vote's deadline must not end the connection
	o.ConnMaxIdleTime, o.ConnMaxLifetime = -1, 0
	o.MinIdleConns = 0
	return &o
}

const (
	// connectTimeout bounds a connection attempt: TCP, TLS, HELLO and INFO. The kernel retransmits a lost SYN after a
	// second, so a new attempt is as good.
	connectTimeout = time.Second
	// connectTimeoutMax is the longest such bound while no attempt has succeeded yet.
	connectTimeoutMax = 8 * time.Second
)

// dialer opens the sessions of one node.
type dialer struct {
	options *redis.Options
	dial    Dialer
	clock   clock.Clock

	mu             sync.Mutex    // the driver, tryStandby and the recovery may connect at the same time
	known          identities    // the server that answered last
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
		return nil, err
	}
	return secure, nil
}

// open makes a connection, checks that a Redis server answers on it, and identifies the server process.
func (d *dialer) open(ctx context.Context) (link, error) {
	ctx, cancel := d.withTimeout(ctx, d.attemptTimeout())
	defer cancel()
	began := d.clock.Now()

	s, err := d.openSession(ctx)
	if err != nil {
		var noCredentials *credentialsError
		if cause := context.Cause(ctx); cause != nil && !errors.As(err, &noCredentials) {
			err = cause
		}
		d.observeDial(0, err)
		return nil, connectError(err)
	}
	d.observeDial(d.clock.Now().Sub(began), nil)
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
// none has ever succeeded.
func (d *dialer) observeDial(t time.Duration, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err == nil:
		d.dialTimeout = 4 * t
	case timedOut(err) && d.known.last.RunID == "":
		d.dialTimeout = min(2*max(d.dialTimeout, connectTimeout), connectTimeoutMax)
	}
}

// openSession connects, has go-redis do the handshake, and identifies the server. If the connection ends at the check
// of the right to run scripts, openSession connects again and leaves that check out.
func (d *dialer) openSession(ctx context.Context) (*session, error) {
	conn, err := d.connect(ctx)
	if err != nil {
		return nil, err
	}
	// The client has read timeouts of its own, so the end of ctx closes the connection under it.
	unwatch := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer unwatch()

	o := clientOptions(d.options)
	o.PoolSize = 1
	o.ReadTimeout, o.WriteTimeout = maxSilence, maxSilence
	o.CredentialsProviderContext = bindContext(ctx, o.CredentialsProviderContext)
	o.Dialer = lend(conn)
	// An error reply before this call belongs to the handshake (to SELECT, for example). go-redis returns it as INFO's.
	connected := false
	o.OnConnect = func(context.Context, *redis.Conn) error {
		connected = true
		return nil
	}
	client := redis.NewClient(o)
	info, right, err := d.identify(ctx, client, &connected)
	_ = client.Close() // leaves conn open
	if errors.Is(err, errRightCheck) {
		_ = conn.Close()
		return d.openSession(ctx)
	}
	if err != nil && (!connected || !refusesInfo(err)) {
		err = rejection(conn, err)
		_ = conn.Close()
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	identity := d.known.learn(info, err, d.clock.Now())
	identity.scripts = right
	return newSession(conn, identity), nil
}

// rejection returns why a server has ended a new connection at which a write failed with err. With TLS 1.3, it rejects
// the client's certificate after the handshake, when the client writes already. The alert can still be read.
func rejection(conn net.Conn, err error) error {
	var failed *net.OpError
	if _, ok := conn.(*tls.Conn); !ok || !errors.As(err, &failed) || failed.Op != "write" {
		return err
	}
	if _, alert := conn.Read(make([]byte, 1)); rejectsCertificate(alert) {
		return alert
	}
	return err
}

// errRightCheck is the error of identify if the connection ended at the check of the right to run scripts.
var errRightCheck = errors.New("the connection ended at EVALSHA")

// identify asks for the server's identity and, in the same round trip, checks whether this user may run scripts. A
// proxy may end the connection at that check, which is then left out on later connections. openSession closes the
// connection when ctx ends.
func (d *dialer) identify(
	ctx context.Context, client *redis.Client, connected *bool,
) (info string, right scriptRight, err error) {
	background := context.Background() // ctx would change go-redis's errors
	d.mu.Lock()
	skip := d.skipRightCheck
	d.mu.Unlock()
	if skip {
		info, err = client.Info(background, "server").Result()
		return info, scriptRight{}, err
	}
	p := client.Pipeline()
	identity, scripts := p.Info(background, "server"), p.EvalSha(background, noScript, nil)
	_, err = p.Exec(background)
	if !*connected {
		return "", scriptRight{}, err // the commands do not carry the error
	}
	info, err = identity.Result()
	var answer redis.Error
	if info != "" && scripts.Err() != nil && !errors.As(scripts.Err(), &answer) { // both commands carry the error
		if ctx.Err() != nil { // openSession has closed the connection
			return "", scriptRight{}, scripts.Err()
		}
		d.mu.Lock()
		d.skipRightCheck = true
		d.mu.Unlock()
		return "", scriptRight{}, errRightCheck
	}
	return info, rightOf(scripts.Err()), err
}

// errSessionOver is the error of an attempt of go-redis to make a second connection.
var errSessionOver = errors.New("the connection has ended")

// lend returns a dialer that returns conn, but only once: another connection could lead to another process, which would
// not be identified. Closing the returned connection leaves conn open.
func lend(conn net.Conn) Dialer {
	lent := false
	return func(context.Context, string, string) (net.Conn, error) {
		if lent {
			return nil, errSessionOver
		}
		lent = true
		return borrowedConn{optionalDeadlines{conn}}, nil
	}
}

// borrowedConn is a connection that stays open when the client that uses it is closed.
type borrowedConn struct{ optionalDeadlines }

func (borrowedConn) Close() error { return nil }

// optionalDeadlines is a connection that ignores errors of setting a deadline, because go-redis does not use a
// connection that has none. Connections of tunnels often have none. The dialer's context closes the connection anyway.
type optionalDeadlines struct{ net.Conn }

func (p optionalDeadlines) SetDeadline(t time.Time) error {
	_ = p.Conn.SetDeadline(t)
	return nil
}

func (p optionalDeadlines) SetReadDeadline(t time.Time) error {
	_ = p.Conn.SetReadDeadline(t)
	return nil
}

func (p optionalDeadlines) SetWriteDeadline(t time.Time) error {
	_ = p.Conn.SetWriteDeadline(t)
	return nil
}

// subscribe makes a client for subscriptions, whose connection cannot carry other commands. The connection is closed
// when ctx ends or closeClient is called, even while the client waits for it.
func (d *dialer) subscribe(ctx context.Context) (_ subscriber, closeClient func()) {
	// The timeout is that of the handshake; reading messages has none.
	client := d.client(ctx, connectTimeout, func(net.Conn) {})
	return client, func() { _ = client.Close() }
}

// client makes a client with one connection, which is made on first use, never replaced, and closed when ctx ends.
// It calls connected with the connection.
func (d *dialer) client(ctx context.Context, timeout time.Duration, connected func(net.Conn)) *redis.Client {
	o := clientOptions(d.options)
	o.PoolSize = 1
	o.ReadTimeout, o.WriteTimeout = timeout, timeout
	if get := o.CredentialsProviderContext; get != nil {
		o.CredentialsProviderContext = func(context.Context) (user, password string, err error) {
			ctx, cancel := d.withTimeout(ctx, connectTimeout)
			defer cancel()
			return get(ctx)
		}
	}
	var dialed atomic.Bool
	o.Dialer = func(dialing context.Context, _, _ string) (net.Conn, error) {
		// Only one connection: go-redis would replace a broken one under the mutex that Close needs.
		if dialed.Swap(true) {
			return nil, errSessionOver
		}
		dialing, cancel := d.withTimeout(dialing, connectTimeout)
		defer cancel()
		conn, err := d.connect(dialing)
		if err != nil {
			return nil, err
		}
		context.AfterFunc(ctx, func() { _ = conn.Close() })
		connected(conn)
		return optionalDeadlines{conn}, nil
	}
	return redis.NewClient(o)
}
