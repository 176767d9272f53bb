package waitqueue

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
		q.all.after(q.silence.lock.Publish)
		q.silence = silence{}
	}
}
