package election

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/quorum"
)

// pollInterval is the time between two requests of Observe, which polls because no message announces a new leader.
const pollInterval = 250 * time.Millisecond

// minHoldPrefix begins the token that keeps a name for the rest of a minimum hold; see [redlock.WithMinHold].
const minHoldPrefix = "min-hold:"

// Leader is what the masters report about the leader.
type Leader struct {
	// Owner is the owner of the leader's Locker ([redlock.WithOwner]).
	Owner string
	// Term is the number of the leader's term.
	Term uint64
	// TTL is how long the leader's keys remain on a majority of the masters unless it extends its mutex.
	TTL time.Duration
}

// Leader returns the leader that a majority of the masters reports. If there is none, the error matches [ErrNoLeader],
// even if the name is held by a lock of another kind or without fencing, or for the rest of a minimum hold
// ([redlock.WithMinHold]). If no majority answers within the node timeout, the error matches [redlock.ErrNoQuorum].
//
// Each master reports a number, and the term is the number that a majority reports. If no majority reports the same
// number, the error matches [ErrUnknownTerm], and the result has the leader's owner and TTL, but no term. This may
// happen while one master does not answer and another one reports a different number:
//
//   - a smaller number, until the leader's next extension, if the master gave the leader a smaller number, or lost the
//     end of its file in a restart
//   - a larger number, until the next election, if the master also granted a candidate that lost the vote
//
// Leader cannot detect some wrong results:
//
//   - If masters lost the end of their files (appendfsync everysec), a majority may report a number that is smaller
//     than the term, until the leader extends its mutex.
//   - A candidate whose votes came too late is reported as the leader until it has released them.
//   - A mutex that a program acquired on the name without fencing, within a day of an election, is reported as a leader
//     with the last term.
//
// The result may be outdated: the leader may have lost its leadership or resigned when Leader returns.
func (e *Election) Leader(ctx context.Context) (Leader, error) {
	r, err := e.find(ctx)
	return r.leader(), err
}

// find returns what the masters report about the leader. It returns an empty reading with every error but
// ErrUnknownTerm.
func (e *Election) find(ctx context.Context) (reading, error) {
	unsettled := "" // the token of a holder on whose term the masters disagreed
	for {
		h, err := e.locker.Inspect(ctx, e.name)
		if err != nil {
			return reading{}, err
		}
		r := read(h)
		if err := e.noLeader(h, r); err != nil {
			return reading{}, err
		}
		switch {
		case r.term != 0:
			return r, nil
		case r.token == unsettled:
			return r, e.unknownTerm(h, r)
		}
		// The holder may be a candidate that is still agreeing with the masters on its term.
		unsettled = r.token
		if err := clock.Sleep(ctx, clock.System, pollInterval); err != nil {
			return reading{}, fmt.Errorf("election: the masters disagree on the term of %q's leader: %w", e.name, err)
		}
	}
}

// noLeader returns the error for a name that no leader holds; nil if one does.
func (e *Election) noLeader(h redlock.Holding, r reading) error {
	switch {
	case strings.HasPrefix(r.token, minHoldPrefix):
		return fmt.Errorf("%w of %q: the last one resigned, and its minimum hold goes on", ErrNoLeader, e.name)
	case len(r.counters) > 0:
		return nil
	case h.Kind == "":
		return fmt.Errorf("%w of %q", ErrNoLeader, e.name)
	default:
		return fmt.Errorf("%w of %q: the name is held by a lock that no election acquired", ErrNoLeader, e.name)
	}
}

// unknownTerm returns the error for a leader whose term no majority of the masters reports. It wraps the failures of
// masters that did not answer.
func (e *Election) unknownTerm(h redlock.Holding, r reading) error {
	err := fmt.Errorf("%w: the masters with the mutex of %q report the terms %d", ErrUnknownTerm, e.name, r.counters)
	var failed []*redlock.NodeError
	for _, n := range h.Nodes {
		var why *redlock.NodeError
		if errors.As(n.Err, &why) {
			failed = append(failed, why)
		}
	}
	if why := quorum.JoinNodeErrors(failed); why != nil {
		return fmt.Errorf("%w; %w", err, why)
	}
	return err
}

// Observe returns a sequence of the leaders, beginning with the present one, until ctx ends. It yields each leader
// that differs from the last, and one again if its term was reported too small. The terms grow, with two exceptions:
// after masters lost their counters, a leader whose clock is behind may have a smaller term than an earlier leader; and
// the old leader may be yielded again after a candidate whose votes came too late.
//
// Observe asks the masters four times a second, once for all observers of one Locker and name, so it may miss a leader
// that leads for a shorter time. While no majority answers, or no majority reports the same term, Observe continues to
// ask. The sequence ends early if the Locker is closed or the name is invalid; [Election.Leader] returns the reason.
// The TTL of a yielded Leader is that of the first reading.
func (e *Election) Observe(ctx context.Context) iter.Seq[Leader] {
	return func(yield func(Leader) bool) {
		shared, leave := e.share()
		defer leave()
		var last reading
		for ctx.Err() == nil {
			r, next, err := shared.find(ctx, e)
			switch {
			case err == nil && (r.token != last.token || r.term > last.term):
				if last = r; !yield(r.leader()) {
					return
				}
			case err != nil && !isTransient(err):
				return
			}
			_ = clock.Sleep(ctx, clock.System, next.Sub(clock.System.Now()))
		}
	}
}

// isTransient reports whether Leader may succeed later although it returned err.
func isTransient(err error) bool {
	return errors.Is(err, ErrNoLeader) || errors.Is(err, ErrUnknownTerm) || errors.Is(err, redlock.ErrNoQuorum)
}

// reading is what the masters report about the name.
type reading struct {
	token    string
	counters []uint64 // of the masters with the token, those above 0; empty: there is no leader
	term     uint64   // 0: no majority reports the same number
	left     time.Duration
}

// read finds the leader and its term. When the leader was elected, the fence counters of a majority were exactly the
// term. If a majority now reports one number, the two majorities share a master. So that number is the term, unless the
// shared masters have changed their counters since. The number of a minority proves nothing: it may be smaller or
// larger than the term, as the comment of [Election.Leader] says.
func read(h redlock.Holding) reading {
	if h.Kind != "mutex" || len(h.Holders) == 0 {
		return reading{}
	}
	r := reading{token: h.Holders[0].Token, left: h.Holders[0].Left}
	votes := make(map[uint64]int)
	for _, n := range h.Nodes {
		if n.Token != r.token || n.Fence == 0 { // it does not answer, has another holder, or lost its counter
			continue
		}
		r.counters = append(r.counters, n.Fence)
		if votes[n.Fence]++; votes[n.Fence] > len(h.Nodes)/2 {
			r.term = n.Fence
		}
	}
	return r
}

// leader returns the leader that the masters report.
func (r reading) leader() Leader { return Leader{Owner: r.owner(), Term: r.term, TTL: r.left} }

// owner returns the readable part of the token, owner:random.
func (r reading) owner() string {
	if i := strings.LastIndexByte(r.token, ':'); i > 0 {
		return r.token[:i]
	}
	return r.token
}
