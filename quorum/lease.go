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
	asked time.Time // when the acquire began; zero: it was adopted
	fence int64     // 0: none

	// released has operations that were not written yet dropped, and is not taken back.
	released atomic.Bool

	order sync.Mutex // held while an extension is made and submitted

	fixed   bool // until moves no more; guarded by mu, as all below
	mu      sync.Mutex
	ops     Ops
	until   time.Time     // zero: it was never held
	cap     time.Time     // the latest value of until; zero: no cap
	slept   time.Duration // the reading of the sleepMeter on which until and cap are based
	acquire *round        // nil when the trails have it all
	trails  []trail
}

// NoFirst asks all nodes at once.
const NoFirst = -1

// Acquire asks every node for the lock and returns the lease as soon as a majority has granted it with time left.
// With a scout, that node is asked first, and the others only unless it denies: contenders that agree on the scout do
// not split the vote.
//
// A failure has been released on every node before Acquire returns, as far as the caller is concerned: the releases
// are on their way, behind everything else sent to the node, and need nobody to wait for them. The error is a
// *DeniedError if somebody else holds it; ErrNoQuorum, wrapped with a *NodeError for each node that failed; a
// *PermanentError if no waiting will help; ErrClosing; or the context's.
//
// A caller who tries again passes the same faults, of [Quorum.NewPermanentFailures], each time.
func (q *Quorum) Acquire(ctx context.Context, ops Ops, terms Terms, scout int, faults *PermanentFailures) (*Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l := &Lease{q: q, ops: ops, terms: terms, trails: make([]trail, len(q.nodes))}
	done := make(chan struct{})
	r := q.prepare(ask{
		op: ops.Acquire(), timeout: terms.Timeout, window: terms.Window, void: &l.released, scout: scout,
		fencing: terms.Fencing, faults: faults, enough: (*tally).decided,
		each: func(i int, c *node.Call) *node.Vote {
			c.Written = &l.trails[i].wrote
			return nil
		},
		decided:  func(*round) { close(done) },
		complete: l.learn,
	})
	l.acquire, l.asked = r, r.asked
	held := false
	defer func() {
		if !held { // also if the OnVote callback panics
			l.Release(false, nil)
		}
	}()
	r.start()

	var err error
	select {
	case <-done:
		err = l.acquired(ctx, r)
	case <-ctx.Done():
		err = ctx.Err()
	case <-q.cfg.Closing:
		err = ErrClosing
	}
	if err != nil {
		return nil, err
	}
	held = true
	return l, nil
}

// acquired decides what a decided acquire round is worth.
func (l *Lease) acquired(ctx context.Context, r *round) error {
	var s state
	var held, alone bool
	var denial node.Vote
	r.look(func(t *tally) {
		alone = t.denied > 0 && r.scout >= 0 && !r.widened
		s, held, denial = t.state(), alone || t.held(), t.denial()
	})
	switch {
	case s == won:
		if l.terms.MaxHold > 0 {
			l.cap = r.asked.Add(l.terms.MaxHold)
		}
		l.slept = r.slept
		if err := l.inTime(); err != nil {
			return err
		}
		if l.terms.Fencing {
			if err := l.fenceIn(ctx, r); err != nil {
				return err
			}
		}
		l.mu.Lock()
		l.until = l.deadline(r.asked)
		l.wake(l.q.sleep.recent(l.q.cfg.Clock.Now()))
		l.mu.Unlock()
		return nil
	case held:
		return &DeniedError{Wait: denial.Wait, By: denial.Data, Alone: alone}
	case r.faults.stuck():
		return &PermanentError{Err: noQuorum(r.errors())}
	default:
		return noQuorum(r.errors())
	}
}

// inTime says whether anything is left of a lease that was just granted.
func (l *Lease) inTime() error {
	now := l.q.cfg.Clock.Now()
	if missed := l.q.sleep.recent(now) - l.slept; !now.Before(l.deadline(l.asked).Add(-missed)) {
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

// Import makes a lease of a lock that was taken elsewhere: maybe says on which nodes its token was seen, or may be, since
// they did not answer; until when it is known to last; and fence is its fencing token, 0 for none.
func (q *Quorum) Import(ops Ops, terms Terms, maybe []bool, until time.Time, fence int64) *Lease {
	l := &Lease{
		q: q, ops: ops, terms: terms, until: until, slept: q.sleep.fresh(), fence: fence,
		trails: make([]trail, len(q.nodes)),
	}
	for i, m := range maybe {
		l.trails[i].place = absent
		if m {
			l.trails[i].wrote.Store(true)
			l.trails[i].place = doubtful // with what TTL, who knows
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

// ChangeKind gives the lease the operations of another kind, into which its next extension turns what the nodes hold. Their
// Release takes away what is there, of the one kind or the other.
func (l *Lease) ChangeKind(ops Ops) {
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

// FreezeDeadline fixes the deadline where it is: no extension moves it any more.
func (l *Lease) FreezeDeadline() {
	l.mu.Lock()
	l.fixed = true
	l.mu.Unlock()
}

// ExpiresWithin fixes the deadline if it is no more than lead away, and reports whether it is fixed: no extension moves it any more.
// The sleepMeter's reading that it uses may be a second old. Call Wake before it to use a fresh one.
func (l *Lease) ExpiresWithin(lead time.Duration) bool {
	now := l.q.cfg.Clock.Now()
	slept := l.q.sleep.recent(now)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wake(slept)
	l.fixed = l.fixed || !now.Before(l.until.Add(-lead))
	return l.fixed
}

// Capped reports whether the lease has reached its cap, so that extending it gains nothing.
func (l *Lease) Capped() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.cap.IsZero() && !l.until.Before(l.cap)
}

// Extend asks every node for a further TTL and tells done, once, from any goroutine and perhaps before it returns:
// nil, and Until has moved; ErrGone, a majority no longer has the token, and the lease is lost; ErrNoQuorum, wrapped
// with what the nodes said, and the lease goes on as before; ErrEnded, it was released meanwhile, or its deadline passed.
//
// A node that lost the key gets it back, but counts only from the next extension on: its vote says that the token was
// gone, and meanwhile somebody else may have had it there.
func (l *Lease) Extend(done func(error)) {
	if l.released.Load() {
		done(ErrEnded)
		return
	}
	// An adopted lease may have more than a TTL left. The extension takes that away, also where its answer is lost.
	l.mu.Lock()
	if soonest := l.deadline(l.q.cfg.Clock.Now()); soonest.Before(l.until) {
		l.until = soonest
	}
	l.mu.Unlock()
	l.submitExtension(done).open()
}

// submitExtension submits an extension to every node and returns its round, which is gated. Extensions are submitted in
// the order of the calls: after a change of kind, no extension as the old kind may follow one as the new kind.
func (l *Lease) submitExtension(done func(error)) *round {
	l.order.Lock()
	defer l.order.Unlock()
	l.mu.Lock()
	op := l.ops.Extend(l.fence)
	l.mu.Unlock()
	r := l.q.prepare(ask{
		op: op, timeout: l.terms.Timeout, void: &l.released, scout: NoFirst, enough: (*tally).clear,
		each: func(i int, c *node.Call) *node.Vote {
			c.Voter, c.Written = &extension{l: l, round: c.Voter}, &l.trails[i].wrote
			l.mu.Lock()
			l.trails[i].asking++
			l.mu.Unlock()
			return nil
		},
		decided: func(r *round) { done(l.extended(r)) },
	})
	r.gate()
	r.start()
	return r
}

// extended decides what a decided extension round is worth.
func (l *Lease) extended(r *round) error {
	var s state
	var gone bool
	r.look(func(t *tally) { s, gone = t.state(), t.gone() })
	switch {
	case s == won:
		slept := l.q.sleep.fresh()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.wake(slept)
		if l.released.Load() || l.fixed || !l.q.cfg.Clock.Now().Before(l.until) {
			return ErrEnded // too late: meanwhile it may have been another's
		}
		if until := l.deadline(r.asked).Add(r.slept - slept); until.After(l.until) {
			l.until = until
		}
		return nil
	case gone:
		return ErrGone
	default:
		return noQuorum(r.errors())
	}
}
