package node

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/clock"
)

// Node is one Redis master. It belongs to at most one locker, which binds and closes it.
type Node struct {
	name      string
	clustered bool
	pipe      *pipe
	ear       *ear

	bound  atomic.Bool
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
}

// Voter is told the votes of the calls it submitted.
type Voter interface {
	// Vote is called exactly once for each call, from any goroutine, also from within Submit. It must not block.
	Vote(seat int, v Vote)
}

// Call is one operation asked of one node.
type Call struct {
	Op *Op
	// Asked is the present, and Deadline when the vote is due.
	Asked, Deadline time.Time
	// Window is how long the server must have been up for its grant to count; 0: always counts.
	Window time.Duration
	// Void, if set and true before the call was written, has it dropped.
	Void *atomic.Bool
	// Counted has the call not even sent to a server that has not been up for the window, as far as that is known: what it
	// leaves there means something only if its grant counts.
	Counted bool
	// Pursue keeps the call in the pipe until the master has answered it, past its deadline and over any number of
	// connections. It is for releases, which may be repeated.
	Pursue bool

	voted    bool // guarded by the pipe's mutex, as asText, repeated, sent and confirmed
	asText   bool // goes out with its script's text
	repeated bool // an earlier sending may have been executed

	// Linger is how long a key that the call is to remove can live on after the master was last heard. A pursued call
	// that gets an error reply is given up after that, and one that was confirmed is repeated for no longer.
	Linger time.Duration
	// Since is when the first of the operations was asked that a pursued call is to undo. If a connection ended without
	// an answer and they may lie there, the call is repeated after it was confirmed. The zero time: nobody knows.
	Since time.Time
	// GiveUp, if set, is when a pursued call may be given up whatever the master does: when the keys that it removes
	// have certainly expired.
	GiveUp time.Time
	// Wrote, if set, is set to true when the call is about to be written. Needs, if set, has a pursued call dropped that
	// would go out while it is still false: what it is to undo was never written.
	Wrote, Needs *atomic.Bool
	// Voter gets the vote, with Seat.
	Voter Voter
	Seat  int

	sent      time.Time // when it was written last; it may have reached the master. Zero: never
	confirmed time.Time // when a pursued call was answered that is sent again all the same
}

func newNode(name string, clk clock.Clock, open func(context.Context) (link, error), subscribe func(context.Context) (subscriber, func())) *Node {
	n := &Node{name: name}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.pipe = newPipe(clk, func() (link, error) { return open(n.ctx) })
	n.ear = newEar(n.ctx, clk, subscribe)
	return n
}

// Name is the node's address, without user and password.
func (n *Node) Name() string { return n.name }

// Clustered reports whether the node is a Cluster, so that the keys of one script must be in one of its slots.
func (n *Node) Clustered() bool { return n.clustered }

// Bind must be called once, before the first Submit; a second call returns ErrBound. The node starts its goroutines
// with spawn, which is an errgroup's Go, so that their owner can wait for them. It calls tell with the failure when it
// becomes suspect, with nil when it has recovered, and with a *[RefusalError] when the master begins or ceases to
// refuse releases.
func (n *Node) Bind(spawn func(func() error), tell func(err error)) error {
	if n.bound.Swap(true) {
		return ErrBound
	}
	n.pipe.spawn, n.pipe.tell = spawn, tell
	n.ear.spawn = spawn
	return nil
}

// Submit asks the node. It never blocks: the vote goes to the call's Voter, at the latest at the call's Deadline. The
// call must stay unchanged, and must not be submitted again.
func (n *Node) Submit(c *Call) { n.pipe.submit(c) }

// Suspect reports whether the node failed and has not answered since.
func (n *Node) Suspect() bool { return n.pipe.isSuspect() }

// Listen has heard called for every message on the channel, and whenever the subscription begins anew (a message may
// have been missed then). It returns at once, and the subscription begins behind it; stop ends it.
func (n *Node) Listen(channel string, heard func()) (stop func()) {
	return n.ear.listen(channel, heard)
}

// Close waits until the master has answered everything that was submitted, at most until the deadline, and ends the
// connections. Calls that are still open get their vote. It returns how many pursued calls were not confirmed, or were
// to be repeated after the deadline. The goroutines have ended when their owner's Wait returns.
func (n *Node) Close(deadline time.Time) (unconfirmed int) {
	unconfirmed = n.pipe.close(deadline)
	n.cancel()
	n.ear.close()
	return unconfirmed
}
