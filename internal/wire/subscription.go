package wire

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/redis/go-redis/v9"
)

// subscription is a connection that receives the messages of channels. One goroutine at a time may call subscribe and
// unsubscribe, and one receive. close ends them. After an error the subscription has ended.
type subscription interface {
	subscribe(channels []string) error
	unsubscribe(channels []string) error
	// receive waits for the next event.
	receive() (event, error)
	close()
}

// event is what arrives over a subscription.
type event struct {
	kind          eventKind
	channel, text string
}

type eventKind uint8

const (
	unsubscribed eventKind = iota // the channel is no longer subscribed; nobody needs to know
	subscribed                    // the channel is subscribed from now on
	published                     // text was published on the channel
)

// errNoEvent is the error of a subscription over which something else arrived.
var errNoEvent = fmt.Errorf("%w: it is neither a message nor the answer to SUBSCRIBE", errProtocol)

// subscribe makes a subscription to no channel yet.
func (d *dialer) subscribe(ctx context.Context) (subscription, error) {
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

func (w *wireSubscription) subscribe(channels []string) error { return w.send("subscribe", channels) }

func (w *wireSubscription) unsubscribe(channels []string) error {
	return w.send("unsubscribe", channels)
}

func (w *wireSubscription) send(command string, channels []string) error {
	args := []any{command}
	for _, c := range channels {
		args = append(args, c)
	}
	w.session.put(appendCommand(nil, args))
	w.session.due.Add(int64(len(channels) - 1))
	err := w.session.flush()
	if err != nil && !w.greeted { // nothing was received yet, so nobody else receives; the server may have said why
		_, err = w.receive()
	}
	w.greeted = true
	return err
}

func (w *wireSubscription) receive() (event, error) {
	reply, err := w.session.decode(new(int)) // however long that takes
	if err != nil {
		return event{}, cutOff(err)
	}
	e, err := readEvent(reply)
	if err == nil && e.kind != published && w.session.due.Add(-1) < 0 {
		err = errUnasked
	}
	return e, err
}

func (w *wireSubscription) close() { w.session.close() }

// readEvent reads what arrived over a subscription.
func readEvent(reply any) (e event, err error) {
	if refused, ok := reply.(replyError); ok {
		return event{}, refused
	}
	list, _ := reply.([]any)
	if len(list) != 3 {
		return event{}, errNoEvent
	}
	channel, named := list[1].(string)
	text, isText := list[2].(string)
	_, isCount := list[2].(int64)
	switch kind := list[0]; {
	case kind == "message" && named && isText:
		return event{published, channel, text}, nil
	case kind == "subscribe" && named && isCount:
		return event{kind: subscribed, channel: channel}, nil
	case kind == "unsubscribe" && isCount && (named || list[1] == nil):
		return event{kind: unsubscribed}, nil
	default:
		return event{}, errNoEvent
	}
}

// clientSubscription is a subscription over a client of go-redis.
type clientSubscription struct {
	ctx    context.Context
	cancel context.CancelFunc
	pubsub *redis.PubSub
	dead   chan struct{} // closed when receive has panicked, perhaps with the mutex of pubsub locked
}

func (w *wrappedClient) subscribe(ctx context.Context) (subscription, error) {
	ctx, cancel := context.WithCancel(ctx)
	pubsub := w.client.Subscribe(ctx) // connects with the first channel
	return &clientSubscription{ctx: ctx, cancel: cancel, pubsub: pubsub, dead: make(chan struct{})}, nil
}

func (c *clientSubscription) subscribe(channels []string) error {
	return c.unlessDead(func() error { return c.pubsub.Subscribe(c.ctx, channels...) })
}

func (c *clientSubscription) unsubscribe(channels []string) error {
	return c.unlessDead(func() error { return c.pubsub.Unsubscribe(c.ctx, channels...) })
}

// unlessDead returns the error of f, which needs the mutex of pubsub. It does not wait for f once receive has panicked.
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

func (c *clientSubscription) receive() (_ event, err error) {
	defer func() {
		if errors.As(err, new(*panicError)) {
			close(c.dead)
		}
	}()
	defer recovered(&err)
	msg, err := c.pubsub.Receive(c.ctx)
	switch m := msg.(type) {
	case *redis.Message:
		return event{published, m.Channel, m.Payload}, err
	case *redis.Subscription:
		if m.Kind == "subscribe" {
			return event{kind: subscribed, channel: m.Channel}, err
		}
	}
	return event{}, err
}

func (c *clientSubscription) close() {
	c.cancel() // before Close: the client may be waiting under the mutex that Close needs
	_ = c.unlessDead(c.pubsub.Close)
}
