package redlock

import (
	"time"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// handOverOrRelease hands the lease of an unlocked lock over to the next waiter of this Locker, which takes it by
// call.inherit. Otherwise it releases the lock, and returns when a majority has confirmed that, or why none has.
func (l *Lock) handOverOrRelease() error {
	means := l.hold.HandOver((*queuedLock)(l), l.cfg.clock.Now())
	if means == waitqueue.WithLease {
		return nil
	}
	done := make(chan error, 1)
	l.transition(change{event: eventGiveBack, how: releaseMode{
		keepUntil: l.minHoldEnd(), silent: means == waitqueue.Silently, done: func(err error) { done <- err },
	}})
	return releaseError(<-done) // arrives within two node timeouts
}

// setSuccessor records the Lock that took over the lease: it gets the results of extensions that l requested.
func (l *Lock) setSuccessor(successor *Lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.successor = successor
}

// queuedLock is an unlocked Lock as its wait queue sees it. The queue calls Policy and Validity with its mutex locked.
// They do not lock Lock.mu, so code that has locked Lock.mu may call the queue.
type queuedLock Lock

var _ waitqueue.Lock = (*queuedLock)(nil)

// Policy returns what the lock's caller allows.
func (l *queuedLock) Policy() waitqueue.Policy { return l.cfg.queuePolicy(l.claim.Target.Kind) }

// Validity returns how long the lease lasts.
func (l *queuedLock) Validity(now time.Time) time.Duration { return l.lease.Until().Sub(now) }

// Publish publishes the silent release of the lock.
func (l *queuedLock) Publish() {
	for _, name := range l.claim.Target.Names {
		l.locker.quorum.Broadcast(kind.Announce(name).From(l.claim.Origin), l.cfg.terms.Timeout)
	}
}

// Release releases the lock after the waiter that was given its lease gave up.
func (l *queuedLock) Release() { (*Lock)(l).transition(change{event: eventGiveBack}) }
