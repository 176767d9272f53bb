package waitqueue

import "time"

// askOrYield makes a caller ask. If the holds that this process would then have are beyond its share, the caller first
// yields until the cooldown is over. A TryLock does not yield.
func (q *queue) askOrYield(w *Waiter, holds int) {
	if w.Try || q.inShare(holds) || !q.cooldown.until.After(q.all.Now()) {
		w.ask()
		return
	}
	w.waitUntil = q.cooldown.until
	w.become(yielding)
}

// endYielding ends the yielding of callers whose holds are now within the share.
func (q *queue) endYielding() {
	holds := q.holds // plus the turns of the callers so far
	for w, left := q.callers.first, q.yields; left > 0; w = w.links.next {
		if w.turn {
			holds++
		}
		if w.state == yielding {
			left--
			if q.inShare(max(holds, 1)) { // a caller out of turn is not counted above
				w.ask()
			}
		}
	}
}

// inShare reports whether this number of holds is within the share of this process. The width is divided equally among
// the processes that wait, rounded down: of a mutex, none has a share. They count each other as subscribers, so a
// process that is not subscribed has none either. Readers do not yield: intents of exclusive waiters keep them out.
func (q *queue) inShare(holds int) bool {
	others := q.cooldown.others
	return others == 0 || q.width == Unbounded || (q.subscription != nil && holds <= q.width/(1+others))
}

// beginCooldown begins or prolongs the time in which this process leaves to others what is beyond its share.
func (q *queue) beginCooldown(c cohort, now time.Time) {
	waves := max(1, (q.cooldown.others+q.width-1)/q.width)
	if until := now.Add(c.cooldownFor(now, waves)); until.After(q.cooldown.until) {
		q.cooldown.until = until
	}
}
