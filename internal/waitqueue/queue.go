package waitqueue

import "time"

// queue is the queue for one lock. It exists while it has callers or this process holds the lock. Queues.mu guards it.
//
// A release that is news to one caller may be of use to another. So no caller uses news up: it remains until an attempt
// that began later has failed. The queue counts what may have freed the lock. A caller with the turn asks, unless its
// attempt failed since; the one that watches asks again. Urgent news also ends the pause of the one that watches.
type queue struct {
	all *Queues
	key queueKey

	callers  waitList // all that are not gone and were not given a lease, in the order of the calls
	tryLocks waitList // the TryLocks among them that wait
	watcher  *Waiter  // the caller that watches, also while it asks again; nil: none does

	width int // how many callers may hold the lock
	turns int // how many callers have the turn
	limit int // how many may have it: width; 1 after a failure; then after a grant all readers, or 1 more permit
	holds int // how many locks of this process hold it; above the width only for one owner's holds
	lost  int // how many of these were lost, and are about to be released

	// in has how many callers wait, and how many yield; it is not kept of the states outside and gone. Each held lock has
	// a queue, so it is small.
	in [states]int32

	news   uint64 // counts, from 1, what may have freed the lock: releases, and grants after a failure
	urgent uint64 // the last of these that ends the pause of the watcher
	reason error  // why the last attempt failed; nil: none has since the last grant
	denied bool   // it failed because it was denied, so a message of a release helps

	kind   string // the kind of the lock that this process acquired last, for errors
	holder string // who acquired it
	slots  *slots // of a semaphore

	cooldown cooldown // for the processes that waited for the lock at its last release
	silence  *silence // the last release, if it was silent and may yet have to be published; else nil

	subscription Subscription // for the releases of the lock; nil: none
}

// do runs what happens in the queue.
func (q *queue) do(happens func(q *queue) effects) {
	q.all.mu.Lock()
	e := happens(q)
	q.all.mu.Unlock()
	e.run()
}

// advance restores, after every event, what must always be true:
//
//   - The watcher does not pause while there is urgent news.
//   - As many callers have the turn as may have it, the first ones of those that wait.
//   - No caller yields what is within the share of this process.
//   - Nothing remains that a queue without callers, or without holders, does not need.
func (q *queue) advance() (e effects) {
	if w := q.watcher; w != nil && w.state == pausing {
		if q.denied && q.subscription != nil && q.subscription.Take() {
			q.note(true)
		}
		if w.again || w.asked < q.urgent {
			w.ask()
		}
	}
	most := min(q.limit, q.width-q.holds)
	for w := q.callers.first; q.turns < most && q.in[waiting] > 0; w = q.callers.next(w) { // the next that waits follows
		if w.state == waiting {
			q.giveTurn(w, &e)
		}
	}
	if q.callers.first == nil {
		q.clean(&e)
	} else {
		q.endYielding()
	}
	return e
}

// note records that the lock may have become free.
func (q *queue) note(urgent bool) {
	q.news++
	if urgent {
		q.urgent = q.news
	}
}

// giveTurn gives the turn to a caller. One whose attempt failed since the last news watches.
func (q *queue) giveTurn(w *Waiter, e *effects) {
	w.turn = true
	q.turns++
	q.tryLocks.remove(w)
	switch {
	case w.asked == q.news:
		q.watcher = w
		w.apply(watch)
	case q.continueCohort(w, e):
		w.ask()
	default:
		q.askOrYield(w, q.holds+q.turns)
	}
}

// askAside makes a caller ask without a turn, beyond the width of the queue: its owner may hold the lock already.
func (q *queue) askAside(w *Waiter) {
	if q.holds > 0 {
		w.ask()
		return
	}
	q.askOrYield(w, 1)
}

// join adds a caller. If the state of the queue answers its TryLock, the caller fails.
func (q *queue) join(w *Waiter) effects {
	if w.Try && !w.asksAtOnce() {
		if w.err = q.tryError(w); w.err != nil {
			w.apply(refuse)
			return effects{}
		}
	}
	w.apply(call)
	q.callers.push(w)
	switch {
	case w.asksAtOnce():
		q.askAside(w)
	case w.Try:
		q.tryLocks.push(w)
	}
	return q.advance()
}

// tryError returns the error of a TryLock that need not wait: this process holds all of the lock, or an attempt failed
// and its caller watches. nil: the TryLock waits for its turn, or for such an error. A lock that was lost does not
// count: the TryLock waits for its release.
func (q *queue) tryError(w *Waiter) error {
	switch {
	case q.holds-q.lost >= q.width:
		return q.heldError(w.Names)
	case q.watcher != nil:
		return q.reason
	}
	return nil
}

// failTryLocks makes every TryLock fail that waits for its turn.
func (q *queue) failTryLocks(err error) {
	for w := q.tryLocks.first; w != nil; w = q.tryLocks.first {
		q.remove(w)
		w.err = err
		w.apply(refuse)
	}
}

// heldError returns the error of a TryLock while this process holds the lock.
func (q *queue) heldError(names []string) error { return q.all.HeldError(names[0], q.kind, q.holder) }

// remove removes a caller from the queue, with its turn. If it watches, no caller does afterwards.
func (q *queue) remove(w *Waiter) {
	q.callers.remove(w)
	q.tryLocks.remove(w)
	q.endTurn(w)
}

// endTurn takes the turn from a caller, if it has the turn.
func (q *queue) endTurn(w *Waiter) {
	if w.turn {
		q.turns--
	}
	w.turn = false
	if q.watcher == w {
		q.watcher = nil
	}
}

// leave removes a caller that gives up.
func (q *queue) leave(w *Waiter) (e effects) {
	if w.state == gone {
		return effects{}
	}
	if w.inherit == nil && w.slot > 0 {
		q.slots.giveBack(w.slot)
	}
	w.apply(leave)
	q.remove(w)
	e = q.advance()
	e.release = w.inherit
	return e
}

// failed puts a caller whose attempt failed back into the line. The TryLocks there fail with the same error, since they
// must not overtake it.
func (q *queue) failed(w *Waiter, err error, denied bool) (e effects) {
	w.cohort = cohort{}
	w.apply(failed)
	if w.turn || q.watcher == nil { // the attempt of a caller that asks aside says nothing of the one that watches
		q.reason, q.denied = err, denied
	}
	q.endTurn(w)
	q.limit = 1
	q.failTryLocks(err)
	publish := q.takeUnpublished() // before advance, which lets the next caller follow it
	if w.again {
		q.askAside(w)
	}
	e = q.advance()
	if !denied && publish != nil { // the one that has the lock, or is about to, publishes its release
		e.publish = publish
	}
	return e
}

// granted records that a caller has the lock, from the masters or from the holder before.
func (q *queue) granted(w *Waiter, h *Hold, c cohort) effects {
	watched := w == q.watcher
	w.apply(take)
	q.remove(w)
	*h = Hold{queue: q, cohort: c, slot: int32(w.slot), state: held}
	q.kind, q.holder = w.Kind, w.Holder
	if w.inherit == nil {
		q.holds++
		q.grow(watched)
	}
	w.inherit, w.slot = nil, 0
	if w.Owner != "" {
		q.cooldown.until = time.Time{} // the other processes had their turn; the owner's further holds do not yield
		q.ownerHolds(w.Owner)
	}
	if q.tryLocks.first != nil && q.holds >= q.width {
		q.failTryLocks(q.heldError(w.Names))
	}
	return q.advance()
}

// grow records that the masters granted the lock. If they grant it to one reader, they grant it to all. Of permits,
// each that is granted at once lets one more caller ask. One that was waited for does not: no other may have become
// free.
func (q *queue) grow(watched bool) {
	if q.reason != nil && q.holds < q.width {
		q.note(true)
	}
	q.reason, q.silence = nil, nil
	switch {
	case q.width == Unbounded:
		q.limit = Unbounded
	case !watched:
		q.limit = min(q.limit+1, q.width)
	}
}

// ownerHolds makes all callers of an owner ask, since the owner may hold the lock. Those that ask already ask again.
func (q *queue) ownerHolds(owner string) {
	for w := q.callers.first; w != nil; w = q.callers.next(w) {
		switch {
		case w.Owner != owner:
		case w.state == asking, w.state == probing:
			w.again = true
		default:
			w.ask()
		}
	}
}

// released records that a lock was released. What is within the share of this process, it takes without waiting for the
// message. Beyond the share, the message decides which process is first.
func (q *queue) released(h *Hold, now time.Time, silent bool) effects {
	q.endHold(h)
	if !silent {
		q.beginCooldown(h.cohort, now)
	}
	if q.holds < q.width && q.width < Unbounded {
		urgent := q.inShare(q.holds + 1)
		q.note(urgent)
	}
	return q.advance()
}

// endHold ends a hold.
func (q *queue) endHold(h *Hold) {
	q.holds--
	if h.state == lost {
		q.lost--
	}
	h.state = ended
	if q.slots != nil {
		q.slots.release(int(h.slot))
	}
}

// published records how many other processes received the message of a release.
func (q *queue) published(h *Hold, subscribers int, released time.Time) effects {
	if q.subscription != nil {
		subscribers-- // this process, as far as this queue knows
	}
	q.cooldown.others = max(0, subscribers)
	if q.cooldown.others > 0 {
		q.beginCooldown(h.cohort, released)
	}
	return q.advance()
}

// messages follows release messages that may be news.
func (q *queue) messages() {
	q.do(func(q *queue) effects {
		if q.watcher == nil { // no caller needs the message, and the queue may be gone
			return effects{}
		}
		return q.advance()
	})
}

// clean removes what a queue without callers no longer needs, and the queue if it is not needed itself.
func (q *queue) clean(e *effects) {
	e.stop, q.subscription, q.reason = q.subscription, nil, nil
	if q.holds > 0 {
		return
	}
	if q.all.byKey[q.key] == q { // it may be gone: its last lock was released, and the count of the message came late
		delete(q.all.byKey, q.key)
	}
	q.all.cooldowns.set(q.key, q.cooldown, q.all.Now)
	if publish := q.takeUnpublished(); publish != nil {
		e.publish = publish
	}
}
