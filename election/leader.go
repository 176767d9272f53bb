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

// pace is the time between two readings of an observer. Observing sends no candidate's request that a release could
// wake, so an observer polls.
const pace = 250 * time.Millisecond

// Leader is what the masters report about the leader.
type Leader struct {
	// Owner is the owner of the leader's Locker ([redlock.WithOwner]).
	Owner string
	// Term is the number of the leader's term.
	Term uint64
	// TTL is for how long a majority of the masters will keep the leader unless it is extended.
	TTL time.Duration
}

// Leader returns the leader that a majority of the masters reports. If there is none, the error matches [ErrNoLeader],
// also if another kind of lock or one without fencing holds the name. If no majority answers within the node timeout,
// the error matches [redlock.ErrNoQuorum].
//
// The answer is a reading of the past: the leader may have lost or resigned its leadership when Leader returns.
func (e *Election) Leader(ctx context.Context) (Leader, error) {
	unclear := ""
	for {
		h, err := e.locker.Inspect(ctx, e.name)
		if err != nil {
			return Leader{}, err
		}
		r := read(h)
		switch {
		case r.term == 0 && h.Kind == "":
			return Leader{}, fmt.Errorf("%w of %q", ErrNoLeader, e.name)
		case r.term == 0:
			return Leader{}, fmt.Errorf("%w of %q: the name is held by a lock that no election acquired", ErrNoLeader, e.name)
		}
		if r.agreed || r.token == unclear {
			return Leader{Owner: r.owner(), Term: r.term, TTL: r.left}, nil
		}
		// The holder may be a candidate that is still agreeing with the masters on its term.
		unclear = r.token
		if err := clock.Sleep(ctx, clock.System, pace); err != nil {
			return Leader{}, fmt.Errorf("election: the masters disagree on the term of %q's leader: %w", e.name, err)
		}
	}
}

// Observe returns a sequence of the leaders, beginning with the present one, until ctx ends. A leader is yielded once,
// in order of terms. Observe asks the masters four times a second, so a leader that leads for a shorter time may be
// missed. While no majority answers, Observe goes on asking. The sequence ends early if the Locker is closed or the
// name is invalid; [Election.Leader] returns the reason. The TTL of a yielded Leader is that of the first reading.
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
			_ = clock.Sleep(ctx, clock.System, pace)
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

// read finds the leader and its term. Every master that has the leader's token has a count of at least the term, and a
// majority got exactly the term when the leader was elected. A larger count is one that the master gave to a candidate
// that lost the vote. So the term is the count that a majority has, or the smallest if too few of the majority answer.
// Only while a candidate is being elected can a count be too small.
func read(h redlock.Holding) reading {
	if h.Kind != "mutex" {
		return reading{}
	}
	r := reading{token: h.Holders[0].Token, left: h.Holders[0].Left}
	votes := make(map[uint64]int)
	for _, n := range h.Nodes {
		if n.Token != r.token || n.Fence == 0 { // it does not answer, has another holder, or lost its count
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
