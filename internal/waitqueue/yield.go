package waitqueue

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

// endYielding ends the yielding of each caller whose hold, after those of this process and of the turns before it in
// line, is within the share.
func (q *queue) endYielding() {
	holds := q.holds // and one for each turn up to w
	for w, left := q.callers.first, q.yields; left > 0; w = w.links.next {
		if w.turn {
			holds++
		}
		if w.state == yielding {
			left--
			if q.inShare(max(holds, 1)) { // at least its own: out of turn, w has no turn
				w.ask()
			}
		}
	}
}

// inShare reports whether so many holds are within the share of this process. The width is divided equally among it and
// the others that wait, rounded down: of a mutex, none has a share. They count each other by their subscriptions, so a
// process without one has no share. Readers do not yield: intents of exclusive waiters keep them out.
func (q *queue) inShare(holds int) bool {
	others := q.cooldown.others
	return others == 0 || q.width == Unbounded || (q.subscription != nil && holds <= q.width/(1+others))
}
