package redlock

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

var (
	//go:embed lua/inspect.lua
	inspectLua string

	inspectScript = node.NewScript(inspectLua)
)

// sighting is what one master says of one name.
type sighting struct {
	kind, token string
	left        time.Duration // negative: for ever
}

// sightingOf is what a master said, if its answer counts: a server under two names answers twice.
func sightingOf(an quorum.Answer) (_ sighting, ok bool) {
	if !an.Vote.Verdict.Answered() {
		return sighting{}, false
	}
	s, ok := an.Vote.Data.(sighting)
	return s, ok
}

func (s sighting) free() bool { return s.kind == "" }

func inspectOp(name string) *node.Op {
	return inspectScript.Op("inspect", readSighting, []string{name})
}

// readSighting grants what is free and denies what is held.
func readSighting(reply any) node.Vote {
	fields, _ := reply.([]any)
	if len(fields) == 0 {
		return node.Vote{Verdict: node.Granted, Data: sighting{}}
	}
	if len(fields) != 3 {
		return node.Vote{Err: fmt.Errorf("the reply %v is not what inspect returns", reply)}
	}
	s := sighting{}
	s.kind, _ = fields[0].(string)
	s.token, _ = fields[1].(string)
	ms, _ := fields[2].(int64)
	s.left = time.Duration(ms) * time.Millisecond
	return node.Vote{Verdict: node.Denied, Data: s}
}

// Inspect says who holds a name, master by master. It waits for all of them, at most a node timeout. [ErrNoQuorum]:
// fewer than a majority answered; the Holding says what the others did.
func (l *Locker) Inspect(ctx context.Context, name string) (Holding, error) {
	h := Holding{Name: name}
	answers, err := l.read(ctx, name)
	for _, an := range answers {
		h.Nodes = append(h.Nodes, nodeHolding(an))
	}
	if err != nil {
		return h, err
	}
	need := l.quorum.Majority()
	lefts := make(map[string][]time.Duration)
	for _, an := range answers {
		if seen, ok := sightingOf(an); ok && !seen.free() {
			lefts[seen.token] = append(lefts[seen.token], seen.left)
			if len(lefts[seen.token]) == need {
				h.Kind = seen.kind
			}
		}
	}
	for token, left := range lefts {
		if len(left) >= need {
			h.Holders = append(h.Holders, Holder{Token: token, Votes: len(left), Left: sureUntil(left, need)})
		}
	}
	return h, nil
}

func nodeHolding(an quorum.Answer) NodeHolding {
	row := NodeHolding{Node: an.Node}
	if seen, ok := sightingOf(an); ok {
		row.Token, row.Left = seen.token, seen.left
	} else {
		row.Err = nodeError(an, "inspect")
	}
	return row
}

// nodeError is a node's failure to answer, whatever it was.
func nodeError(an quorum.Answer, op string) error {
	err := an.Vote.Err
	if err == nil {
		err = node.ErrTimeout
	}
	return &NodeError{Node: an.Node, Op: op, Err: err}
}

// read asks every master for a name.
func (l *Locker) read(ctx context.Context, name string) ([]quorum.Answer, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	if err := l.begin(); err != nil {
		return nil, err
	}
	defer l.end()
	answers, err := l.quorum.Read(ctx, inspectOp(name), l.cfg.timeout(), false)
	if err != nil {
		err = fmt.Errorf("inspect %q: %w", name, err)
	}
	return answers, err
}

// sureUntil is how long at least need of the keys live on.
func sureUntil(lefts []time.Duration, need int) time.Duration {
	slices.SortFunc(lefts, func(a, b time.Duration) int {
		switch {
		case a == b:
			return 0
		case a < 0 || (b >= 0 && a > b): // for ever is longest
			return -1
		default:
			return 1
		}
	})
	return lefts[need-1]
}

// nth is the n-th smallest of ds, counted from 1; the largest duration there is if there are fewer.
func nth(ds []time.Duration, n int) time.Duration {
	if n > len(ds) {
		return 1<<63 - 1
	}
	slices.Sort(ds)
	return ds[n-1]
}

// Attach makes a handle on a mutex that was taken elsewhere, with the token that is handed over: by a process that
// starts another, or before a restart. The token must be held by a majority; Until comes from the TTLs they vouch
// for. A free name is [ErrLost], another's is [ErrHeld]. Keepalive and all else as the options say. Whoever had the
// lock before must not unlock it, and must stop extending it.
func (l *Locker) Attach(ctx context.Context, name, token string, opts ...LockOption) (*Lock, error) {
	cfg, err := l.cfg.with(opts)
	if err != nil {
		return nil, err
	}
	if token == "" {
		return nil, errors.New("redlock: the token is empty: pass what Lock.Token returned")
	}
	asked := l.cfg.clock.Now()
	answers, err := l.read(ctx, name)
	if err != nil {
		return nil, err
	}
	need := l.quorum.Majority()
	maybe := make([]bool, len(answers)) // where the token is, or may be
	var ours, others []time.Duration
	for i, an := range answers {
		seen, ok := sightingOf(an)
		switch {
		case !ok:
			maybe[i] = true
		case seen.free():
		case seen.kind == "mutex" && seen.token == token:
			maybe[i] = true
			if seen.left < 0 { // somebody removed the TTL: rely on no more than one of ours
				seen.left = cfg.ttl
			}
			ours = append(ours, seen.left)
		default:
			others = append(others, seen.left)
		}
	}
	switch {
	case len(ours) >= need:
	case len(others) >= need:
		return nil, &HeldError{Name: name, Retry: max(0, sureUntil(others, need))}
	default:
		return nil, fmt.Errorf("%w: %q: only %d of %d masters hold the token", ErrLost, name, len(ours), len(answers))
	}
	left := sureUntil(ours, need)
	until := asked.Add(left - cfg.drift.Of(left))
	if !until.After(l.cfg.clock.Now()) {
		return nil, fmt.Errorf("%w: %q: its TTL is used up", ErrLost, name)
	}
	lease := l.quorum.Adopt(mutex{name, token, cfg.ttl}, cfg.terms(), maybe, until)
	lock := newLock(ctx, l, name, token, cfg, lease)
	if !l.keeper.add(lock) {
		return nil, ErrClosed
	}
	return lock, nil
}

// Nodes returns the state of every master, in the order they were given. It waits for all of them, at most a node
// timeout. [ErrNoQuorum]: fewer than a majority may vote at the moment, and the rows say why.
func (l *Locker) Nodes(ctx context.Context) ([]NodeStatus, error) {
	if err := l.begin(); err != nil {
		return nil, err
	}
	defer l.end()
	// Asked twice: the first time pays for the connection, the second measures the round trip.
	var answers []quorum.Answer
	for range 2 {
		answers, _ = l.quorum.Read(ctx, node.StatusOp(), l.cfg.timeout(), false) // the rows say what went wrong
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("redlock: status: %w", err)
		}
	}
	rows := make([]NodeStatus, len(answers))
	may := 0
	for i, an := range answers {
		rows[i] = l.status(an)
		if rows[i].MayVote {
			may++
		}
	}
	if may < l.quorum.Majority() {
		return rows, fmt.Errorf("%w: %d of %d masters may vote", ErrNoQuorum, may, len(rows))
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
	row.Role, row.Version, row.Uptime, row.RunID = s.Role, s.Version, s.Uptime, an.Vote.Server.RunID
	var err error
	switch {
	case an.Vote.Err != nil:
		err = an.Vote.Err
	case s.Role != "master":
		err = fmt.Errorf("its role is %q: give the address of a master", s.Role)
	case s.Loading:
		err = errors.New("it is loading its dataset, and refuses everything else until that is done")
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
