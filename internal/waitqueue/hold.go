package waitqueue

import "time"

// Lock is a lock that this process acquired.
type Lock interface {
	Policy() Policy
	// Validity returns how long the lock's lease lasts.
	Validity(now time.Time) time.Duration
	// Publish publishes the release of the lock, which was silent.
	Publish()
	// Release releases the lock, whose lease no waiter took.
	Release()
}

// Hold connects an acquired lock with its queue. The zero Hold has no queue, and its methods do nothing.
type Hold struct {
	queue  *queue
	pool   *pool // in place of queue, for a lock that several callers may hold
	cohort cohort
	slot   int32 // the semaphore's slot that the lock has; 0 for every other kind
}

// lock locks the queues. It returns the queue of the hold; nil, without locking anything, if it has none.
func (h *Hold) lock() *queue {
	if h.queue == nil {
		return nil
	}
	h.queue.all.mu.Lock()
	return h.queue
}

// PassLease gives the lease of the lock to the next waiter, and reports whether it did. It does not if there is no
// waiter, or if the policies do not allow it. The caller must not release the lock afterwards.
func (h *Hold) PassLease(l Lock, now time.Time) bool {
	if p := h.pool; p != nil {
		p.all.mu.Lock()
		defer p.all.mu.Unlock()
		return p.passLease(h, l, now)
	}
	q := h.lock()
	if q == nil {
		return false
	}
	defer q.all.mu.Unlock()
	return q.passLease(l, h.cohort, now)
}

// KeepSilent reports whether the release of the lock shall be silent, so that the next waiter can ask for the lock
// before other processes do. The caller must release the lock next.
func (h *Hold) KeepSilent(l Lock, now time.Time) bool {
	q := h.lock()
	if q == nil {
		return false
	}
	defer q.all.mu.Unlock()
	return q.keepSilent(l, h.cohort, now)
}

// Lost records that the lock was lost and is about to be released. A TryLock then waits for the release instead of
// reporting that the lock is held.
func (h *Hold) Lost() {
	q := h.lock()
	if q == nil {
		return
	}
	defer q.all.mu.Unlock()
	if q.newest == h {
		q.apply(lost)
	}
}

// Released gives the turn to the next waiter. The release must have been submitted to the masters before, since the
// next waiter's request must follow it.
func (h *Hold) Released(now time.Time, silent bool) {
	if p := h.pool; p != nil {
		p.all.mu.Lock()
		effects := p.released(h, now)
		p.all.mu.Unlock()
		effects.run()
		return
	}
	q := h.lock()
	if q == nil {
		return
	}
	turn := Wakeup{Action: Ask}
	switch {
	case silent:
		turn.cohort = h.cohort.next()
	case q.others > 0:
		turn.Delay = h.cohort.cooldown(now, int(q.others))
	}
	effects := q.released(turn)
	q.all.mu.Unlock()
	effects.run()
}

// Published records how many subscribers received the message of the lock's release. If other processes are among them,
// this process yields the lock, or the slots beyond its share, until the cooldown after the release is over. Otherwise
// it would win every race.
func (h *Hold) Published(subscribers int, released time.Time) {
	if p := h.pool; p != nil {
		p.all.mu.Lock()
		defer p.all.mu.Unlock()
		p.published(subscribers)
		return
	}
	q := h.lock()
	if q == nil {
		return
	}
	defer q.all.mu.Unlock()
	if q.subscription != nil {
		subscribers-- // this queue itself
	}
	q.others = int32(max(0, subscribers))
	if q.others > 0 {
		q.all.yields.set(q.key.key(), released.Add(h.cohort.cooldown(released, int(q.others))), released)
	} else {
		q.all.yields.clear(q.key.key())
	}
}
