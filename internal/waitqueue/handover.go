package waitqueue

import "time"

// silence is a release that is not published yet, because a caller of the queue is to follow. The zero value is none.
type silence struct {
	lock   Lock
	cohort cohort
}

// next returns the first caller that is not busy with the masters; nil if there is none.
func (q *queue) next() *Waiter {
	w := q.callers.first
	for w != nil && (w.state == asking || w.state == probing) {
		w = w.links.next
	}
	return w
}

// passLease gives the lease of a lock to the next caller, if the policies allow it.
func (q *queue) passLease(h *Hold, from Lock, now time.Time) bool {
	w := q.next()
	if w == nil || h.state != held || !h.cohort.mayReuseLease(from, w.Policy, now) {
		return false
	}
	h.state = ended
	q.remove(w)
	w.inherit, w.slot, w.cohort = from, int(h.slot), h.cohort.next()
	w.become(given)
	q.advance()
	return true
}

// beginSilence begins a silence if the policies of a lock and of the next caller allow it, and reports whether it did.
func (q *queue) beginSilence(h *Hold, from Lock, now time.Time) bool {
	w := q.next()
	if w == nil || q.slots != nil || !h.cohort.mayKeep(from, w.Policy, now) {
		return false
	}
	q.silence = silence{from, h.cohort}
	return true
}

// follow lets a caller follow a silent release, and reports whether it may. Otherwise the release is published.
func (q *queue) follow(w *Waiter) bool {
	s := q.silence
	if s.lock == nil {
		return false
	}
	now := q.all.Now()
	if s.cohort.mayKeep(s.lock, w.Policy, now) {
		w.cohort = s.cohort.next()
		return true
	}
	q.endSilence()
	q.beginCooldown(s.cohort, now)
	return false
}

// endSilence has a silent release published now.
func (q *queue) endSilence() {
	if q.silence.lock != nil {
		q.all.effects.publish, q.silence = q.silence.lock, silence{}
	}
}
