package redlock

import (
	"time"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// queuedLock is a Lock as its wait queue uses it. The holder has released it, so no downgrade replaces its claim any
// more. The methods must not lock Lock.mu: the queues are locked while they call Policy and Validity.
type queuedLock struct{ *Lock }

// Policy returns what the lock's caller allows.
func (l queuedLock) Policy() waitqueue.Policy { return l.cfg.queuePolicy(l.claim.Target.Kind) }

// Validity returns how long the lease lasts. After a suspension of the machine the lock may belong to another process.
func (l queuedLock) Validity(now time.Time) time.Duration {
	l.lease.Wake()
	return l.lease.Until().Sub(now)
}

// Publish publishes the release of the lock, which was silent.
func (l queuedLock) Publish() {
	for _, name := range l.claim.Target.Names {
		l.locker.quorum.Broadcast(kind.Announce(name), l.cfg.timeout())
	}
}

// Release releases the lock after the waiter to which its lease was passed gave up.
func (l queuedLock) Release() { l.giveBack() }

// reusesLease reports whether a lock may be passed to the next waiter of this Locker without the masters. With fencing
// it may not, since the masters must count a new fencing token.
func (c *config) reusesLease() bool { return c.handOver && !c.fencing && c.maxHold == 0 }

// queuePolicy returns how a lock of a kind may be passed among the callers of this Locker.
func (c *config) queuePolicy(k *kind.Kind) waitqueue.Policy {
	return waitqueue.Policy{Cohort: k.HandsOver, ReuseLease: c.reusesLease(), TTL: c.ttl}
}
