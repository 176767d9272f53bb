package waitqueue

import "time"

// silence is a release that was not published, because a waiter of the queue was to follow.
type silence struct {
	lock   Lock
	cohort cohort
}

// passLease gives the lease of a lock to the first caller that does not ask at the moment, if the policies allow it.
func (q *queue) passLease(h *Hold, from Lock, now time.Time) bool {
	w := q.callers.first
	for w != nil && (w.state == asking || w.state == probing) {
		w = q.callers.next(w)
	}
	if w == nil || !h.held || !h.cohort.mayReuseLease(from.Policy(), w.Policy, now, from) {
		return false
	}
	h.held = false
	q.remove(w)
	w.inherit, w.slot, w.cohort = from, int(h.slot), h.cohort.next()
	w.apply(give)
	return true
}

// keepSilent reports whether the release of a lock shall be silent. If so, it records that.
func (q *queue) keepSilent(h *Hold, from Lock, now time.Time) bool {
	w := q.firstWaiting()
	if w == nil || q.slots != nil || !h.cohort.mayKeep(from.Policy(), w.Policy, now) {
		return false
	}
	q.silence = &silence{from, h.cohort}
	return true
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
