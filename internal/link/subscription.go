package link

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/resp"
)

// Subscription is a connection that receives the messages of channels. One goroutine at a time may call Subscribe and
// Unsubscribe, and one Receive. Close ends them. After an error the subscription has ended.
type Subscription interface {
	Subscribe(channels []string) error
	Unsubscribe(channels []string) error
	// Receive waits for the next event: text was published on the channel, or the channel is subscribed from now on, with
	// the text "". channel is "" for an event that concerns no channel.
	Receive() (channel, text string, err error)
	Close()
}

// errNoEvent is the error of a subscription over which something else arrived.
var errNoEvent = fmt.Errorf("%w: it is neither a message nor the answer to SUBSCRIBE", resp.ErrProtocol)

// subscribe makes a subscription to no channel yet.
func (d *dialer) subscribe(ctx context.Context) (Subscription, error) {
	s, err := d.attempt(ctx, d.attemptTimeout(), d.greet)
	if err != nil {
		return nil, err
	}
	return &wireSubscription{session: s}, nil
}

// greet is the handshake of a connection that carries no requests.
func (d *dialer) greet(ctx context.Context, conn net.Conn) (*session, error) {
	var info string
	return d.handshakeSeen(ctx, conn, &info, askInfo(&info, new(error)))
}

// wireSubscription is a subscription over a session. The server owes it a reply for each channel of a command.
type wireSubscription struct {
	session *session
	greeted bool // the first command was sent
}

func (w *wireSubscription) Subscribe(channels []string) error { return w.send("subscribe", channels) }

func (w *wireSubscription) Unsubscribe(channels []string) error {
	return w.send("unsubscribe", channels)
}

func (w *wireSubscription) send(command string, channels []string) error {
	args := []any{command}
	for _, c := range channels {
		args = append(args, c)
	}
	w.session.Put(resp.AppendCommand(nil, args))
	w.session.repliesDue.Add(int64(len(channels) - 1))
	err := w.session.Flush()
	if err != nil && !w.greeted { // nothing was received yet, so nobody else receives; the server may have said why
		_, _, err = w.Receive()
	}
	w.greeted = true
	return err
}

func (w *wireSubscription) Receive() (channel, text string, err error) {
	reply, _, err := w.session.decode() // however long that takes
	if err != nil {
		return "", "", cutOff(err)
	}
	channel, text, answer, err := readEvent(reply)
	if answer && w.session.repliesDue.Add(-1) < 0 {
		err = ErrUnasked
	}
	return channel, text, err
}

func (w *wireSubscription) Close() { w.session.Close() }

// readEvent reads what arrived over a subscription. answer reports whether it answers a command.
func readEvent(reply any) (channel, text string, answer bool, err error) {
	if refused, ok := reply.(resp.Error); ok {
		return "", "", false, refused
	}
	list, _ := reply.([]any)
	if len(list) != 3 {
		return "", "", false, errNoEvent
	}
	channel, named := list[1].(string)
	text, isText := list[2].(string)
	_, isCount := list[2].(int64)
	switch kind := list[0]; {
	case kind == "message" && named && isText:
		return channel, text, false, nil
	case kind == "subscribe" && named && isCount:
		return channel, "", true, nil
	case kind == "unsubscribe" && isCount && (named || list[1] == nil):
		return "", "", true, nil
	default:
		return "", "", false, errNoEvent
	}
}

// clientSubscription is a subscription over a client of go-redis.
type clientSubscription struct {
	ctx    context.Context
	cancel context.CancelFunc
	pubsub *redis.PubSub
	dead   chan struct{} // closed when Receive has panicked, perhaps with the mutex of pubsub locked
}

func (w *wrappedClient) subscribe(ctx context.Context) (Subscription, error) {
	ctx, cancel := context.WithCancel(ctx)
	pubsub := w.client.Subscribe(ctx) // connects with the first channel
	return &clientSubscription{ctx: ctx, cancel: cancel, pubsub: pubsub, dead: make(chan struct{})}, nil
}

func (c *clientSubscription) Subscribe(channels []string) error {
	return c.unlessDead(func() error { return c.pubsub.Subscribe(c.ctx, channels...) })
}

func (c *clientSubscription) Unsubscribe(channels []string) error {
	return c.unlessDead(func() error { return c.pubsub.Unsubscribe(c.ctx, channels...) })
}

// unlessDead returns the error of f, which needs the mutex of pubsub. It does not wait for f once Receive has panicked.
func (c *clientSubscription) unlessDead(f func() error) error {
	done := make(chan error, 1)
	go func() {
		var err error
		defer func() { done <- err }()
		defer recovered(&err)
		err = f()
	}()
	select {
	case err := <-done:
		return err
	case <-c.dead:
		return net.ErrClosed
	}
}

func (c *clientSubscription) Receive() (channel, text string, err error) {
	defer func() {
		if errors.As(err, new(*panicError)) {
			close(c.dead)
		}
	}()
	defer recovered(&err)
	msg, err := c.pubsub.Receive(c.ctx)
	switch m := msg.(type) {
	case *redis.Message:
		return m.Channel, m.Payload, err
	case *redis.Subscription:
		if m.Kind == "subscribe" {
			return m.Channel, "", err
		}
	}
	return "", "", err
}

func (c *clientSubscription) Close() {
	c.cancel() // before Close: the client may be waiting under the mutex that Close needs
	_ = c.unlessDead(c.pubsub.Close)
}
