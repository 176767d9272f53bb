package node

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// examineTimeout is how long a [Connection] waits for one reply.
const examineTimeout = 3 * time.Second

// Connection is a connection to a master for the commands of package doctor. It carries no requests. Its methods must
// not be called concurrently.
//
// Connection is for packages of redlock: see the package documentation.
type Connection struct {
	client interface {
		Process(ctx context.Context, cmd redis.Cmder) error
		Pipelined(ctx context.Context, fn func(redis.Pipeliner) error) ([]redis.Cmder, error)
	}
	subscriber subscriber
	end        func()

	mu     sync.Mutex
	remote net.Addr
}

// Zone returns the parameter zone of the master's URL; "" if there is none.
func (n *Node) Zone() string { return n.zone }

// Connect returns a connection of its own to the master. The caller must close it. The first command dials. A broken
// connection is not replaced, and closing the node ends it.
func (n *Node) Connect() *Connection { return n.connect(n.ctx) }

func (d *dialer) examine(ctx context.Context) *Connection {
	ctx, cancel := context.WithCancel(ctx)
	c := &Connection{}
	client := d.client(ctx, examineTimeout, func(conn net.Conn) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.remote = conn.RemoteAddr()
	})
	c.client, c.subscriber = client, client
	c.end = func() {
		_ = client.Close()
		cancel()
	}
	return c
}

func (w *wrapped) examine(context.Context) *Connection {
	c := &Connection{client: w.client, subscriber: w.client, end: func() {}}
	if w.single != nil {
		conn := w.single.Conn()
		c.client, c.end = conn, func() { _ = conn.Close() }
	}
	return c
}

// Do executes a command and returns its reply; a null reply is nil.
func (c *Connection) Do(ctx context.Context, args ...any) (any, error) {
	cmd := redis.NewCmd(ctx, args...)
	_ = c.client.Process(ctx, cmd) // is also in cmd
	return replyOf(cmd)
}

// Answer is the reply to one command of a [Connection.DoAll].
type Answer struct {
	Reply any
	Err   error
}

// DoAll executes commands in one round trip.
func (c *Connection) DoAll(ctx context.Context, commands [][]any) []Answer {
	answers := make([]Answer, len(commands))
	cmds, err := c.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, args := range commands {
			p.Do(ctx, args...)
		}
		return nil
	})
	shown := false // by a command
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

func replyOf(cmd *redis.Cmd) (any, error) {
	reply, err := cmd.Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return reply, err
}

// Subscribe subscribes to a channel and returns when the master has confirmed it. After that, the connection can only
// be closed.
func (c *Connection) Subscribe(ctx context.Context, channel string) error {
	s := c.subscriber.Subscribe(ctx, channel)
	defer s.Close()
	_, err := s.ReceiveTimeout(ctx, examineTimeout)
	return err
}

// Remote returns the IP address of the other end; "" if it is unknown or no IP address.
func (c *Connection) Remote() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.remote == nil {
		return ""
	}
	host, _, _ := net.SplitHostPort(c.remote.String())
	if !isIP(host) {
		return ""
	}
	return host
}

// Close closes the connection.
func (c *Connection) Close() { c.end() }

// IsReply reports whether err is an error reply of a server, and not a failure of the connection.
func IsReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

// MissingCommand reports whether an error reply says that the user may not run a command (forbidden), or that the
// server does not know it (unknown).
func MissingCommand(err error) (forbidden, unknown bool) {
	if !IsReply(err) {
		return false, false
	}
	_, command := parseRefusal(err)
	unknown = command && strings.Contains(err.Error(), "nknown")
	return command && !unknown || hasPrefix(err, "NOPERM") || strings.Contains(err.Error(), "ACL failure"), unknown
}

// Arguments returns the command of an operation, with the text of its script.
func (o *Op) Arguments() []any {
	encoded := o.out
	if o.script != nil {
		encoded = o.text()
	}
	return decodeCommands(encoded)[0]
}
