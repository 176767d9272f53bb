package waitqueue

import (
	"maps"
	"time"
)

// yields has the cooldowns of the locks whose queues are gone.
type yields struct {
	of      map[queueKey]cooldown
	sweepAt time.Time // when sweep removes the locks whose time has passed again
}

// cooldown is how many other processes waited for a lock when it was last released, and until when this process leaves
// to them what is beyond its share.
type cooldown struct {
	others int
	until  time.Time
}

// minSweep is the number of locks up to which sweep removes none.
const minSweep = 64

// set records a lock; with others 0, it forgets the lock.
func (y *yields) set(key queueKey, c cooldown, now func() time.Time) {
	if c.others == 0 {
		delete(y.of, key)
		return
	}
	y.sweep(now())
	if y.of == nil {
		y.of = make(map[queueKey]cooldown)
	}
	y.of[key] = c
}

// sweep removes the locks whose time has passed. A lock is yielded for at most maxCooldown, so it remains for at most
// two sweeps, and the cost of sweep is constant on average.
func (y *yields) sweep(now time.Time) {
	if len(y.of) <= minSweep || now.Before(y.sweepAt) {
		return
	}
	maps.DeleteFunc(y.of, func(_ queueKey, c cooldown) bool { return !c.until.After(now) })
	if len(y.of) == 0 {
		y.of = nil // a map does not shrink
	}
	y.sweepAt = now.Add(maxCooldown)
}

// get returns what is recorded of a lock; the zero cooldown if its time has passed. It calls now only if some lock may
// be yielded.
func (y *yields) get(key queueKey, now func() time.Time) cooldown {
	if len(y.of) == 0 {
		return cooldown{}
	}
	at := now()
	y.sweep(at)
	if c := y.of[key]; c.until.After(at) {
		return c
	}
	return cooldown{}
}

// mustYield makes a caller yield if the number of permits that this process would have with it is beyond the share, and
// reports whether it did.
func (q *queue) mustYield(w *Waiter, permits int) bool {
	if q.inShare(permits) || !q.cooldown.until.After(q.all.Now()) {
		return false
	}
	w.waitUntil = q.cooldown.until
	w.apply(yield)
	return true
}

// endYielding ends the yielding of callers whose permits are now within the share.
func (q *queue) endYielding() {
	permits := q.holds
	for w, left := q.callers.first, q.yielding; left > 0; w = q.callers.next(w) {
		if w.turn {
			permits++
		}
		if w.state != yielding {
			continue
		}
		left--
		if q.inShare(max(permits, 1)) { // one that asks at once has no turn
			w.ask(due)
		}
	}
}

// inShare reports whether this number of permits is within this process's share. A process that does not wait is not
// counted by the others, and so has no share.
func (q *queue) inShare(permits int) bool {
	return permits <= share(q.width, q.cooldown.others, q.subscription != nil)
}

// beginCooldown begins the time in which this process leaves to others what is beyond its share.
func (q *queue) beginCooldown(c cohort, now time.Time) {
	if until := now.Add(c.cooldown(now, rounds(q.width, q.cooldown.others))); until.After(q.cooldown.until) {
		q.cooldown.until = until
	}
}
