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

// Open makes a node of a URL: redis://[user:password@]host[:port][/db], rediss:// for TLS, or
// unix://[user:password@]/path/to/socket[?db=n]. Nothing is sent: it connects on first use. The URL's password appears
// in no error and no log.
func Open(rawURL string, opts ...Option) (*Node, error) {
	o, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	s, err := newSettings(opts)
	if err != nil {
		return nil, err
	}
	if err := s.secure(o); err != nil {
		return nil, err
	}
	d := &dialer{options: o, dial: s.dialer, clock: s.clock}
	return newNode(cmp.Or(s.name, o.Addr), s.clock, d.open, d.subscribe), nil
}

// clientOptions returns a copy of base with what every connection of ours needs. Measured reasons are in
// docs/internals.md.
func clientOptions(base *redis.Options) *redis.Options {
	o := *base
	o.MaxRetries = -1   // a repeated SET NX would meet its own key
	o.DialerRetries = 1 // a refused port costs 400 ms otherwise
	o.PipelinePoolSize = -1
	o.Protocol = 2 // nothing is pushed, so nothing need be looked for before each batch
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	o.ContextTimeoutEnabled = false // a vote's deadline must not end the connection
	o.ConnMaxIdleTime, o.ConnMaxLifetime = -1, 0
	o.MinIdleConns = 0
	return &o
}

const (
	// connectTimeout bounds a connection attempt: TCP, TLS, HELLO and INFO. A SYN that was lost in a black hole is
	// repeated by the kernel after a second, so a new attempt is as good.
	connectTimeout = time.Second
	// connectTimeoutMax is what it may grow to on a link on which no attempt has succeeded yet.
	connectTimeoutMax = 8 * time.Second
	// silence is how long a connection may stay without an answer before it is given up. A frozen master is waited for
	// that long on the connection that carries what it has not answered.
	silence = 30 * time.Second
)

// dialer opens the sessions of one node.
type dialer struct {
	options *redis.Options
	dial    Dialer
	clock   clock.Clock

	mu      sync.Mutex // a probe may connect beside the driver
	known   identities
	patient time.Duration // what the next attempt may take
	unasked bool          // do not ask for the right to run scripts: a connection ended at that question
}

// connect opens the transport. Closing it discards what the kernel still holds: a SET that waits in a send buffer must
// not arrive after the release that went over a later connection.
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

// open makes a connection, proves that Redis is behind it, and learns which process that is.
func (d *dialer) open(ctx context.Context) (link, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := d.clock.AfterFunc(d.patience(), func() { cancel(context.DeadlineExceeded) })
	defer timer.Stop()
	began := d.clock.Now()

	s, err := d.session(ctx)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		d.took(0, err)
		return nil, connectError(err)
	}
	d.took(d.clock.Now().Sub(began), nil)
	return s, nil
}

// patience is how long an attempt may take.
func (d *dialer) patience() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return max(d.patient, connectTimeout)
}

// took learns from an attempt: how far the link is; or, while none has ever succeeded, that it may be farther.
func (d *dialer) took(t time.Duration, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err == nil:
		d.patient = 4 * t
	case timedOut(err) && d.known.last.RunID == "":
		d.patient = min(2*max(d.patient, connectTimeout), connectTimeoutMax)
	}
}

func (d *dialer) session(ctx context.Context) (*session, error) {
	conn, err := d.connect(ctx)
	if err != nil {
		return nil, err
	}
	// The client reads with a patience of its own; the attempt's end closes the connection under it.
	unwatch := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer unwatch()

	o := clientOptions(d.options)
	o.PoolSize = 1
	o.ReadTimeout, o.WriteTimeout = silence, silence
	o.TLSConfig = nil // spoken by connect
	handed := false
	o.Dialer = func(context.Context, string, string) (net.Conn, error) {
		// Once: another connection would lead to a process that nobody has identified.
		if handed {
			return nil, errSessionOver
		}
		handed = true
		return lent{patient{conn}}, nil
	}
	// A refusal before this is called is one of the handshake (SELECT, say). go-redis returns it as if it were INFO's.
	connected := false
	o.OnConnect = func(context.Context, *redis.Conn) error {
		connected = true
		return nil
	}
	client := redis.NewClient(o)
	info, right, err := d.introduce(client, &connected)
	_ = client.Close()                                              // leaves conn open
	if err == nil && right.err == errSilenced && ctx.Err() == nil { //nolint:errorlint // as introduce returns it
		_ = conn.Close()
		return d.session(ctx)
	}
	if err != nil && (!connected || !refusesInfo(err)) {
		_ = conn.Close()
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	identity := d.known.learn(info, err, d.clock.Now())
	identity.scripts = right
	return newSession(conn, identity), nil
}

// errSilenced is what introduce returns in right.err if the connection ended at the question for the right.
var errSilenced = errors.New("the connection ended at EVALSHA")

// introduce asks for the server's identity and, in the same round trip, whether this user may run scripts. A proxy may
// end the connection at the second question. Then introduce does not ask it on later connections.
func (d *dialer) introduce(client *redis.Client, connected *bool) (info string, right scriptRight, err error) {
	ctx := context.Background()
	d.mu.Lock()
	unasked := d.unasked
	d.mu.Unlock()
	if unasked {
		info, err = client.Info(ctx, "server").Result()
		return info, scriptRight{}, err
	}
	p := client.Pipeline()
	asked, scripts := p.Info(ctx, "server"), p.EvalSha(ctx, noScript, nil)
	_, err = p.Exec(ctx)
	if !*connected {
		return "", scriptRight{}, err // the commands do not have the error
	}
	info, err = asked.Result()
	var answer redis.Error
	if info != "" && scripts.Err() != nil && !errors.As(scripts.Err(), &answer) { // both commands have the error
		d.mu.Lock()
		d.unasked = true
		d.mu.Unlock()
		return info, scriptRight{err: errSilenced}, nil
	}
	return info, rightOf(scripts.Err()), err
}

// errSessionOver is what go-redis gets when it asks for a second connection.
var errSessionOver = errors.New("the connection has ended")

// lent is a connection that outlives the client that it is lent to.
type lent struct{ patient }

func (lent) Close() error { return nil }

// patient is a connection for a client that gives up where deadlines are not supported: those of tunnels often are not. Its
// dialer's context ends it all the same.
type patient struct{ net.Conn }

func (p patient) SetDeadline(t time.Time) error {
	_ = p.Conn.SetDeadline(t)
	return nil
}

func (p patient) SetReadDeadline(t time.Time) error {
	_ = p.Conn.SetReadDeadline(t)
	return nil
}

func (p patient) SetWriteDeadline(t time.Time) error {
	_ = p.Conn.SetWriteDeadline(t)
	return nil
}

// refusesInfo tells a reply that refuses INFO from one that refuses everything for now.
func refusesInfo(err error) bool { return hasPrefix(err, "NOPERM", "ERR unknown", "ERR section") }

// subscribe makes a client of its own for subscriptions: their connection cannot carry anything else. It ends with ctx,
// whatever it is waiting for, or when done is called.
func (d *dialer) subscribe(ctx context.Context) (_ subscriber, done func()) {
	o := clientOptions(d.options)
	o.TLSConfig = nil
	o.ReadTimeout, o.WriteTimeout = connectTimeout, connectTimeout // of the handshake; messages are waited for
	var dialed atomic.Bool
	o.Dialer = func(dialing context.Context, _, _ string) (net.Conn, error) {
		// One connection, as for a session: go-redis would replace a broken one under the mutex that Close needs.
		if dialed.Swap(true) {
			return nil, errSessionOver
		}
		dialing, cancel := context.WithCancelCause(dialing)
		defer cancel(nil)
		timer := d.clock.AfterFunc(connectTimeout, func() { cancel(context.DeadlineExceeded) })
		defer timer.Stop()
		conn, err := d.connect(dialing)
		if err != nil {
			return nil, err
		}
		context.AfterFunc(ctx, func() { _ = conn.Close() })
		return patient{conn}, nil
	}
	client := redis.NewClient(o)
	return client, func() { _ = client.Close() }
}
