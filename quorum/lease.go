package quorum

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/node"
)

// Terms are the durations of one lease.
type Terms struct {
	// TTL is what the operations set the keys to.
	TTL time.Duration
	// Drift is taken off every validity.
	Drift time.Duration
	// Timeout is how long one node may take over one operation.
	Timeout time.Duration
	// Window is how long a server must have been up for its grant to count; 0: always counts.
	Window time.Duration
	// MaxHold caps the lease, counted from the asking; 0: no cap.
	MaxHold time.Duration
	// Fencing: the lease has a fencing token.
	Fencing bool
}

// Lease is a lock that a majority granted.
type Lease struct {
	q     *Quorum
	terms Terms
	cap   time.Time // the lease never outlives it; zero: no cap
	fence int64     // 0: none

	// over has operations that were not written yet dropped, and is never taken back.
	over atomic.Bool

	order sync.Mutex // held while an extension is made and submitted

	mu      sync.Mutex
	ops     Ops
	until   time.Time // zero: it was never held
	ended   bool      // until moves no more
	acquire *round
	seats   []seat // what extensions, or an adoption, learned later than the acquire
}

// seat is what a lease knows of one node.
type seat struct {
	place  place
	wrote  atomic.Bool // an operation that sets keys was written there, or may have been before
	asking uint16      // extensions that the node has not answered yet
}

// place is what is known of a node's keys.
type place uint8

const (
	asAcquired place = iota // nothing beyond the acquire's vote
	never                   // nothing of ours was written there
	absent                  // the node said that there is nothing of ours
	placed                  // the node said that there is
	doubtful                // it may be there, or come there yet
)

// Everywhere asks all nodes at once.
const Everywhere = -1

// Acquire asks every node for the lock and returns the lease as soon as a majority has granted it with time left.
// With a scout, that node is asked first, and the others only unless it denies: contenders that agree on the scout do
// not split the vote.
//
// A failure has been released on every node before Acquire returns, as far as the caller is concerned: the releases
// are on their way, behind everything else sent to the node, and need nobody to wait for them. The error is a
// *DeniedError if somebody else holds it; ErrNoQuorum, wrapped with a *NodeError for each node that failed; a
// *StuckError if no waiting will help; or the context's.
//
// A caller who tries again passes the same faults, of [Quorum.NewFaults], each time.
func (q *Quorum) Acquire(ctx context.Context, ops Ops, terms Terms, scout int, faults *Faults) (*Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l := &Lease{q: q, ops: ops, terms: terms, seats: make([]seat, len(q.nodes))}
	done := make(chan struct{})
	r := q.ask(ask{
		op: ops.Acquire(), timeout: terms.Timeout, window: terms.Window, void: &l.over, scout: scout,
		fencing: terms.Fencing, faults: faults, enough: (*tally).decided,
		each: func(i int, c *node.Call) *node.Vote {
			c.Wrote = &l.seats[i].wrote
			return nil
		},
		decided: func(*round) { close(done) },
	})
	l.acquire = r

	var err error
	select {
	case <-done:
		err = l.won(ctx)
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		l.Release(nil)
		return nil, err
	}
	return l, nil
}

// won decides what a decided acquire round is worth.
func (l *Lease) won(ctx context.Context) error {
	r := l.acquire
	var s state
	var held, alone bool
	var denial node.Vote
	r.look(func(t *tally) {
		alone = t.denied > 0 && r.scout >= 0 && !r.rest
		s, held, denial = t.state(), alone || t.held(), t.denial()
	})
	switch {
	case s == won:
		if l.terms.MaxHold > 0 {
			l.cap = r.asked.Add(l.terms.MaxHold)
		}
		if err := l.inTime(); err != nil {
			return err
		}
		if l.terms.Fencing {
			if err := l.fenceIn(ctx); err != nil {
				return err
			}
		}
		l.until = l.deadline(r.asked)
		return nil
	case held:
		return &DeniedError{Wait: denial.Wait, By: denial.Data, Alone: alone}
	case r.faults.stuck():
		return &StuckError{Err: noQuorum(r.errors())}
	default:
		return noQuorum(r.errors())
	}
}

// inTime says whether anything is left of a lease that was just granted.
func (l *Lease) inTime() error {
	if !l.q.cfg.Clock.Now().Before(l.deadline(l.acquire.asked)) {
		return noQuorum(errTooLate)
	}
	return nil
}

var errTooLate = errors.New("the votes came when the validity was used up")

// deadline is when a lease ends whose keys were set by a request sent at asked.
func (l *Lease) deadline(asked time.Time) time.Time {
	until := asked.Add(clock.Validity(l.terms.TTL, 0, l.terms.Drift))
	if !l.cap.IsZero() && l.cap.Before(until) {
		return l.cap
	}
	return until
}

// Adopt makes a lease of a lock that was taken elsewhere: maybe says on which nodes its token was seen, or may be, since
// they did not answer; until when it is known to last; and fence is its fencing token, 0 for none.
func (q *Quorum) Adopt(ops Ops, terms Terms, maybe []bool, until time.Time, fence int64) *Lease {
	l := &Lease{q: q, ops: ops, terms: terms, until: until, fence: fence, seats: make([]seat, len(q.nodes))}
	for i, m := range maybe {
		l.seats[i].place = absent
		if m {
			l.seats[i].wrote.Store(true)
			l.seats[i].place = doubtful // with what TTL, who knows
		}
	}
	if terms.MaxHold > 0 {
		l.cap = q.cfg.Clock.Now().Add(terms.MaxHold)
		if l.cap.Before(until) {
			l.until = l.cap
		}
	}
	return l
}

// Become makes the lease one of another kind, which its next extension turns the tokens into. Release takes both away.
func (l *Lease) Become(ops Ops) {
	l.order.Lock()
	defer l.order.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ops = ops
}

// Until is when the lease ends unless it is extended. From then on the lock may be another's.
func (l *Lease) Until() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until
}

// End fixes the deadline if it is no more than lead away, and reports whether it did: an extension that succeeds later is
// too late.
func (l *Lease) End(lead time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = l.ended || !l.q.cfg.Clock.Now().Before(l.until.Add(-lead))
	return l.ended
}

// Capped reports whether the lease has reached its cap, so that extending it gains nothing.
func (l *Lease) Capped() bool {
	return !l.cap.IsZero() && !l.Until().Before(l.cap)
}

// Extend asks every node for a further TTL and tells done, once, from any goroutine and perhaps before it returns:
// nil, and Until has moved; ErrGone, a majority no longer has the token, and the lease is lost; ErrNoQuorum, wrapped
// with what the nodes said, and the lease goes on as before; ErrOver, it was released meanwhile, or its deadline passed.
//
// A node that lost the key gets it back, but counts only from the next extension on: its vote says that the token was
// gone, and meanwhile somebody else may have had it there.
func (l *Lease) Extend(done func(error)) {
	if l.over.Load() {
		done(ErrOver)
		return
	}
	// From here on the tokens may have no more than a TTL, even if nobody hears of it: an adopted lease may have had more.
	l.mu.Lock()
	if soonest := l.deadline(l.q.cfg.Clock.Now()); soonest.Before(l.until) {
		l.until = soonest
	}
	l.mu.Unlock()
	l.order.Lock() // an extension as the old kind must not go out behind one as the new
	defer l.order.Unlock()
	l.mu.Lock()
	op := l.ops.Extend(l.fence)
	l.mu.Unlock()
	l.q.ask(ask{
		op: op, timeout: l.terms.Timeout, void: &l.over, scout: Everywhere, enough: (*tally).clear,
		each: func(i int, c *node.Call) *node.Vote {
			c.Voter, c.Wrote = &extension{l: l, round: c.Voter}, &l.seats[i].wrote
			l.mu.Lock()
			l.seats[i].asking++
			l.mu.Unlock()
			return nil
		},
		decided: func(r *round) { done(l.extended(r)) },
	})
}

// extension notes what a vote, however late, says of the node's keys, and passes it on.
type extension struct {
	l     *Lease
	round node.Voter
}

func (e *extension) Vote(i int, v node.Vote) {
	e.l.mu.Lock()
	s := &e.l.seats[i]
	s.asking--
	switch {
	case v.Verdict == node.Granted || v.Healed:
		s.place = placed
	case v.Verdict == node.Denied:
		s.place = absent
	case v.Verdict == node.Unknown:
		s.place = doubtful
	}
	e.l.mu.Unlock()
	e.round.Vote(i, v)
}

// extended decides what a decided extension round is worth.
func (l *Lease) extended(r *round) error {
	var s state
	var gone bool
	r.look(func(t *tally) { s, gone = t.state(), t.gone() })
	switch {
	case s == won:
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.over.Load() || l.ended || !l.q.cfg.Clock.Now().Before(l.until) {
			return ErrOver // too late: meanwhile it may have been another's
		}
		if until := l.deadline(r.asked); until.After(l.until) {
			l.until = until
		}
		return nil
	case gone:
		return ErrGone
	default:
		return noQuorum(r.errors())
	}
}

// Release ends the lease at once and takes its keys away from every node that may have them. done, if not nil, is
// told once what a majority said: nil; ErrGone, it no longer had the token; or ErrNoQuorum, wrapped, and the releases
// are pursued all the same, until each node has answered. Only the first call does anything; done of a later one is
// told ErrOver.
func (l *Lease) Release(done func(error)) {
	if done == nil {
		done = func(error) {}
	}
	if l.over.Swap(true) {
		done(ErrOver)
		return
	}
	now := l.q.cfg.Clock.Now()
	l.mu.Lock()
	op := l.ops.Release(!l.until.IsZero())
	l.mu.Unlock()
	l.q.ask(ask{
		op: op, timeout: l.terms.Timeout, scout: Everywhere, enough: (*tally).clear,
		each: func(i int, c *node.Call) *node.Vote {
			c.Linger = l.terms.TTL + l.terms.Drift
			if l.acquire != nil {
				c.Since = l.acquire.asked
			}
			switch l.place(i) {
			case never:
				return &node.Vote{Verdict: node.Failed, Unsent: true}
			case placed:
				c.Pursue, c.GiveUp = true, now.Add(c.Linger)
			case doubtful:
				c.Pursue, c.Needs = true, &l.seats[i].wrote
			}
			return nil
		},
		decided: func(r *round) { done(released(r)) },
	})
}

func released(r *round) error {
	var s state
	var gone, answered bool
	r.look(func(t *tally) { s, gone, answered = t.state(), t.gone(), t.answered() })
	switch {
	case s == won:
		return nil
	case gone:
		return ErrGone
	case answered:
		return nil
	default:
		return noQuorum(r.errors())
	}
}

// place says what is known of a node's keys now. An extension under way would put them back, however late it arrives.
func (l *Lease) place(i int) place {
	l.mu.Lock()
	asking, later := l.seats[i].asking, l.seats[i].place
	l.mu.Unlock()
	switch {
	case asking > 0:
		return doubtful
	case later != asAcquired:
		return later
	}
	v, voted := l.acquire.vote(i)
	switch {
	case !voted && !l.acquire.wasAsked(i):
		return never
	case !voted || v.Verdict == node.Unknown:
		return doubtful
	case v.Verdict == node.Granted:
		return placed
	case v.Unsent:
		return never
	default:
		return absent
	}
}
