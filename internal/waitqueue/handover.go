package waitqueue

import "time"

// silence is a release that was not published, because a waiter of the queue was to follow.
type silence struct {
	lock   Lock
	cohort cohort
}

// passLease gives the lease of a lock to the first caller that is not busy with the masters, if the policies allow it.
func (q *queue) passLease(h *Hold, from Lock, now time.Time) bool {
	w := q.callers.first
	for w != nil && (w.state == asking || w.state == probing) {
		w = q.callers.next(w)
	}
	if w == nil || h.state != held || !h.cohort.mayReuseLease(from, w.Policy, now) {
		return false
	}
	h.state = ended
	q.remove(w)
	w.inherit, w.slot, w.cohort = from, int(h.slot), h.cohort.next()
	w.apply(give)
	return true
}

// keepSilent reports whether the release of a lock shall be silent. If so, it records that.
func (q *queue) keepSilent(h *Hold, from Lock, now time.Time) bool {
	w := q.firstWaiting()
	if w == nil || q.slots != nil || !h.cohort.mayKeep(from, w.Policy, now) {
		return false
	}
	q.silence = &silence{from, h.cohort}
	return true
}

// continueCohort lets a caller follow a silent release, and reports whether it may. Otherwise the release is published.
func (q *queue) continueCohort(w *Waiter, e *effects) bool {
	s := q.silence
	if s == nil {
		return false
	}
	now := q.all.Now()
	if s.cohort.mayKeep(s.lock, w.Policy, now) {
		w.cohort = s.cohort.next()
		return true
	}
	e.publish = q.takeUnpublished()
	q.beginCooldown(s.cohort, now)
	return false
}

// takeUnpublished returns the lock whose silent release is to be published now; nil if there is none.
func (q *queue) takeUnpublished() (lock Lock) {
	if q.silence != nil {
		lock, q.silence = q.silence.lock, nil
	}
	return lock
}

// firstWaiting returns the first caller that waits for its turn; nil if there is none.
func (q *queue) firstWaiting() *Waiter {
	w := q.callers.first
	for w != nil && w.state != waiting {
		w = q.callers.next(w)
	}
	return w
}
