package waitqueue

import "time"

// silence is a release that HandOver decided not to publish yet, so that the next caller of the queue can ask first. It
// is published unless that caller follows it and is granted the lock.
type silence struct {
	lock   Lock
	cohort cohort
	at     time.Time
}

// followsSilence reports whether a caller may follow a silent release.
func (q *queue) followsSilence(w *Waiter) bool {
	s := q.silence
	return s.lock != nil && s.cohort.mayKeep(s.lock, w.Policy, q.all.Now())
}

// publishSilent publishes a silent release, if there is one, and begins the cooldown that the release put off.
func (q *queue) publishSilent() {
	if s := q.silence; s.lock != nil {
		q.silence = silence{}
		q.all.after(s.lock.Publish)
		q.beginCooldown(s.cohort, s.at, q.all.Now())
	}
}
