package waitqueue

// tryError returns the error with which a TryLock fails at once: that this process holds all of the lock, or, while a
// caller watches, why the last attempt failed. nil: the TryLock waits for its turn or such an error.
func (q *queue) tryError(w *Waiter) error {
	switch {
	case q.heldHere():
		return q.heldError(w.Names)
	case q.watcher != nil:
		return q.reason
	}
	return nil
}

// heldHere reports whether this process holds all of the lock. A lost lock that is about to be released does not
// count: a TryLock waits for its release.
func (q *queue) heldHere() bool { return q.holds-q.lost >= q.width }

// failTryLocks makes every TryLock fail that waits for its turn.
func (q *queue) failTryLocks(err error) {
	for w := q.callers.first; q.tries > 0; {
		next := w.links.next
		if w.Try && w.state == waiting {
			w.err = err
			q.remove(w, gone)
		}
		w = next
	}
}

// heldError returns the error that says that this process holds the lock.
func (q *queue) heldError(names []string) error { return q.all.HeldError(names[0], q.kind, q.holder) }
