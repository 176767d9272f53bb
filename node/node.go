package node

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/clock"
)

// Node is the client's side of one Redis master. It belongs to at most one Locker, which binds and closes it.
//
// Users need only Name. The other methods are for package quorum, see the package documentation.
type Node struct {
	name      string
	zone      string
	user      string
	clustered bool
	connect   func(context.Context) *Connection
	own       io.Closer // the client of a wrapped Cluster, if the node made it; else nil
	pipe      *pipe
	listener  *listener

	bound  atomic.Bool
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
}

func newNode(
	name string, clk clock.Clock,
	open func(ctx context.Context, patience time.Duration) (link, error),
	subscribe func(context.Context) (subscription, error),
) *Node {
	n := &Node{name: name}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.pipe = newPipe(clk, func(patience time.Duration) (link, error) { return open(n.ctx, patience) })
	n.listener = newListener(n.ctx, clk, subscribe)
	return n
}

// Name returns the name given with [WithName], by default the master's address without user and password.
func (n *Node) Name() string { return n.name }

// Clustered reports whether the node is a Cluster, so that the keys of one script must be in one of its slots.
func (n *Node) Clustered() bool { return n.clustered }

// Bind must be called once, before the first Submit. A second call returns ErrBound. The node starts its goroutines
// with spawn, which is an errgroup's Go, so that their owner can wait for them. It calls onHealth with the failure when
// the master becomes suspect, with nil when the master has recovered, with a *[RefusalError] when the master begins or
// ceases to refuse releases, and with a *[SubscriptionError] when it refuses subscriptions or ends each.
func (n *Node) Bind(spawn func(func() error), onHealth func(err error)) error {
	if n.bound.Swap(true) {
		return ErrBound
	}
	n.pipe.spawn, n.pipe.onHealth = spawn, func(err error) {
		if err == nil {
			n.listener.retryNow()
		}
		onHealth(err)
	}
	n.listener.spawn, n.listener.report = spawn, onHealth
	return nil
}

// Submit sends a request to the master. It never blocks. The vote goes to the request's Voter, at the latest at the
// request's Deadline, or later by its Connect. The caller must not change the call afterwards, nor submit it again.
func (n *Node) Submit(c *Call) { n.pipe.submit(c) }

// Suspect reports whether the master failed and has not answered since.
func (n *Node) Suspect() bool { return n.pipe.isSuspect() }

// Listen calls notify with every message on the channel, and with "" after every (re)subscription, since a message may
// have been missed before. It returns without waiting for the subscription, which stop ends.
func (n *Node) Listen(channel string, notify func(message string)) (stop func()) {
	return n.listener.listen(channel, notify)
}

// Close waits until the master has answered every request, at most until the deadline, and closes the connections.
// Requests that are still open get their vote. Close returns how many durable requests were not confirmed, or would
// have to be repeated after the deadline. The goroutines have ended when their owner's Wait returns.
func (n *Node) Close(deadline time.Time) (unconfirmed int) {
	unconfirmed = n.pipe.close(deadline)
	n.cancel()
	n.listener.close()
	if n.own != nil {
		_ = n.own.Close()
	}
	return unconfirmed
}
