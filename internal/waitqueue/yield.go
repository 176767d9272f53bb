package waitqueue

// askOrYield makes a caller ask. holds is how many holds this process would then have; beyond its share, the caller
// first yields until the cooldown is over. A TryLock does not yield.
func (q *queue) askOrYield(w *Waiter, holds int) {
	if w.Try || q.inShare(holds) || !q.cooldown.until.After(q.all.Now()) {
		w.ask()
		return
	}
	w.waitUntil = q.cooldown.until
	w.become(yielding)
}

// endYielding makes each yielding caller ask whose hold would be within the share. It counts the holds of this process,
// and one for each turn up to and including the caller's.
func (q *queue) endYielding() {
	holds := q.holds // plus one for each turn from the first caller to w
	for w, left := q.callers.first, q.yields; left > 0; w = w.links.next {
		if w.turn {
			holds++
		}
		if w.state == yielding {
			left--
			if q.inShare(max(holds, 1)) { // at least 1: a caller out of turn has no turn that was counted
				w.ask()
			}
		}
	}
}

// inShare reports whether this process stays within its share of the lock with that many holds. The width is divided
// equally, rounded down, among this process and the others that wait: of a mutex, the share of each is 0. They count
// each other by their subscriptions; one without a subscription has no share. Readers do not yield: intents of
// exclusive waiters keep them out.
func (q *queue) inShare(holds int) bool {
	others := q.cooldown.others
	return others == 0 || q.width == Unbounded || (q.subscription != nil && holds <= q.width/(1+others))
}
