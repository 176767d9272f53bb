package redlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

// NodeStatus is the state of one master.
type NodeStatus struct {
	// Node is the master's address.
	Node string
	// Reachable reports whether the master answered within the node timeout.
	Reachable bool
	// RoundTrip is how long the answer took.
	RoundTrip time.Duration
	// Role, Version, RunID and Uptime are what the server reports in INFO.
	Role, Version, RunID string
	Uptime               time.Duration
	// MayVote reports whether a grant of this master counts now.
	MayVote bool
	// VoteIn is how long until the master may vote, if it is within its restart window; otherwise 0.
	VoteIn time.Duration
	// Err is a *NodeError with the reason why the master is not reachable or may not vote; nil if MayVote is true.
	Err error
}

// Nodes returns the state of every master, in the order in which they were given. It waits for all of them, for at most
// two node timeouts: it asks twice, the first time to connect and the second time to measure the round trip. On
// [ErrNoQuorum] fewer than a majority may vote at the moment; the rows and [NodeErrors] say why.
func (l *Locker) Nodes(ctx context.Context) ([]NodeStatus, error) {
	rows, err := l.nodes(ctx)
	if err != nil {
		err = failed("status", nil, err)
	}
	return rows, err
}

func (l *Locker) nodes(ctx context.Context) ([]NodeStatus, error) {
	if err := l.begin(); err != nil {
		return nil, err
	}
	defer l.end()
	// Asked twice: the first time pays for the connection, the second measures the round trip.
	var answers []quorum.Answer
	op := mark(node.StatusOp(), l.cfg.origin(ctx, 0, nil))
	for range 2 {
		var err error
		answers, err = l.quorum.Read(ctx, op, l.cfg.timeout(), false)
		if errors.Is(err, quorum.ErrClosing) {
			return nil, ErrClosed
		} // the rows report every other failure
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	rows := make([]NodeStatus, len(answers))
	var failed []*NodeError
	for i, an := range answers {
		rows[i] = l.status(an)
		var why *NodeError
		if errors.As(rows[i].Err, &why) {
			failed = append(failed, why)
		}
	}
	if may := len(rows) - len(failed); may < l.quorum.Majority() {
		return rows, fmt.Errorf("%w: %d of %d masters may vote: %w",
			ErrNoQuorum, may, len(rows), quorum.JoinNodeErrors(failed))
	}
	return rows, nil
}

func (l *Locker) status(an quorum.Answer) NodeStatus {
	row := NodeStatus{Node: an.Node}
	s, ok := an.Vote.Data.(node.Status)
	if !ok {
		row.Err = nodeError(an, "status")
		return row
	}
	row.Reachable = true
	row.RoundTrip = an.Vote.Took
	row.Role, row.Version, row.Uptime, row.RunID = s.Role, s.Version, s.Uptime, an.Vote.RunID()
	var err error
	switch {
	case an.Vote.Err != nil:
		err = an.Vote.Err
	case s.Role != "master":
		err = &node.RoleError{Role: s.Role}
	case s.Loading:
		err = errors.New("it is loading its dataset, and refuses other commands until then")
	case l.cfg.guard:
		err = an.Vote.Server.Trusted(l.cfg.window(), l.cfg.clock.Now())
		var young *node.RestartError
		if errors.As(err, &young) {
			row.VoteIn = young.Left
		}
	}
	if row.MayVote = err == nil; err != nil {
		row.Err = &NodeError{Node: an.Node, Op: "status", Err: err}
	}
	return row
}

// nodeError returns the NodeError for a node that did not answer.
func nodeError(an quorum.Answer, op string) error {
	err := an.Vote.Err
	if err == nil {
		err = node.ErrTimeout
	}
	return &NodeError{Node: an.Node, Op: op, Err: err}
}
