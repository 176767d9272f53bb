// Package quorum runs one operation on N nodes at once and decides by majority.
//
// It does not know Redis: package wire delivers the votes, and the caller supplies the operations that make a lock
// ([Ops]). Every kind of lock follows the Redlock page
// (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/):
//
//   - A round asks all nodes, or one node first and the others unless that one denies. It counts each server once, and
//     ends as soon as it is decided. It does not wait for slow nodes.
//   - The validity is the TTL minus the elapsed time and the drift. If none is left, the round has failed.
//   - A failed acquire is released on every node.
//   - An extension needs a majority before the present deadline. It also restores the token on nodes that lost it. The
//     vote of such a node counts from the next extension on. If its server is within the restart window, the vote
//     counts only if the node is reserved (keyState).
//
// The page does not say what to do about nodes that answer late or not at all. Here each node repeats a release until
// its master has answered it.
//
// This package is the engine of package redlock. Its API may change in any release.
//
// To read it, begin with ops.go and terms.go. A round is in round.go, tally.go and decider.go; a lease in lease.go,
// acquire.go, fence.go, keystate.go, extend.go and release.go. Waiters use read.go, residue.go, listener.go and
// notifier.go.
package quorum

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/wire"
)

// Node is what a quorum needs of a master. [wire.Node] is one, and documents the methods.
type Node interface {
	Name() string
	Bind(spawn func(func() error), onHealth func(error)) error
	Submit(*wire.Call)
	Suspect() bool
	Listen(channel string, notify func(message string)) (stop func())
	Close(deadline time.Time) (unconfirmed int)
}

var _ Node = (*wire.Node)(nil)

// Config configures a Quorum.
type Config struct {
	// Nodes are the masters: one, or an odd number of at least three, with distinct names.
	Nodes []Node
	// Clock is the source of all times. It should count suspensions; see [clock.CountSuspensions].
	Clock clock.Clock
	// OnVote, if set, is called with every vote on a call that was submitted to a node.
	OnVote func(node string, op *wire.Op, v wire.Vote)
	// OnHealth, if set, is called when a node becomes suspect (err is the failure), when it has recovered (err is nil),
	// when it begins or ceases to refuse releases (err is a *node.RefusalError), and when it refuses or ends subscriptions
	// (err is a *node.SubscriptionError).
	OnHealth func(node string, err error)
	// OnDuplicate, if set, is called with two nodes that are one server, once for each such pair.
	OnDuplicate func(node, other string)
	// Closing, if set, is closed shortly before Close is called. Calls that wait for nodes then return ErrClosing.
	Closing <-chan struct{}
}

// Quorum is a set of nodes that decide together. It owns their goroutines.
type Quorum struct {
	cfg   Config
	nodes []Node
	need  int       // votes that are a majority
	made  time.Time // when the Quorum was made
	// byName has the indexes of the nodes, sorted by their names.
	byName []int
	// group owns all goroutines of the nodes: one driver per node, started with its first call, and the nodes' probes and
	// listeners. One goroutine per vote would be simpler, but would start ten of them for each lock and unlock on five
	// nodes.
	group errgroup.Group
	// reported has the pairs of nodes that OnDuplicate was called with.
	reported   sync.Map
	duplicates []atomic.Int64 // by node; see Duplicates
}

// New checks the nodes, binds them, and returns their quorum. If one of the nodes belongs to another quorum, the nodes
// before it stay bound. After any other error, no node is bound.
func New(cfg Config) (*Quorum, error) {
	n := len(cfg.Nodes)
	if n == 0 {
		return nil, errors.New("redlock: no masters: give one, or an odd number of at least three")
	}
	if n%2 == 0 {
		return nil, fmt.Errorf("redlock: %d masters: an even number tolerates no more failures than %d; "+
			"give one, or an odd number of at least three", n, n-1)
	}
	seen := make(map[string]bool, n)
	for i, nd := range cfg.Nodes {
		if nd == nil {
			return nil, fmt.Errorf("redlock: master %d of %d is nil", i+1, n)
		}
		if seen[nd.Name()] {
			return nil, fmt.Errorf("redlock: master %s is given twice: it would have two votes", nd.Name())
		}
		seen[nd.Name()] = true
	}
	q := &Quorum{cfg: cfg, nodes: cfg.Nodes, need: n/2 + 1, made: cfg.Clock.Now(), duplicates: make([]atomic.Int64, n)}
	for index := range q.nodes {
		q.byName = append(q.byName, index)
	}
	slices.SortFunc(q.byName, func(a, b int) int { return strings.Compare(q.nodes[a].Name(), q.nodes[b].Name()) })
	for _, nd := range q.nodes {
		err := nd.Bind(q.group.Go, func(err error) {
			if cfg.OnHealth != nil {
				cfg.OnHealth(nd.Name(), err)
			}
		})
		if err != nil {
			return nil, fmt.Errorf("redlock: master %s: %w", nd.Name(), err)
		}
	}
	return q, nil
}

// since returns the time since the Quorum was made, at t.
func (q *Quorum) since(t time.Time) time.Duration { return t.Sub(q.made) }

// Majority returns how many nodes are a majority.
func (q *Quorum) Majority() int { return q.need }

// Size returns the number of nodes.
func (q *Quorum) Size() int { return len(q.nodes) }

// FirstNode returns the index of the node that contenders for a name ask first. It depends on the name and the nodes'
// names, not on the order of the nodes, so that all processes pick the same node. If that node is suspect, FirstNode
// returns the next one that is not suspect, or NoFirst if all are.
func (q *Quorum) FirstNode(name string) int {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(name))
	n := len(q.nodes)
	first := int(hash.Sum64() % uint64(n))
	for i := range n {
		index := q.byName[(first+i)%n]
		if !q.nodes[index].Suspect() {
			return index
		}
	}
	return NoFirst
}

// Duplicates returns how many rounds have found that the node at index and another node are one server.
func (q *Quorum) Duplicates(index int) int64 { return q.duplicates[index].Load() }

// reportDuplicate counts two nodes that are one server, and calls OnDuplicate with them once.
func (q *Quorum) reportDuplicate(pair [2]int) {
	for _, index := range pair {
		q.duplicates[index].Add(1)
	}
	if q.cfg.OnDuplicate == nil {
		return
	}
	if _, before := q.reported.LoadOrStore(pair, true); !before {
		q.cfg.OnDuplicate(q.nodes[pair[0]].Name(), q.nodes[pair[1]].Name())
	}
}

// Close waits until the nodes have answered their requests, at most until deadline, and closes them. It returns when
// all their goroutines have ended, with the names of the nodes on which releases are unconfirmed.
func (q *Quorum) Close(deadline time.Time) (unconfirmed []string) {
	left := make([]int, len(q.nodes))
	var closing errgroup.Group
	for i, nd := range q.nodes {
		closing.Go(func() error {
			left[i] = nd.Close(deadline)
			return nil
		})
	}
	_ = closing.Wait()
	_ = q.group.Wait()
	for i, n := range left {
		if n > 0 {
			unconfirmed = append(unconfirmed, q.nodes[i].Name())
		}
	}
	return unconfirmed
}
