package waitqueue

// silence is a release that is not published yet: the next caller of the queue may ask first. HandOver begins it.
// giveTurn breaks it if that caller may not follow it. A grant, a failed attempt or the end of the queue ends it.
type silence struct {
	lock   Lock
	cohort cohort
}

// followsSilence reports whether a caller may follow a silent release.
func (q *queue) followsSilence(w *Waiter) bool {
	s := q.silence
	return s.lock != nil && s.cohort.mayKeep(s.lock, w.Policy, q.all.Now())
}

// breakSilence ends a silence because the next caller may not follow. The cooldown that the release put off begins.
func (q *queue) breakSilence() {
	if s := q.silence; s.lock != nil {
		q.endSilence()
		q.beginCooldown(s.cohort, q.all.Now())
	}
}

// endSilence publishes a silent release, if there is one.
func (q *queue) endSilence() {
	if q.silence.lock != nil {
		q.all.after(q.silence.lock.Publish)
		q.silence = silence{}
	}
}
