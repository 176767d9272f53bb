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
// The masters do not record which mutex has a fencing token, and keep the last term for a day. So a mutex that was
// acquired on the name without fencing, soon after an election, is reported as a leader with the last term.
//
// The result may be outdated: the leader may have lost its leadership or resigned when Leader returns.
func (e *Election) Leader(ctx context.Context) (Leader, error) {
	unsettled := "" // the token of a holder on whose term the masters disagreed
	for {
		h, err := e.locker.Inspect(ctx, e.name)
		if err != nil {
			return Leader{}, err
		}
		r := read(h)
		switch {
		case strings.HasPrefix(r.token, minHoldPrefix):
			return Leader{}, fmt.Errorf("%w of %q: the last one resigned, and its minimum hold goes on", ErrNoLeader, e.name)
		case r.term == 0 && h.Kind == "":
			return Leader{}, fmt.Errorf("%w of %q", ErrNoLeader, e.name)
		case r.term == 0:
			return Leader{}, fmt.Errorf("%w of %q: the name is held by a lock that no election acquired", ErrNoLeader, e.name)
		}
		if r.agreed || r.token == unsettled {
			return Leader{Owner: r.owner(), Term: r.term, TTL: r.left}, nil
		}
		// The holder may be a candidate that is still agreeing with the masters on its term.
		unsettled = r.token
		if err := clock.Sleep(ctx, clock.System, pollInterval); err != nil {
			return Leader{}, fmt.Errorf("election: the masters disagree on the term of %q's leader: %w", e.name, err)
		}
	}
}

// Observe returns a sequence of the leaders, beginning with the present one, until ctx ends. Each leader is yielded
// once, in the order of terms. Observe asks the masters four times a second, so it may miss a leader that leads for a
// shorter time. While no majority answers, Observe continues to ask. The sequence ends early if the Locker is closed or
// the name is invalid; [Election.Leader] returns the reason. The TTL of a yielded Leader is that of the first reading.
func (e *Election) Observe(ctx context.Context) iter.Seq[Leader] {
	return func(yield func(Leader) bool) {
		var term uint64
		for ctx.Err() == nil {
			leader, err := e.Leader(ctx)
			switch {
			case err == nil && leader.Term > term:
				if term = leader.Term; !yield(leader) {
					return
				}
			case err != nil && !errors.Is(err, ErrNoLeader) && !errors.Is(err, redlock.ErrNoQuorum):
				return
			}
			_ = clock.Sleep(ctx, clock.System, pollInterval)
		}
	}
}

// reading is what the masters report about the name.
type reading struct {
	token  string
	term   uint64 // 0: there is no leader
	agreed bool   // a majority of the masters reports the term
	left   time.Duration
}

// read finds the leader and its term. When the leader was elected, the fence counter of a majority was exactly the
// term. On other masters with the leader's token it may be larger, if they also granted a candidate that lost the vote.
// So the term is the counter of a majority, or the smallest counter if too few of that majority answer. A counter can
// be too small only while a candidate is being elected.
func read(h redlock.Holding) reading {
	if h.Kind != "mutex" {
		return reading{}
	}
	r := reading{token: h.Holders[0].Token, left: h.Holders[0].Left}
	votes := make(map[uint64]int)
	for _, n := range h.Nodes {
		if n.Token != r.token || n.Fence == 0 { // it does not answer, has another holder, or lost its counter
			continue
		}
		votes[n.Fence]++
		if r.term == 0 || n.Fence < r.term {
			r.term = n.Fence
		}
	}
	for term, n := range votes {
		if n > len(h.Nodes)/2 {
			r.term, r.agreed = term, true
		}
	}
	return r
}

// owner returns the readable part of the token, owner:random.
func (r reading) owner() string {
	if i := strings.LastIndexByte(r.token, ':'); i > 0 {
		return r.token[:i]
	}
	return r.token
}
