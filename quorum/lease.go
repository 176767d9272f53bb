package quorum

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Lease is a token that the nodes were asked to store. Acquire returns it if a majority has stored it. It ends at
// until, or when it is released. If an extension finds that a majority no longer has the token (Gone), the caller must
// release the lease. A process may hold many leases, so a Lease is small.
type Lease struct {
	q     *Quorum
	terms *Terms
	begun time.Duration // when the acquire began, since Quorum.made
	fence int64         // 0: none

	// gaveUp means that the caller's context ended, or that the Quorum began to close, before the round was decided. It is
	// written before the release begins.
	gaveUp bool

	// released is set once. The nodes then drop the acquires and extensions that they have not written.
	released atomic.Bool

	mu     sync.Mutex
	frozen bool // FreezeIfDue returned true: until is final
	gone   bool // an extension has returned ErrGone: no later one moves until
	ops    Ops
	until  time.Time  // the deadline; zero: the lease was never held
	states []keyState // by node; keyState explains reservations
}

// HandOver gives the lease the operations of its next holder. They differ only in the call for which they are traced.
func (l *Lease) HandOver(ops Ops) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ops = ops
}

// Until returns when the lease ends unless it is extended; the zero time if it was never held. From then on another
// holder may have the lock.
func (l *Lease) Until() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until
}

// Fence returns the fencing token, or 0 without fencing.
func (l *Lease) Fence() int64 { return l.fence }

// Gone reports whether an extension has found that a majority no longer has the token.
func (l *Lease) Gone() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gone
}

// FreezeIfDue makes Until final if it is at most lead away, and reports whether Until is final.
func (l *Lease) FreezeIfDue(lead time.Duration) bool {
	now := l.q.cfg.Clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frozen = l.frozen || !now.Before(l.until.Add(-lead))
	return l.frozen
}

// Capped reports whether Until is at the maximum hold, so that no extension moves it.
func (l *Lease) Capped() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.terms.MaxHold > 0 && l.q.since(l.until) >= l.begun+l.terms.MaxHold
}

// expired reports whether Until has passed.
func (l *Lease) expired() bool {
	now := l.q.cfg.Clock.Now()
	return !now.Before(l.Until())
}

// ended reports whether the lease was released or Until has passed.
func (l *Lease) ended() bool { return l.released.Load() || l.expired() }

// deadline returns when the lease ends if its keys were set by a request that was made at the time asked.
func (l *Lease) deadline(asked time.Time) time.Time {
	validity := l.terms.validity()
	if l.terms.MaxHold > 0 {
		validity = min(validity, l.begun+l.terms.MaxHold-l.q.since(asked))
	}
	return asked.Add(validity)
}

// begunAt returns when the acquire began.
func (l *Lease) begunAt() time.Time { return l.q.made.Add(l.begun) }

var errNoValidity = fmt.Errorf("%w: the validity is used up", ErrTooLate)

// checkValidity returns an error if no validity is left of a lease that was just granted.
func (l *Lease) checkValidity() error {
	if !l.q.cfg.Clock.Now().Before(l.deadline(l.begunAt())) {
		return noQuorum(errNoValidity)
	}
	return nil
}
