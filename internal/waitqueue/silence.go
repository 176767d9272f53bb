package waitqueue

// silence is a release that is not published yet, so that the next caller of the queue can ask first. HandOver begins
// it. If that caller is granted the lock, the release is never published. It is published if the caller may not follow
// it, if the attempt fails, or if the queue ends.
type silence struct {
	lock   Lock
	cohort cohort
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
		q.beginCooldown(s.cohort, q.all.Now())
	}
}
