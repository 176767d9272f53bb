package waitqueue

import "time"

// queue is the queue for one lock. It exists while it has waiters or this process holds the lock. Queues.mu guards it.
type queue struct {
	all      *Queues
	key      queueKey
	waiting  waitList
	tryLocks waitList             // the TryLocks among waiting that have not had the turn
	owners   map[string]*waitList // the waiters for a reentrant lock, by owner

	kind   string // the kind of the lock that is held
	holder string // who holds it, for errors
	holds  int    // how many locks of this process hold it; above 1 only for one owner's holds
	newest *Hold  // the newest of these locks; nil while there is none, and after it passed its lease
	reason error  // why the last attempt failed, also that of an earlier head; nil: none has failed

	phase   phase
	others  int32    // how many other processes waited for the lock at its last release
	silence *silence // the last release, if it was silent and may yet have to be published; else nil

	subscription Subscription // for the releases of the lock; nil: none
}

// silence is a release that was not published, because a waiter of the queue was to follow.
type silence struct {
	lock   Lock
	cohort cohort
}

// apply changes the phase of the queue.
func (q *queue) apply(e event) { q.phase = transition(q.phase, e, q.waiting.first != nil) }

func (q *queue) push(w *Waiter) {
	q.waiting.push(w)
	if w.Try {
		q.tryLocks.push(w)
	}
	q.addOwner(w)
}

// remove removes a waiter. It reports whether the waiter was in the queue.
func (q *queue) remove(w *Waiter) bool {
	if !q.waiting.remove(w) {
		return false
	}
	q.tryLocks.remove(w)
	q.removeOwner(w)
	return true
}

// giveTurn gives the turn to the head.
func (q *queue) giveTurn(turn Wakeup) {
	head := q.waiting.first
	head.hasTurn, head.cohort = true, turn.cohort
	q.tryLocks.remove(head)
	head.wakeups <- turn
}

// headNeedsTurn reports whether the phase requires that the head has the turn, and it does not have it yet.
func (q *queue) headNeedsTurn() bool { return q.phase == asking && !q.waiting.first.hasTurn }

// passLease gives the lease of a lock to the head if the policies allow it. It reports whether it did.
func (q *queue) passLease(from Lock, c cohort, now time.Time) bool {
	head := q.waiting.first
	if head == nil || q.phase != held || !c.mayReuseLease(from.Policy(), head.Policy, now, from) {
		return false
	}
	q.newest, head.inherit = nil, from
	q.apply(passed)
	q.giveTurn(Wakeup{Action: Inherit, Lock: from, cohort: c.next()})
	return true
}

// keepSilent reports whether the release of a lock shall be silent. If so, it records that.
func (q *queue) keepSilent(from Lock, c cohort, now time.Time) bool {
	head := q.waiting.first
	if head == nil || !c.mayKeep(from.Policy(), head.Policy, now, minSilentBudget) {
		return false
	}
	q.silence = &silence{from, c}
	return true
}

// failTryLocks makes every TryLock fail that has not had the turn.
func (q *queue) failTryLocks(err error) {
	for w := q.tryLocks.first; w != nil; w = q.tryLocks.first {
		q.remove(w)
		w.wakeups <- Wakeup{Action: Fail, Err: err}
	}
}

// takeUnpublished returns the lock whose silent release is to be published now; nil if there is none.
func (q *queue) takeUnpublished() Lock {
	s := q.silence
	q.silence = nil
	if s == nil {
		return nil
	}
	return s.lock
}

// heldError returns the error of a TryLock while this process holds the lock.
func (q *queue) heldError(names []string) error { return q.all.heldError(names[0], q.kind, q.holder) }

func (q *queue) waitReason(w *Waiter) error {
	if q.holds > 0 {
		return q.heldError(w.Names)
	}
	return q.reason
}

func (q *queue) subscribed() *Subscription { return &q.subscription }

// leave removes a waiter that gives up. The turn that it had goes to the next waiter.
func (q *queue) leave(w *Waiter) effects {
	switch {
	case !q.remove(w):
		return effects{}
	case !w.hasTurn:
		q.apply(left)
		return q.clean()
	}
	q.apply(headLeft)
	e := q.clean()
	e.release = w.inherit
	if q.phase == asking {
		e.publish = q.turnAfterLeave()
	}
	return e
}

// turnAfterLeave gives the turn to the head after another waiter gave it up. It returns the lock whose silent release
// is to be published; nil if there is none.
func (q *queue) turnAfterLeave() (publish Lock) {
	head, s := q.waiting.first, q.silence
	if s == nil {
		q.giveTurn(Wakeup{Action: Ask, Delay: q.all.yield(head)})
		return nil
	}
	turn, over := s.cohort.afterSilence(
		s.lock.Policy(), head.Policy, head.Try, int(q.others), q.all.yield(head), q.all.now())
	q.giveTurn(turn)
	if !over {
		return nil
	}
	return q.takeUnpublished()
}

// failed records why an attempt of the head failed.
func (q *queue) failed(w *Waiter, err error, heldElsewhere bool) (e effects) {
	q.apply(failed)
	q.reason, w.cohort = err, cohort{}
	q.failTryLocks(err)
	w.wakeups <- Wakeup{Action: Watch, Err: err}
	if !heldElsewhere {
		e.publish = q.takeUnpublished()
	}
	return e
}

// granted records that a waiter has acquired the lock.
func (q *queue) granted(w *Waiter, h *Hold, c cohort) effects {
	q.remove(w)
	if w.hasTurn {
		q.apply(granted)
	} else {
		q.apply(grantedAside)
	}
	*h = Hold{queue: q, cohort: c}
	q.kind, q.holder, q.newest, q.reason, q.silence = w.Kind, w.Holder, h, nil, nil
	if w.Owner == "" {
		q.holds = 1
	} else {
		q.holds++
		q.all.yields.clear(w.Key) // the other processes had their turn; the owner's further holds do not yield
		q.all.nudge(w.Key, w.Owner)
	}
	if q.tryLocks.first != nil {
		q.failTryLocks(q.heldError(w.Names))
	}
	return q.clean()
}

// released records that a holder released the lock. If it was the last holder, the head
// gets the turn. A TryLock asks at once.
func (q *queue) released(turn Wakeup) effects {
	if q.holds--; q.holds > 0 {
		return effects{}
	}
	q.newest = nil
	q.apply(released)
	if q.headNeedsTurn() {
		if q.waiting.first.Try {
			turn.Delay = 0
		}
		q.giveTurn(turn)
	}
	return q.clean()
}

// clean removes what a queue without waiters no longer needs.
func (q *queue) clean() (e effects) {
	if q.waiting.first != nil {
		return effects{}
	}
	e.stop, q.subscription = q.subscription, nil
	if q.phase != idle {
		return e
	}
	if q.all.byKey[q.key] == q {
		delete(q.all.byKey, q.key)
	}
	e.publish = q.takeUnpublished()
	return e
}
