package waitqueue

import "time"

// queue is the queue for one lock. It exists while it has callers or this process holds the lock. Queues.mu guards it.
//
// A release that is news to one caller may be of use to another. So no caller uses news up: it remains until an attempt
// that began later was denied. The queue counts what may have freed the lock. A caller with the turn asks, unless it
// was denied since; the one that watches asks again.
type queue struct {
	all *Queues
	key queueKey

	callers  waitList // all that are not gone and were not given a lease, in the order of the calls
	tryLocks waitList // the TryLocks among them that wait
	watcher  *Waiter  // the caller that watches, also while it asks again; nil: none does

	width int // how many callers may hold the lock
	turns int // how many callers have the turn
	limit int // how many may have it: all readers at once; of permits, 1 after a denial and 1 more after each grant
	holds int // how many locks of this process hold it; above the width only for one owner's holds
	lost  int // how many of these were lost, and are about to be released

	yielding int // how many callers yield

	news   uint64 // counts, from 1, what may have freed the lock: releases, and grants after a denial
	urgent uint64 // the last of these that ends the pause of the watcher
	reason error  // why the last attempt failed; nil: none has since the last grant

	kind   string // the kind of the lock that is held
	holder string // who got it last, for errors
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
		if w.heldElsewhere && q.subscription != nil && q.subscription.Take() {
			q.note(true)
		}
		if w.again || w.asked < q.urgent {
			w.ask(due)
		}
	}
	for q.turns < min(q.limit, q.width-q.holds) {
		w := q.firstWaiting()
		if w == nil {
			break
		}
		if publish := q.giveTurn(w); publish != nil {
			e.publish = publish
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

// firstWaiting returns the first caller that waits for its turn; nil if there is none.
func (q *queue) firstWaiting() *Waiter {
	w := q.callers.first
	for w != nil && w.state != waiting {
		w = q.callers.next(w)
	}
	return w
}

// giveTurn gives the turn to a caller. One that was denied since the last news watches. It returns the lock whose
// silent release is to be published now; nil if there is none.
func (q *queue) giveTurn(w *Waiter) (publish Lock) {
	w.turn = true
	q.turns++
	q.tryLocks.remove(w)
	if w.asked == q.news {
		q.watcher = w
		w.apply(watch)
		return nil
	}
	if s := q.silence; s != nil {
		now := q.all.Now()
		if s.cohort.mayKeep(s.lock.Policy(), w.Policy, now) {
			w.cohort = s.cohort.next()
			w.ask(turn)
			return nil
		}
		publish, q.silence = s.lock, nil
		q.beginCooldown(s.cohort, now)
	}
	if w.Try || !q.mustYield(w, q.holds+q.turns) {
		w.ask(turn)
	}
	return publish
}

// askAside makes a caller ask beyond the width of the queue, without a turn.
func (q *queue) askAside(w *Waiter) {
	if w.Try || q.holds > 0 || !q.mustYield(w, 1) {
		w.ask(turn)
	}
}

// join adds a caller. If the state of the queue answers its TryLock, the caller fails.
func (q *queue) join(w *Waiter) effects {
	if w.Try && !w.asksAtOnce() {
		if w.err = q.tryAnswer(w); w.err != nil {
			w.apply(fail)
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

// tryAnswer returns the error of a TryLock that need not wait: this process holds all of the lock, or the masters
// denied it and the first caller watches. nil: the TryLock waits for its turn, or for such an answer. Of a lock that
// was lost it waits for the release.
func (q *queue) tryAnswer(w *Waiter) error {
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
		w.apply(fail)
	}
}

// heldError returns the error of a TryLock while this process holds the lock.
func (q *queue) heldError(names []string) error { return q.all.HeldError(names[0], q.kind, q.holder) }

// waitReason returns why a caller waits; nil: unknown.
func (q *queue) waitReason(w *Waiter) error {
	if q.holds >= q.width {
		return q.heldError(w.Names)
	}
	return q.reason
}

// remove removes a caller from the queue.
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
	inherit := w.inherit
	if inherit == nil && w.slot > 0 {
		q.slots.refuse(w.slot)
	}
	w.apply(leave)
	q.remove(w)
	e = q.advance()
	e.release = inherit
	return e
}

// failed puts a caller whose attempt failed back into the line. The TryLocks there fail with the same error, since they
// must not overtake it.
func (q *queue) failed(w *Waiter, err error, heldElsewhere bool) (e effects) {
	w.heldElsewhere, w.cohort = heldElsewhere, cohort{}
	w.apply(denied)
	q.endTurn(w)
	q.limit, q.reason = 1, err
	q.failTryLocks(err)
	publish := q.takeUnpublished()
	if w.again {
		q.askAside(w)
	}
	e = q.advance()
	if !heldElsewhere && publish != nil { // otherwise the holder publishes its release
		e.publish = publish
	}
	return e
}

// granted records that a caller has the lock, from the masters or from the holder before.
func (q *queue) granted(w *Waiter, h *Hold, c cohort) effects {
	watched := w == q.watcher
	w.apply(take)
	q.remove(w)
	*h = Hold{queue: q, cohort: c, slot: int32(w.slot), held: true}
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
// only one may have become free since a denial; more callers ask only after one is granted at once.
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

// ownerHolds makes all callers of an owner ask, since the owner may hold the lock.
func (q *queue) ownerHolds(owner string) {
	for w := q.callers.first; w != nil; w = q.callers.next(w) {
		switch {
		case w.Owner != owner:
		case w.state == waiting:
			w.ask(turn)
		case w.state == yielding, w.state == pausing:
			w.ask(due)
		default:
			w.again = true
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
		q.note(q.inShare(q.holds + 1))
	}
	return q.advance()
}

// endHold ends a hold.
func (q *queue) endHold(h *Hold) {
	q.holds--
	if h.lost {
		q.lost--
	}
	h.held, h.lost = false, false
	if q.slots != nil {
		q.slots.release(int(h.slot))
	}
}

// published records how many other processes received the message of a release.
func (q *queue) published(h *Hold, subscribers int, released time.Time) effects {
	if q.subscription != nil {
		subscribers-- // this queue itself
	}
	if q.cooldown.others = max(0, subscribers); q.cooldown.others > 0 {
		q.beginCooldown(h.cohort, released)
	}
	return q.advance()
}

// messages follows release messages that may be news.
func (q *queue) messages() {
	q.do(func(q *queue) effects {
		if q.watcher == nil {
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
	if q.all.byKey[q.key] == q {
		delete(q.all.byKey, q.key)
	}
	q.all.yields.set(q.key, q.cooldown, q.all.Now)
	if publish := q.takeUnpublished(); publish != nil {
		e.publish = publish
	}
}
