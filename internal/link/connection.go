package link

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/replyerr"
	"github.com/redlock-go/redlock/internal/resp"
	"github.com/redlock-go/redlock/node"
)

const (
	// examineTimeout is how long a [Connection] waits for one reply.
	examineTimeout = 3 * time.Second
	// maxExamined bounds one reply to a [Connection], such as a page of SCAN.
	maxExamined = 16 << 20
)

// Connection is a connection to a master for single commands. It carries no requests. The caller must close it. The
// first command dials. A broken connection is not replaced. Its methods must not be called concurrently.
type Connection struct{ examiner }

// examiner is what a [Connection] does over a connection of its own, or over a client of go-redis.
type examiner interface {
	// DoAll executes commands in one round trip.
	DoAll(ctx context.Context, commands [][]any) []Answer
	// Subscribe subscribes to a channel and returns when the master has confirmed it. After that, the connection can
	// only be closed.
	Subscribe(ctx context.Context, channel string) error
	// Close closes the connection.
	Close()
	remote() net.Addr
}

// Do executes a command and returns its reply; a null reply is nil. A map is a list of keys and values, in any order.
func (c *Connection) Do(ctx context.Context, args ...any) (any, error) {
	answer := c.DoAll(ctx, [][]any{args})[0]
	return answer.Reply, answer.Err
}

// Answer is the reply to one command of a [Connection.DoAll].
type Answer struct {
	Reply any
	Err   error
}

// Remote returns the IP address of the other end; "" if it is unknown or no IP address.
func (c *Connection) Remote() string {
	addr := c.remote()
	if addr == nil {
		return ""
	}
	host, _, _ := net.SplitHostPort(addr.String())
	if _, err := netip.ParseAddr(host); err != nil {
		return ""
	}
	return host
}

// errExamined takes the place of a reply above maxExamined.
const errExamined = resp.Error("the reply is too large")

// wireExaminer is an examiner over a session.
type wireExaminer struct {
	dialer  *dialer
	ctx     context.Context // ends with the node
	session *session        // nil: not dialed
	err     error           // why the session has ended; nil: it has not
}

func (d *dialer) examine(ctx context.Context) *Connection {
	return &Connection{&wireExaminer{dialer: d, ctx: ctx}}
}

// welcome is the handshake of an examiner. The reply to INFO shows why a server refuses the connection, or that it is
// no Redis server. The right to INFO may be missing.
func (d *dialer) welcome(ctx context.Context, conn net.Conn) (*session, error) {
	return d.handshake(ctx, conn, askInfo(new(string), new(error)))
}

// use calls f with the session, which it makes first if there is none. The session ends with ctx, with the node, after
// an error of f, and after examineTimeout, unless f calls extend.
func (w *wireExaminer) use(ctx context.Context, f func(s *session, extend func()) error) error {
	if w.err == nil && w.session == nil {
		dialing, cancel := context.WithCancelCause(w.ctx)
		unwatch := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
		w.session, w.err = w.dialer.attempt(dialing, w.dialer.attemptTimeout(), w.dialer.welcome)
		unwatch()
		cancel(nil)
		if w.session != nil {
			w.session.maxReply = maxExamined
		}
	}
	if w.err != nil {
		return w.err
	}
	over, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(w.ctx, func() { cancel(node.ErrClosed) })()
	late := w.dialer.clock.AfterFunc(examineTimeout, func() { cancel(node.ErrTimeout) })
	defer late.Stop()
	unwatch := context.AfterFunc(over, w.session.Close)
	err := f(w.session, func() { late.Reset(examineTimeout) })
	if !unwatch() {
		err = context.Cause(over)
	}
	if err != nil {
		w.err = cutOff(err)
		w.session.Close()
	}
	return w.err
}

func (w *wireExaminer) DoAll(ctx context.Context, commands [][]any) []Answer {
	answers := make([]Answer, len(commands))
	answered := 0
	err := w.use(ctx, func(s *session, extend func()) error {
		for _, args := range commands {
			s.Put(resp.AppendCommand(nil, args))
		}
		_ = s.Flush() // read reports the error
		for ; answered < len(commands); answered++ {
			reply, _, err := s.read()
			if err != nil {
				return err
			}
			switch reply := reply.(type) {
			case resp.Error:
				answers[answered].Err = reply
			case resp.Oversized:
				answers[answered].Err = errExamined
			default:
				answers[answered].Reply = reply
			}
			extend()
		}
		return nil
	})
	for i := answered; i < len(answers); i++ {
		answers[i].Err = err
	}
	return answers
}

func (w *wireExaminer) Subscribe(ctx context.Context, channel string) error {
	var refused error
	err := w.use(ctx, func(s *session, _ func()) error {
		sub := wireSubscription{session: s}
		if err := sub.Subscribe([]string{channel}); err != nil {
			return err
		}
		_, _, err := sub.Receive()
		if replyerr.Is(err) {
			refused, err = err, nil
		}
		return err
	})
	return cmp.Or(err, refused)
}

func (w *wireExaminer) remote() net.Addr {
	if w.session == nil {
		return nil
	}
	return w.session.conn.RemoteAddr()
}

func (w *wireExaminer) Close() {
	if w.session != nil {
		w.session.Close()
	}
	if w.err == nil {
		w.err = node.ErrClosed
	}
}

// clientExaminer is an examiner over a client of go-redis.
type clientExaminer struct {
	client interface {
		Pipelined(ctx context.Context, fn func(redis.Pipeliner) error) ([]redis.Cmder, error)
	}
	wrapped *wrappedClient
	end     func()
}

func (w *wrappedClient) examine(context.Context) *Connection {
	if w.single == nil {
		return &Connection{&clientExaminer{w.client, w, func() {}}}
	}
	conn := w.single.Conn()
	return &Connection{&clientExaminer{conn, w, func() { _ = conn.Close() }}}
}

func (c *clientExaminer) DoAll(ctx context.Context, commands [][]any) []Answer {
	answers := make([]Answer, len(commands))
	var cmds []redis.Cmder
	err := func() (err error) {
		defer recovered(&err)
		_, err = c.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, args := range commands {
				cmds = append(cmds, p.Do(ctx, args...))
			}
			return nil
		})
		return err
	}()
	shown := false // by a command; a panic is shown by all
	if errors.As(err, new(*panicError)) {
		cmds = nil
	}
	for i, cmd := range cmds {
		answers[i].Reply, answers[i].Err = replyOf(cmd.(*redis.Cmd))
		shown = shown || cmd.Err() != nil
	}
	if !shown { // err is nil, or the handshake's
		for i := range answers {
			answers[i].Err = err
		}
	}
	return answers
}

// replyOf returns a reply as protocol 2 has it: a map of protocol 3 is a list of its keys and values.
func replyOf(cmd *redis.Cmd) (any, error) {
	reply, err := cmd.Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if pairs, ok := reply.(map[any]any); ok {
		var list []any
		for key, value := range pairs {
			list = append(list, key, value)
		}
		return list, err
	}
	return reply, err
}

func (c *clientExaminer) Subscribe(ctx context.Context, channel string) (err error) {
	defer recovered(&err)
	s := c.wrapped.client.Subscribe(ctx, channel)
	_, err = s.ReceiveTimeout(ctx, examineTimeout) // Close could block after a panic
	_ = s.Close()
	return err
}

func (c *clientExaminer) remote() net.Addr { return nil }
func (c *clientExaminer) Close()           { c.end() }
