package waitqueue

import "time"

// Lock is a lock that this process acquired.
type Lock interface {
	// Validity returns how long the lock's lease lasts.
	Validity(now time.Time) time.Duration
	// Publish publishes the release of the lock, after a silent release.
	Publish()
	// Release releases the lock, which no caller holds.
	Release()
}

// Hold is a lock's part of the queue from which it was acquired. All methods of the zero Hold, which is in no queue, do
// nothing.
type Hold struct {
	lock   Lock
	queues *Queues
	policy Policy
	cohort cohort
	queue  *queue // Queues.mu guards it; nil after Detach
}

// PassLease gives the lease of the lock to the next waiter, and reports whether it did. It does not if there is no
// waiter, or if the policies do not allow it. The caller must not release the lock afterwards.
func (h *Hold) PassLease(now time.Time) bool {
	if h.queues == nil {
		return false
	}
	h.queues.mu.Lock()
	defer h.queues.mu.Unlock()
	return h.queue != nil && h.queue.passLease(h, now)
}

// KeepSilent reports whether the release of the lock, which must follow, shall be silent: the next waiter may ask for
// the lock before other processes do.
func (h *Hold) KeepSilent(now time.Time) bool {
	if h.queues == nil {
		return false
	}
	h.queues.mu.Lock()
	defer h.queues.mu.Unlock()
	return h.queue != nil && h.queue.keepSilent(h, now)
}

// Lost records that the lock was lost and is about to be released. A TryLock then waits for the release instead of
// reporting that the lock is held.
func (h *Hold) Lost() {
	if h.queues == nil {
		return
	}
	h.queues.mu.Lock()
	defer h.queues.mu.Unlock()
	if q := h.queue; q != nil && q.newest == h {
		q.apply(lost)
	}
}

// Released gives the turn to the next waiter. The release must have been submitted to the masters before, since the
// next waiter's request must follow it.
func (h *Hold) Released(now time.Time, silent bool) {
	if h.queues == nil {
		return
	}
	turn := Wakeup{Action: Ask}
	h.queues.mu.Lock()
	q := h.queue
	if q == nil {
		h.queues.mu.Unlock()
		return
	}
	switch {
	case silent:
		turn.cohort = h.cohort.next()
	case q.remoteWaiters:
		turn.Delay = h.cohort.cooldown(now)
	}
	effects := h.queues.released(q, turn)
	h.queues.mu.Unlock()
	effects.run()
}

// Published records how many subscribers received the message of the lock's release. If other processes are among them,
// this process yields the lock until the cooldown after the release is over. Otherwise it would win every race for the
// lock.
func (h *Hold) Published(subscribers int, released time.Time) {
	if h.queues == nil {
		return
	}
	h.queues.mu.Lock()
	defer h.queues.mu.Unlock()
	q := h.queue
	if q == nil {
		return
	}
	if q.unsubscribe != nil {
		subscribers-- // this queue itself
	}
	q.remoteWaiters = subscribers > 0
	if q.remoteWaiters {
		h.queues.yields.set(q.key.Key, released.Add(h.cohort.cooldown(released)), released)
	} else {
		h.queues.yields.clear(q.key.Key)
	}
}

// Detach makes the hold one that is in no queue. The returned function gives the turn to the next waiter.
func (h *Hold) Detach() (release func()) {
	if h.queues == nil {
		return func() {}
	}
	h.queues.mu.Lock()
	defer h.queues.mu.Unlock()
	q := h.queue
	h.queue = nil
	if q == nil {
		return func() {}
	}
	return func() {
		h.queues.mu.Lock()
		effects := h.queues.released(q, Wakeup{Action: Ask})
		h.queues.mu.Unlock()
		effects.run()
	}
}
