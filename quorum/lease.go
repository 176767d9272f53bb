package quorum

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/node"
)

// Terms are the durations of one lease.
type Terms struct {
	// TTL is the TTL that the operations give the keys.
	TTL time.Duration
	// Drift is subtracted from every validity.
	Drift time.Duration
	// Timeout bounds one operation on one node.
	Timeout time.Duration
	// Window is how long a server must have been up for its grant to count. If it is 0, every grant counts.
	Window time.Duration
	// MaxHold bounds the lease, counted from the start of the acquire. If it is 0, there is no bound.
	MaxHold time.Duration
	// Fencing gives the lease a fencing token.
	Fencing bool
}

// Lease is a lock that a majority granted.
type Lease struct {
	q     *Quorum
	terms Terms
	asked time.Time // when the acquire began; zero: the lease was imported
	fence int64     // 0: none

	// released is set once. The nodes then drop the acquires and extensions that they have not written.
	released atomic.Bool

	order sync.Mutex // held while an extension is made and submitted; locked before mu

	mu     sync.Mutex
	frozen bool // until is final
	ops    Ops
	until  time.Time     // zero: the lease was never held
	cap    time.Time     // the latest value of until; zero: no cap
	slept  time.Duration // the reading of the suspensionMeter on which until and cap are based
	states []keyState    // by node
}

// Import makes a lease of a lock that was acquired elsewhere. maybe reports, by node, whether the node may have its
// token. The lock is known to last until until. fence is its fencing token, or 0.
func (q *Quorum) Import(ops Ops, terms Terms, maybe []bool, until time.Time, fence int64) *Lease {
	l := &Lease{
		q: q, ops: ops, terms: terms, until: until, slept: q.suspensions.fresh(), fence: fence,
		states: make([]keyState, len(q.nodes)),
	}
	for i := range l.states {
		l.states[i].keys = absent
		if maybe[i] {
			l.states[i].written.Store(true)
			l.states[i].keys = unclear // with an unknown TTL
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

// ChangeKind gives the lease the operations of another kind. The next extension turns the keys on the nodes into keys
// of that kind. The Release of the new operations must remove the keys of either kind.
func (l *Lease) ChangeKind(ops Ops) {
	l.order.Lock()
	defer l.order.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ops = ops
}

// Until returns when the lease ends unless it is extended. From then on another holder may have the lock.
func (l *Lease) Until() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until
}

// Fence returns the fencing token, or 0 without fencing.
func (l *Lease) Fence() int64 { return l.fence }

// FreezeDeadline makes Until final: no later extension moves it.
func (l *Lease) FreezeDeadline() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frozen = true
}

// ExpiresWithin makes Until final if it is at most lead away, and reports whether it is final. Its reading of the
// suspensionMeter may be a second old. Call Wake before it to use a fresh one.
func (l *Lease) ExpiresWithin(lead time.Duration) bool {
	now := l.q.cfg.Clock.Now()
	slept := l.q.suspensions.recent(now)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.noteSuspension(slept)
	l.frozen = l.frozen || !now.Before(l.until.Add(-lead))
	return l.frozen
}

// Capped reports whether the lease has reached its cap, so that an extension gains nothing.
func (l *Lease) Capped() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.cap.IsZero() && !l.until.Before(l.cap)
}

// Wake takes a new reading of the suspensionMeter, and moves Until earlier if the machine was suspended.
func (l *Lease) Wake() {
	slept := l.q.suspensions.fresh()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.noteSuspension(slept)
}

// noteSuspension moves the deadline and the cap earlier by the time for which the machine was suspended since the
// reading on which they are based. It must be called with l.mu held.
func (l *Lease) noteSuspension(slept time.Duration) {
	missed := slept - l.slept
	if missed <= 0 || l.frozen {
		return
	}
	l.slept = slept
	l.until = l.until.Add(-missed)
	if !l.cap.IsZero() {
		l.cap = l.cap.Add(-missed)
	}
}

// deadline returns when a lease ends whose keys were set by a request that was sent at asked.
func (l *Lease) deadline(asked time.Time) time.Time {
	until := asked.Add(clock.Validity(l.terms.TTL, 0, l.terms.Drift))
	if !l.cap.IsZero() && l.cap.Before(until) {
		return l.cap
	}
	return until
}

// checkValidity returns an error if no validity is left of a lease that was just granted.
func (l *Lease) checkValidity() error {
	now := l.q.cfg.Clock.Now()
	slept := l.q.suspensions.recent(now) - l.slept
	if !now.Before(l.deadline(l.asked).Add(-slept)) {
		return noQuorum(errTooLate)
	}
	return nil
}

var errTooLate = errors.New("the votes arrived when the validity was used up")

// keysOn returns whether a node has the keys of the lease.
func (l *Lease) keysOn(index int) presence {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.states[index].now()
}

// recorder is a Voter that records the votes of a round in the states of a lease, even after the round is decided, and
// passes them on to the round.
type recorder struct {
	lease  *Lease
	record func(*keyState, node.Vote)
	round  *round
}

func (rec *recorder) Vote(index int, v node.Vote) {
	rec.lease.mu.Lock()
	s := &rec.lease.states[index]
	rec.record(s, v)
	if v.Unsent && rec.lease.released.Load() {
		s.dropped()
	}
	rec.lease.mu.Unlock()
	rec.round.Vote(index, v)
}
