package wire

import (
	"context"
	"time"

	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/internal/target"
	"github.com/redlock-go/redlock/node"
)

// Node is the client's side of one Redis master. It belongs to at most one Locker, which binds and closes it.
type Node struct {
	target   *target.Target
	master   *link.Master
	pipe     *pipe
	listener *listener

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
}

// New returns the Node of a master that a user described. It does not connect.
func New(of *node.Node) *Node {
	t := target.Of(of)
	n := &Node{target: t}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.pipe = newPipe(t.Clock, func(patience time.Duration) (link.Link, error) { return n.master.Open(n.ctx, patience) })
	n.master = link.New(t, func(x link.Observation) { n.pipe.act(func(co *core) effects { return co.saw(x) }) })
	if reach := n.master.Reach; reach != nil {
		n.pipe.reach, n.pipe.core.reaches = func() (string, func(), error) { return reach(n.ctx) }, true
	}
	n.listener = newListener(n.ctx, t.Clock, n.master.Subscribe)
	return n
}

// Name returns the name of the node.Node.
func (n *Node) Name() string { return n.target.Name }

// Zone returns the parameter zone of the master's URL; "" if there is none.
func (n *Node) Zone() string { return n.target.Zone }

// User returns the user of the master's URL or of the wrapped client, "default" if there is none, or "" if
// [node.WithCredentials] names it for each connection.
func (n *Node) User() string { return n.master.User }

// Clustered reports whether the node is a Cluster, so that the keys of one script must be in one of its slots.
func (n *Node) Clustered() bool { return n.master.Clustered }

// Connect returns a connection of its own to the master. Closing the node ends it.
func (n *Node) Connect() *link.Connection { return n.master.Connect(n.ctx) }

// Bind must be called once, before the first Submit. A second call returns ErrBound. The node starts its goroutines
// with spawn, which is an errgroup's Go, so that their owner can wait for them. It calls onHealth with the failure when
// the master becomes suspect, with nil when the master has recovered, with a *[node.RefusalError] when the master
// begins or ceases to refuse releases, and with a *[node.SubscriptionError] when it refuses subscriptions or ends each.
func (n *Node) Bind(spawn func(func() error), onHealth func(err error)) error {
	if n.target.Bound.Swap(true) {
		return node.ErrBound
	}
	n.pipe.spawn, n.pipe.onHealth = spawn, func(err error) {
		if err == nil {
			signal(n.listener.retry) // ends its pause
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
	n.master.Close()
	return unconfirmed
}
