package wire

import (
	"cmp"
	"context"
	"io"
	"time"

	"github.com/redlock-go/redlock/internal/target"
	"github.com/redlock-go/redlock/node"
)

// Node is the client's side of one Redis master. It belongs to at most one Locker, which binds and closes it.
type Node struct {
	target    *target.Target
	user      string
	clustered bool
	connect   func(context.Context) *Connection
	own       io.Closer // the client of a wrapped Cluster, if the node made it; else nil
	pipe      *pipe
	listener  *listener

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
}

// New returns the Node of a master that a user described. It does not connect.
func New(of *node.Node) *Node {
	n := &Node{target: target.Of(of)}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	if n.target.URL != nil {
		n.open()
	} else {
		n.wrap()
	}
	return n
}

// open makes the parts of a node with connections of its own.
func (n *Node) open() {
	t := n.target
	d := &dialer{options: t.URL, dial: t.Dial, clock: t.Clock}
	n.pipe = newPipe(t.Clock, func(patience time.Duration) (link, error) { return d.open(n.ctx, patience) })
	n.pipe.reach, n.pipe.core.reaches = func() (string, func(), error) { return d.reach(n.ctx) }, true
	n.listener, n.connect = newListener(n.ctx, t.Clock, d.subscribe), d.examine
	d.saw = n.pipe.saw
	if t.URL.CredentialsProviderContext == nil {
		n.user = cmp.Or(t.URL.Username, "default")
	}
}

// wrap makes the parts of a node that uses the client of its user, which has timeouts of its own.
func (n *Node) wrap() {
	t := n.target
	w := newWrapped(t.Client, t.Clock)
	n.pipe = newPipe(t.Clock, func(time.Duration) (link, error) { return w.newLink(n.ctx) })
	n.listener, n.connect = newListener(n.ctx, t.Clock, w.subscribe), w.examine
	n.clustered = w.cluster != nil
	if w.client != t.Client && w.cluster != nil {
		n.own = w.cluster
	}
	if w.single != nil && w.single.Options().CredentialsProviderContext == nil {
		n.user = cmp.Or(w.single.Options().Username, "default")
	}
}

// Name returns the name of the node.Node.
func (n *Node) Name() string { return n.target.Name }

// Clustered reports whether the node is a Cluster, so that the keys of one script must be in one of its slots.
func (n *Node) Clustered() bool { return n.clustered }

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
