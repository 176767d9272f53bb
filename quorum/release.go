package quorum

import "github.com/redlock-go/redlock/node"

// Release ends the lease at once and takes its keys away from every node that may have them. done, if not nil, is
// told once what a majority said: nil, and how many heard of it, where its nodes know; ErrGone, it no longer had the token;
// or ErrNoQuorum, wrapped, and the releases are pursued all the same, until each node has answered. Those who wait for
// the keys are told of it unless it is silent. Only the first call does anything; done of a later one is told ErrEnded.
func (l *Lease) Release(silently bool, done func(heard int64, err error)) {
	if done == nil {
		done = func(int64, error) {}
	}
	if l.released.Swap(true) {
		done(0, ErrEnded)
		return
	}
	now := l.q.cfg.Clock.Now()
	l.mu.Lock()
	op := l.ops.Release(!silently && !l.until.IsZero())
	l.mu.Unlock()
	l.q.ask(ask{
		op: op, timeout: l.terms.Timeout, scout: NoFirst, enough: (*tally).clear,
		each: func(i int, c *node.Call) *node.Vote {
			c.Delivery.KeyTTL = l.terms.TTL + l.terms.Drift
			c.Delivery.FirstAsked = l.asked
			switch l.place(i) {
			case unsent:
				return &node.Vote{Verdict: node.Failed, Unsent: true}
			case placed:
				c.Delivery.Durable, c.Delivery.ExpiresAt = true, now.Add(c.Delivery.KeyTTL)
			case doubtful:
				c.Delivery.Durable, c.Delivery.OnlyIfWritten = true, &l.trails[i].wrote
			}
			return nil
		},
		decided: func(r *round) { done(confirmed(r)) },
	})
}

// confirmed says what a majority made of a release.
func confirmed(r *round) (heard int64, err error) {
	var s state
	var gone, answered bool
	r.look(func(t *tally) { s, gone, answered, heard = t.state(), t.gone(), t.answered(), max(0, t.most()-1) })
	switch {
	case s == won:
		return heard, nil
	case gone:
		return 0, ErrGone
	case answered:
		return heard, nil
	default:
		return 0, noQuorum(r.errors())
	}
}
