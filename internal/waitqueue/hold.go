package waitqueue

import "time"

// Lock is a lock that this process acquired. The queue calls Policy and Validity with its mutex locked: they must
// return quickly and must not call the queue. It calls Publish and Release without it.
type Lock interface {
	Policy() Policy
	// Validity returns how long the lock's lease lasts.
	Validity(now time.Time) time.Duration
	// Publish publishes the silent release of the lock.
	Publish()
	// Release releases the lock: the waiter that was given its lease has left.
	Release()
}

// Hold connects an acquired lock with its queue. The zero Hold has no queue, and its methods do nothing.
type Hold struct {
	queue  *queue
	cohort cohort
	slot   int32 // the semaphore's slot that the lock has; 0 for every other kind
	state  holdState
}

type holdState uint8

const (
	notHeld holdState = iota // it was released, or its lease was passed on; a Lost that comes later is ignored
	held
	lost // it is about to be released
)

// Means is how a lock goes to the next holder.
type Means uint8

const (
	// ByMessage means that the release is published, and wakes the waiters of all processes.
	ByMessage Means = iota
	// Silently means that the release is not published, so that the next waiter asks before other processes do.
	Silently
	// WithLease means that the next waiter has the lease of the lock. The caller must not release the lock.
	WithLease
)

// HandOver decides how the lock, which is neither lost nor released, goes to the next holder. If the policies allow it,
// HandOver gives the lease of the lock to the first waiter that is not asking or probing. After ByMessage and Silently
// the caller must release the lock, and then call Released.
func (h *Hold) HandOver(l Lock, now time.Time) (means Means) {
	h.handle(func(q *queue) {
		w := q.firstIdle()
		switch {
		case w == nil: // ByMessage
		case h.cohort.mayReuseLease(l, w.Policy, now):
			means = WithLease
			h.state = notHeld
			w.from, w.slot, w.cohort = l, h.slot, h.cohort.passed()
			q.remove(w, given)
			q.advance()
		case q.slots == nil && h.cohort.mayKeep(l, w.Policy, now):
			means = Silently
			q.silence = silence{l, h.cohort, now}
		}
	})
	return means
}

// firstIdle returns the first caller that is not asking or probing; nil if there is none.
func (q *queue) firstIdle() *Waiter {
	w := q.callers.first
	for w != nil && (w.state == asking || w.state == probing) {
		w = w.links.next
	}
	return w
}

// Lost records that the lock was lost and is about to be released. A TryLock then waits for the release instead of
// reporting that the lock is held.
func (h *Hold) Lost() {
	h.handle(func(q *queue) {
		if h.state == held {
			h.state = lost
			q.lost++
		}
	})
}

// Released records that the release of the lock was submitted to the masters, and gives the turn to the next waiter,
// whose request must follow the release. Within the share of this process, the release is urgent news. Beyond the
// share, the watcher waits for the release message, as those of other processes do.
func (h *Hold) Released(now time.Time, silent bool) {
	h.handle(func(q *queue) {
		q.holds--
		if h.state == lost {
			q.lost--
		}
		h.state = notHeld
		if q.slots != nil {
			q.slots.release(int(h.slot))
		}
		if !silent {
			q.beginCooldown(h.cohort, now, now)
		}
		if q.holds < q.width && q.width < Unbounded { // the release of a reader frees nothing for other readers
			q.note(q.inShare(q.holds + 1))
		}
		q.advance()
	})
}

// Published records how many subscribers received the message of the release that was submitted at released. If other
// processes are among them, this process takes only its share until the cooldown after the release is over.
func (h *Hold) Published(subscribers int, released time.Time) {
	h.handle(func(q *queue) {
		// The queue may be gone, and another one made for the lock; if that is gone as well, its cooldown is overwritten.
		if live := q.all.byKey[q.key]; live != nil {
			q = live
		}
		if q.subscription != nil {
			subscribers-- // this process; if only another of its queues is subscribed, it counts as another one
		}
		if q.cooldown.others = max(0, subscribers); q.cooldown.others > 0 {
			q.beginCooldown(h.cohort, released, released)
		}
		q.advance()
	})
}

// handle handles an event of the hold in its queue, if it has one.
func (h *Hold) handle(f func(q *queue)) {
	if h.queue != nil {
		h.queue.all.handle(func() { f(h.queue) })
	}
}
