package quorum

import (
	"time"

	"github.com/redlock-go/redlock/internal/wire"
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
	// minConnect is the least time that a node has for connecting.
	minConnect = time.Second
	// connectSlack is added so that a node that fails to connect can still report the reason.
	connectSlack = 100 * time.Millisecond
)

// connectTime returns how much time a node has for connecting before it executes an operation. A round trip may take
// half a node timeout, so two and a half node timeouts are five round trips: TCP takes one, TLS at most two, the
// handshake one, and an answer of NOSCRIPT one.
func connectTime(timeout time.Duration) time.Duration {
	return max(minConnect, 5*timeout/2) + connectSlack
}

// validity returns how long a lease is valid, counted from before the first byte of the request that set its keys. If
// none of that is left, the lease is not held, however many nodes granted it.
//
// The source is the Redlock page, step 4: "the lock validity time is considered to be the initial validity time minus
// the time elapsed". It leaves the drift to the implementation; here it is always taken off.
func (t *Terms) validity() time.Duration { return t.TTL - t.Drift }

// connect returns how long a node may connect before it is asked for the lease: at most half of what the validity
// leaves after one timeout. An acquire that asks one node first may spend that time twice.
func (t *Terms) connect() time.Duration {
	return max(0, min(connectTime(t.Timeout), (t.validity()-t.Timeout)/2))
}

// request returns the request for a later operation on the lease. The acquire has made the connections, so a node gets
// only one timeout to connect again.
func (t *Terms) request(op *wire.Op) *wire.Request {
	return &wire.Request{Op: op, Connect: t.Timeout, Window: t.Window}
}
