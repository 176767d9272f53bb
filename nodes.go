package redlock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

// State says whether a master votes.
type State string

// The states of a master.
const (
	// NodeVoting: its grants count.
	NodeVoting State = "voting"
	// NodeRestarting: it is within its restart window, so its grants do not count.
	NodeRestarting State = "restarting"
	// NodeSuspect: it failed and has not answered since, or is loading its dataset.
	NodeSuspect State = "suspect"
	// NodeBarred: it is no master, does not identify itself (INFO), refuses the scripts that release locks, or its address
	// leads to several servers. An operator must act.
	NodeBarred State = "barred"
	// NodeUnknown: it has not been asked yet, or has not answered yet.
	NodeUnknown State = "unknown"
)

// NodeState says whether one master votes, and why not.
type NodeState struct {
	// Node is the master's address.
	Node  string
	State State
	// MayVote reports whether a grant of the master counts: its State is NodeVoting.
	MayVote bool
	// VoteIn is how long until the master may vote, if it is within its restart window; otherwise 0.
	VoteIn time.Duration
	// Err is why the master is restarting, suspect or barred; otherwise nil.
	Err error
}

// NodeStatus is a master's answer to [Locker.Nodes]. Err is a *NodeError.
type NodeStatus struct {
	NodeState
	// Reachable reports whether the master answered within the node timeout.
	Reachable bool
	// RoundTrip is how long the answer took.
	RoundTrip time.Duration
	// Role, Version, RunID and Uptime are what the server reports in INFO.
	Role, Version, RunID string
	Uptime               time.Duration
}

// Nodes returns the state of every master, in the order in which they were given. It asks twice, the first time to
// connect and the second time to measure the round trip, and waits for all masters: each time for a node timeout at
// most, and for a connection where it has none (see [WithNodeTimeout]). It returns the rows and [ErrNoQuorum] if fewer
// than a majority may vote now; [NodeErrors] returns the reasons.
func (l *Locker) Nodes(ctx context.Context) ([]NodeStatus, error) {
	rows, err := l.nodes(ctx)
	return rows, during("status", nil, err)
}

func (l *Locker) nodes(ctx context.Context) ([]NodeStatus, error) {
	if err := l.begin(); err != nil {
		return nil, err
	}
	defer l.end()
	var answers []quorum.Answer
	op := wire.StatusOp().From(l.cfg.origin(ctx, 0, nil))
	for range 2 {
		var err error
		answers, err = l.quorum.Read(ctx, op, l.cfg.terms.Timeout)
		// The rows report every other failure.
		if errors.Is(err, quorum.ErrClosing) {
			return nil, ErrClosed
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	rows := make([]NodeStatus, len(answers))
	may := 0
	var barred []*NodeError
	for i, an := range answers {
		rows[i] = l.statusRow(an, l.masters[i].Stats())
		var why *NodeError
		switch {
		case rows[i].MayVote:
			may++
		case errors.As(rows[i].Err, &why):
			barred = append(barred, why)
		}
	}
	if may < l.quorum.Majority() {
		return rows, fmt.Errorf("%w: %d of %d masters may vote: %w",
			ErrNoQuorum, may, len(rows), quorum.JoinNodeErrors(barred))
	}
	return rows, nil
}

// serverState returns whether the grants of a server count, and why not.
func (l *Locker) serverState(s *link.Server) (State, error) {
	if !l.cfg.guard {
		return NodeVoting, nil
	}
	err := s.Trusted(l.cfg.terms.Window, l.cfg.clock.Now())
	switch {
	case err == nil:
		return NodeVoting, nil
	case errors.As(err, new(*node.RestartError)):
		return NodeRestarting, err
	default:
		return NodeBarred, err
	}
}

// newNodeState returns the NodeState of a master.
func newNodeState(master string, state State, err error) NodeState {
	s := NodeState{Node: master, State: state, MayVote: state == NodeVoting, Err: err}
	var young *node.RestartError
	if state == NodeRestarting && errors.As(err, &young) {
		s.VoteIn = young.Left
	}
	return s
}

// nodeState returns the NodeState of a master with stats.
func (l *Locker) nodeState(master string, s wire.Stats) NodeState {
	switch {
	case s.Suspect != nil:
		return newNodeState(master, NodeSuspect, s.Suspect)
	case s.Barred != nil:
		return newNodeState(master, NodeBarred, s.Barred)
	case s.Server == nil:
		return newNodeState(master, NodeUnknown, nil)
	}
	state, err := l.serverState(s.Server)
	return newNodeState(master, state, err)
}

// nodeStateOnEvent returns the NodeState of a master that has just failed with err, or answers again.
func (l *Locker) nodeStateOnEvent(master string, err error) NodeState {
	if err == nil {
		for _, n := range l.masters {
			if n.Name() == master {
				return l.nodeState(master, n.Stats())
			}
		}
	}
	return newNodeState(master, NodeSuspect, err)
}

// statusRow returns the row of a master whose node has stats.
func (l *Locker) statusRow(an quorum.Answer, stats wire.Stats) NodeStatus {
	s, ok := an.Vote.Data.(wire.Status)
	if !ok {
		state := NodeSuspect
		if l.nodeState(an.Node, stats).State == NodeBarred { // it refuses INFO
			state = NodeBarred
		}
		return NodeStatus{NodeState: newNodeState(an.Node, state, nodeError(an, "status"))}
	}
	var row NodeStatus
	row.Reachable = true
	row.RoundTrip = an.Vote.Took
	row.Role, row.Version, row.Uptime, row.RunID = s.Role, s.Version, s.Uptime, an.Vote.RunID()
	state, err := l.serverState(an.Vote.Server)
	// An error of the vote comes before the role, the role before loading, and loading before the restart window.
	switch {
	case an.Vote.Err == nil && err == nil && stats.Barred != nil: // it refuses the scripts
		state, err = NodeBarred, stats.Barred
	case an.Vote.Err != nil:
		state, err = NodeBarred, an.Vote.Err
	case s.Role != "master":
		state, err = NodeBarred, &node.RoleError{Role: s.Role}
	case s.Loading:
		state, err = NodeSuspect, errors.New("it is loading its dataset, and refuses other commands until then")
	}
	if err != nil {
		err = &NodeError{Node: an.Node, Op: "status", Err: err}
	}
	row.NodeState = newNodeState(an.Node, state, err)
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

// reportHealth logs and traces that a master became suspect or recovered, and logs refusals.
func (l *Locker) reportHealth(master string, err error) {
	var refusal *node.RefusalError
	if errors.As(err, &refusal) {
		l.logRefusal(master, refusal)
		return
	}
	if errors.As(err, new(*node.SubscriptionError)) {
		l.journal.Repeat(slog.LevelWarn, master, "redlock: a master wakes no waiters, which poll",
			"master", master, "error", err)
		return
	}
	if err != nil {
		_, held := l.activity.present()
		l.journal.Repeat(slog.LevelWarn, master, "redlock: a master does not answer",
			"master", master, "locks", held, "error", err)
	} else {
		l.journal.Repeat(slog.LevelInfo, master, "redlock: a master answers again", "master", master)
	}
	if t := l.cfg.trace; t != nil && t.Node != nil {
		t.Node(NodeEvent{l.nodeStateOnEvent(master, err)})
	}
}

// logRefusal logs that a master answers but refuses releases, or is not asked for locks, or that this is over.
func (l *Locker) logRefusal(master string, r *node.RefusalError) {
	begins := "redlock: a master is not asked for locks"
	var isOver string
	switch {
	case errors.As(r.Err, new(*node.SeveralServersError)):
		isOver = "redlock: an address leads to one server again, which is asked for locks"
	case errors.As(r.Err, new(*node.RoleError)):
		isOver = "redlock: a server is a master again, and is asked for locks"
	case errors.As(r.Err, new(*node.RightError)):
		isOver = "redlock: a master allows scripts again, and is asked for locks"
	default:
		begins, isOver = "redlock: a master refuses releases, which are repeated", "redlock: a master executes releases again"
	}
	if r.Over {
		l.journal.Repeat(slog.LevelInfo, master, isOver, "master", master)
	} else {
		l.journal.Repeat(slog.LevelWarn, master, begins, "master", master, "error", r.Err)
	}
}

// logDuplicate logs that two masters are one server.
func (l *Locker) logDuplicate(master, other string) {
	l.journal.Log(slog.LevelWarn, "redlock: two masters are one server, and have one vote",
		"master", master, "other", other)
}
