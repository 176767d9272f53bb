package link

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/replyerr"
	"github.com/redlock-go/redlock/internal/resp"
)

// Subscription is a connection that receives the messages of channels. One goroutine at a time may call Subscribe and
// Unsubscribe, and one Receive. Close ends them. After an error the subscription has ended, unless Receive returns the
// error of a channel. Each channel has a command of its own, because a server that refuses one channel of a command
// subscribes to none of them.
type Subscription interface {
	Subscribe(channels []string) error
	Unsubscribe(channels []string) error
	// Receive waits for the next event: text was published on the channel, or the channel is subscribed from now on, with
	// the text "", or with an error, the server refuses to subscribe to the channel. channel is "" for an event that
	// concerns no channel.
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

// owed has the commands of a subscription whose replies are due, in order.
type owed struct {
	mu       sync.Mutex
	channels []string // of SUBSCRIBE; "" for UNSUBSCRIBE
}

func (o *owed) add(channel string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.channels = append(o.channels, channel)
}

// settle takes a reply for the oldest command. refusal is its error; nil if it has none. The channel is that which the
// server refuses. A refused UNSUBSCRIBE is no error: no caller waits for the messages.
func (o *owed) settle(refusal error) (channel string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.channels) == 0 {
		return "", cmp.Or(refusal, ErrUnasked)
	}
	channel, o.channels = o.channels[0], o.channels[1:]
	if refusal == nil || channel == "" {
		return "", nil
	}
	return channel, refusal
}

// wireSubscription is a subscription over a session.
type wireSubscription struct {
	session *session
	owed    owed
	greeted bool // the first command was sent
}

func (w *wireSubscription) Subscribe(channels []string) error {
	for _, c := range channels {
		w.owed.add(c)
		w.session.Put(resp.AppendCommand(nil, []any{"subscribe", c}))
	}
	return w.flush()
}

func (w *wireSubscription) Unsubscribe(channels []string) error {
	for _, c := range channels {
		w.owed.add("")
		w.session.Put(resp.AppendCommand(nil, []any{"unsubscribe", c}))
	}
	return w.flush()
}

func (w *wireSubscription) flush() error {
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
	if answer {
		if refused, err := w.owed.settle(err); err != nil {
			return refused, "", err
		}
		err = nil
	}
	return channel, text, err
}

func (w *wireSubscription) Close() { w.session.Close() }

// readEvent reads what arrived over a subscription. answer reports whether it answers a command.
func readEvent(reply any) (channel, text string, answer bool, err error) {
	switch reply := reply.(type) {
	case resp.Error:
		return "", "", true, reply
	case resp.Oversized: // a message; it was read to its end
		return "", "", false, nil
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
	owed   owed
	dead   chan struct{} // closed when Receive has panicked, perhaps with the mutex of pubsub locked
}

func (w *wrappedClient) subscribe(ctx context.Context) (Subscription, error) {
	ctx, cancel := context.WithCancel(ctx)
	pubsub := w.client.Subscribe(ctx) // connects with the first channel
	return &clientSubscription{ctx: ctx, cancel: cancel, pubsub: pubsub, dead: make(chan struct{})}, nil
}

func (c *clientSubscription) Subscribe(channels []string) error {
	return c.each(channels, func(channel string) error {
		c.owed.add(channel)
		return c.pubsub.Subscribe(c.ctx, channel)
	})
}

func (c *clientSubscription) Unsubscribe(channels []string) error {
	return c.each(channels, func(channel string) error {
		c.owed.add("")
		return c.pubsub.Unsubscribe(c.ctx, channel)
	})
}

// each calls f with each channel until it returns an error.
func (c *clientSubscription) each(channels []string, f func(channel string) error) error {
	return c.unlessDead(func() (err error) {
		for i := 0; i < len(channels) && err == nil; i++ {
			err = f(channels[i])
		}
		return err
	})
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
		_, _ = c.owed.settle(nil)
		if m.Kind == "subscribe" {
			return m.Channel, "", err
		}
	}
	if replyerr.Is(err) {
		channel, err = c.owed.settle(err)
	}
	return channel, "", err
}

func (c *clientSubscription) Close() {
	c.cancel() // before Close: the client may be waiting under the mutex that Close needs
	_ = c.unlessDead(c.pubsub.Close)
}
