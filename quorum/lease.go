package quorum

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

// Terms are the parameters of one lease.
type Terms struct {
	// TTL is the TTL that the operations give the keys.
	TTL time.Duration
	// Drift is subtracted from every validity.
	Drift time.Duration
	// Timeout bounds one operation on one node.
	Timeout time.Duration
	// Window is how long a server must have been up for its grant to count. If it is 0, the uptime does not matter.
	Window time.Duration
	// MaxHold bounds the lease, counted from the start of the acquire. If it is 0, there is no bound.
	MaxHold time.Duration
	// Fencing gives the lease a fencing token.
	Fencing bool
}

const (
	// minConnect is how long a node may connect, at least.
	minConnect = time.Second
	// connectSlack is added so that a node that fails to connect can still report the reason.
	connectSlack = 100 * time.Millisecond
)

// connectTime returns how long a node may connect before it executes an operation. A round trip may take half a node
// timeout, so two and a half node timeouts are five round trips: TCP takes one, TLS at most two, the handshake one, and
// the answer that the server lacks the script one.
func connectTime(timeout time.Duration) time.Duration {
	return max(minConnect, 5*timeout/2) + connectSlack
}

// validity returns how long a lease is valid, counted from before the first byte of the request that set its keys. If
// none of that is left, the lease is not held, however many nodes granted it.
//
// The source is the Redlock page, step 4: "the lock validity time is considered to be the initial validity time minus
// the time elapsed". It leaves the drift to the implementation; here it is always taken off.
func (t *Terms) validity() time.Duration { return t.TTL - t.Drift }

// connect returns how long a node may connect before it is asked for the lease. After that the node has its timeout,
// and at least half of the rest of the validity is left.
func (t *Terms) connect() time.Duration {
	return max(0, min(connectTime(t.Timeout), (t.validity()-t.Timeout)/2))
}

// request returns the request for an operation on the lease after its acquire, which has made the connections.
func (t *Terms) request(op *wire.Op) *wire.Request {
	return &wire.Request{Op: op, Connect: t.Timeout, Window: t.Window}
}

// Lease is a token that the nodes were asked to store. Acquire returns it if a majority has stored it. It ends when it
// is released, or at until. Once it is gone, the caller must release it. A process may hold many leases,
// so a Lease is small.
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
	frozen bool // until was due: no extension moves it
	gone   bool // an extension has returned ErrGone: no later one moves until
	ops    Ops
	until  time.Time  // the deadline; zero: the lease was never held
	states []keyState // by node; keyState explains reservations
}

// HandOver gives the lease the operations of its next holder, which differ only in what they are traced as.
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

// FreezeIfDue makes Until final if it is at most lead away, and reports whether it did, now or before.
func (l *Lease) FreezeIfDue(lead time.Duration) bool {
	now := l.q.cfg.Clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frozen = l.frozen || !now.Before(l.until.Add(-lead))
	return l.frozen
}

// Capped reports whether the lease has reached its cap, so that an extension gains nothing.
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

// deadline returns when the lease ends if a request that was sent at asked set its keys.
func (l *Lease) deadline(asked time.Time) time.Time {
	validity := l.terms.validity()
	if l.terms.MaxHold > 0 {
		validity = min(validity, l.begun+l.terms.MaxHold-l.q.since(asked))
	}
	return asked.Add(validity)
}

// begunAt returns when the acquire began.
func (l *Lease) begunAt() time.Time { return l.q.made.Add(l.begun) }

// checkValidity returns an error if no validity is left of a lease that was just granted.
func (l *Lease) checkValidity() error {
	if !l.q.cfg.Clock.Now().Before(l.deadline(l.begunAt())) {
		return noQuorum(ErrTooLate)
	}
	return nil
}

// keysOn returns whether a node has the keys of the lease.
func (l *Lease) keysOn(index int) presence {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.states[index].current()
}

// beginCall prepares a call that sets the keys of the lease on a node. change records that in the node's keyState.
func (l *Lease) beginCall(index int, c *wire.Call, change func(*keyState)) {
	s := &l.states[index]
	c.Written = &s.written
	l.mu.Lock()
	defer l.mu.Unlock()
	change(s)
}

// recordVote records a vote with change, and returns the vote that counts. asked is when the node was asked. A
// restored key extends the reservation here. A grant does so in reserve, after the tally has looked for duplicates.
func (l *Lease) recordVote(
	index int, v wire.Vote, asked time.Time, change func(*keyState, wire.Vote),
) wire.Vote {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.states[index]
	v = l.countReserved(s, v)
	change(s, v)
	if v.Healed && l.reserved(s) {
		l.extendReservation(s, asked)
	}
	if v.Unsent && l.released.Load() {
		s.dropped()
	}
	return v
}

// countReserved makes the vote of a restarted server count if the node is reserved for the lease. A guarded vote of a
// server that does not identify itself stays guarded, since it may be the same server as another. It must be called
// with l.mu held.
func (l *Lease) countReserved(s *keyState, v wire.Vote) wire.Vote {
	_, restarted := v.Err.(*node.RestartError) //nolint:errorlint // it is not wrapped
	if v.Guarded && restarted && l.reserved(s) {
		v.Verdict, v.Guarded, v.Err = wire.Granted, false, nil
	}
	return v
}

// reserve reserves a node for the lease after a vote that counted and granted. If two nodes are one server, it ends the
// reservations of both: once their addresses are corrected, another server answers for one of them, and that server
// never had the keys.
func (l *Lease) reserve(t *tally, index int, c *wire.Call, duplicates [][2]int) {
	granted := t.votes[index].Verdict == wire.Granted
	if !granted && len(duplicates) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if granted {
		l.extendReservation(&l.states[index], c.Asked)
	}
	for _, pair := range duplicates {
		for _, i := range pair {
			l.states[i].reservedUntil = 0
			if l.states[i].keys == present {
				l.states[i].keys = guarded
			}
		}
	}
}

// extendReservation reserves a node until a validity after asked. It must be called with l.mu held.
func (l *Lease) extendReservation(s *keyState, asked time.Time) {
	s.reservedUntil = max(s.reservedUntil, l.q.since(asked)+l.terms.validity())
}

// reserved reports whether a node is reserved for the lease. It must be called with l.mu held.
func (l *Lease) reserved(s *keyState) bool {
	return l.q.since(l.q.cfg.Clock.Now()) < s.reservedUntil
}
