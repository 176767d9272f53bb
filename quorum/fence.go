package quorum

import (
	"context"

	"github.com/redlock-go/redlock/node"
)

// A fencing token is a number that a majority agrees on and that only grows. Each node counts for itself and returns its
// count with the grant; the largest of a majority, M, is the token. If a majority did not return M, it is written back: a
// node on which the token of the lock is still there raises its count to M. So the next lock, whose majority shares a
// node with this one's, finds M there and gets more. docs/fencing.md has the argument.

// settled says whether the grants of a majority are enough to know the fencing token. Where some carry the one that the
// owner has already, a majority that agrees on it is waited for, as long as one may come: a new one would make
// the owner's other holds stale.
func (t *tally) settled() bool {
	if _, ok := t.agreed(); ok || t.complete() {
		return true
	}
	for _, v := range t.votes {
		if v.Verdict == node.Granted && v.Owned {
			return false
		}
	}
	return true
}

// agreed is the number that a majority granted.
func (t *tally) agreed() (number int64, ok bool) {
	for _, v := range t.votes {
		if v.Verdict == node.Granted && t.granting(v.Number) >= t.need {
			return v.Number, true
		}
	}
	return 0, false
}

func (t *tally) granting(number int64) (n int) {
	for _, v := range t.votes {
		if v.Verdict == node.Granted && v.Number == number {
			n++
		}
	}
	return n
}

// largest is the largest number that was granted.
func (t *tally) largest() (most int64) {
	for _, v := range t.votes {
		if v.Verdict == node.Granted {
			most = max(most, v.Number)
		}
	}
	return most
}

// most is the largest number that any node told, also of those that refused a smaller one.
func (t *tally) most() (most int64) {
	for _, v := range t.votes {
		if v.Verdict.Answered() {
			most = max(most, v.Number)
		}
	}
	return most
}

// fenceIn settles the fencing token of a lease that a majority has granted: at once if they agree on it, else by writing
// it back. A grant that comes later and carries more is not counted: its node holds more than the token, and could give
// that to another. Where for such nodes, or because those who share the lock wrote back more meanwhile, no majority takes
// the token, the most that was seen becomes the token, and is written back in its place.
func (l *Lease) fenceIn(ctx context.Context, acquire *round) error {
	var granted []node.Vote // by seat, the grants that carried the token
	acquire.look(func(t *tally) {
		var ok bool
		if l.fence, ok = t.agreed(); ok {
			return
		}
		l.fence = t.largest()
		granted = make([]node.Vote, len(t.votes))
		for i, v := range t.votes {
			if v.Verdict == node.Granted && v.Number == l.fence {
				granted[i] = v
			}
		}
	})
	if granted == nil {
		return nil
	}
	for {
		r, err := l.raise(ctx, granted)
		if err != nil {
			return err
		}
		var s state
		var most int64
		r.look(func(t *tally) { s, most = t.state(), t.most() })
		switch {
		case s == won:
			return l.inTime()
		case most <= l.fence:
			return noQuorum(r.errors())
		}
		if err := l.inTime(); err != nil {
			return err
		}
		l.fence = most
		clear(granted) // they carry less
	}
}

// raise writes the fencing token back, to all nodes but those that granted it.
func (l *Lease) raise(ctx context.Context, granted []node.Vote) (*round, error) {
	done := make(chan struct{})
	r := l.q.ask(ask{
		op: l.ops.Raise(l.fence), timeout: l.terms.Timeout, window: l.terms.Window, void: &l.released, scout: NoFirst,
		enough: func(t *tally) bool { return t.state() != open },
		each: func(i int, _ *node.Call) *node.Vote {
			if v := granted[i]; v.Verdict == node.Granted {
				v.Unsent = true // asked before
				return &v
			}
			return nil
		},
		decided: func(*round) { close(done) },
	})
	select {
	case <-done:
		return r, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.q.cfg.Closing:
		return nil, ErrClosing
	}
}

// Fence is the lease's fencing token; 0 without fencing.
func (l *Lease) Fence() int64 { return l.fence }
