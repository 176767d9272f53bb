package waitqueue

import (
	"fmt"
	"slices"
	"time"
)

// queue is the queue for one lock. It exists while it has callers or this process holds the lock. Queues.mu guards it.
//
// A caller asks the masters when it gets the turn, and gives the turn back when the attempt fails. Some callers also
// ask out of turn; see Request.asksOutOfTurn.
//
// The queue numbers the events that may have freed the lock (news). A caller that gets the turn asks if its last
// attempt began before the latest news; otherwise it watches. News is urgent if this process may ask at once: after a
// release within its share, a message, or a grant after a failure. Urgent news also ends the watcher's pause.
type queue struct {
	all *Queues
	key queueKey

	callers waitList // all that are not gone and were not given a lease, in the order of the calls
	watcher *Waiter  // the caller that watches, also while it asks again; nil: none does

	width int // how many callers may hold the lock
	turns int // how many callers have the turn
	limit int // how many may have it: at first the width; 1 after a failed attempt; raised by noteGrant
	holds int // how many locks this process has, also those given to a waiter; above the width only if reentrant
	lost  int // how many of these were lost and are about to be released; see Hold.Lost

	waits, yields, tries int32 // how many callers wait, how many yield, and how many TryLocks are among those that wait

	news   uint64 // the number of the latest news, from 1
	urgent uint64 // the number of the latest urgent news
	reason error  // why the last attempt failed; nil after a grant, or when the queue had no caller
	denied bool   // the last attempt was denied, so a release message can help

	kind   string // the kind of the lock that this process acquired last, for errors
	holder string // who acquired it
	slots  *slots // of a semaphore

	cooldown cooldown // for the processes that waited for the lock at its last release
	silence  silence  // the last release, if it was silent and may yet have to be published

	subscription Subscription // for the releases of the lock; nil: none
}

// count adds n, which is 1 or -1, to those of q.waits, q.yields and q.tries in which w counts.
func (q *queue) count(w *Waiter, n int32) {
	if w.state == yielding {
		q.yields += n
	}
	if w.state == waiting {
		q.waits += n
	}
	if w.state == waiting && w.Try {
		q.tries += n
	}
}

// advance restores what must always be true, after every event that may have changed it:
//
//   - The watcher does not pause while there is urgent news.
//   - The first waiting callers have the turn, up to the limit and the free width.
//   - No caller yields while its hold would be within the share of this process.
//   - A queue without callers has no subscription. If it has no holds either, it is removed.
func (q *queue) advance() {
	if w := q.watcher; w != nil && w.state == pausing {
		// After a failure other than a denial, a message does not help: callers whose attempts fail may publish
		// releases, and would wake each other without end.
		if q.denied && q.subscription != nil && q.subscription.Take() {
			q.note(true)
		}
		if w.seen < q.urgent {
			w.ask()
		}
	}
	maxTurns := min(q.limit, q.width-q.holds)
	w := q.callers.first
	if q.waits == 1 && q.callers.last.state == waiting {
		w = q.callers.last // usually only the caller that has just joined waits
	}
	for ; q.turns < maxTurns && q.waits > 0; w = w.links.next { // waits > 0: w or a later caller waits
		if w.state == waiting {
			q.giveTurn(w)
		}
	}
	if q.callers.first == nil {
		q.clean()
	} else {
		q.endYielding()
	}
}

// note records news.
func (q *queue) note(urgent bool) {
	q.news++
	if urgent {
		q.urgent = q.news
	}
}

// giveTurn gives the turn to a caller. A caller whose last attempt began after the latest news watches.
func (q *queue) giveTurn(w *Waiter) {
	w.turn = true
	q.turns++
	switch {
	case w.seen == q.news:
		q.watcher = w
		w.become(probing)
	case q.followsSilence(w): // it continues the cohort of a silent release
		w.cohort = q.silence.cohort.passed()
		w.ask()
	default:
		q.publishSilent()                // w cannot follow it
		q.askOrYield(w, q.holds+q.turns) // turns includes this one
	}
}

// askOutOfTurn makes a caller ask without a turn, beyond the width of the queue; see Request.asksOutOfTurn. It takes
// nothing from other processes if this one has the lock: its owner or a reader has it, or the masters deny the attempt.
func (q *queue) askOutOfTurn(w *Waiter) {
	if q.holds > 0 {
		w.ask()
	} else {
		q.askOrYield(w, 1)
	}
}

// clean removes what a queue without callers no longer needs, and the queue if it is not needed itself.
func (q *queue) clean() {
	if q.subscription != nil {
		q.all.after(q.subscription.Stop)
	}
	q.subscription, q.reason = nil, nil
	if q.holds > 0 {
		return
	}
	delete(q.all.byKey, q.key) // no effect if the queue was removed before: Published may come after the last Released
	q.publishSilent()
	q.all.cooldowns.set(q.key, q.cooldown, q.all.Now)
}

// remove removes a caller from the queue, with its turn, and changes its state.
func (q *queue) remove(w *Waiter, s state) {
	q.callers.remove(w)
	q.endTurn(w)
	w.become(s)
}

// endTurn takes the turn from a caller, if it has the turn, and ends its watch.
func (q *queue) endTurn(w *Waiter) {
	if w.turn {
		q.turns--
	}
	w.turn = false
	if q.watcher == w {
		q.watcher = nil
	}
}

// acquired records that a caller has the lock: the masters granted it, or the caller inherited it.
func (q *queue) acquired(w *Waiter, h *Hold, c cohort) {
	if w.state != asking && w.state != given {
		panic(fmt.Sprintf("waitqueue: Granted or Inherited of a caller that is %v", w.state))
	}
	watched, handedOver := w == q.watcher, w.state == given
	q.remove(w, gone)
	*h = Hold{queue: q, cohort: c, slot: w.slot, state: held}
	q.kind, q.holder = w.Kind, w.Holder
	if !handedOver {
		q.holds++
		q.noteGrant(watched)
	}
	w.from, w.slot = nil, 0
	if w.Owner != "" {
		q.cooldown.until = time.Time{} // a reentrant lock yields only for the cooldown after the release of this hold
		q.ownersHold([]string{w.Owner})
	}
	if q.tries > 0 && q.heldHere() {
		q.failTryLocks(q.heldError(w.Names))
	}
	q.advance()
}

// noteGrant records a grant of the masters. After a failure it is urgent news: there was more room than the failure
// showed. It raises the limit: to all if a reader was granted, and by one if the caller did not watch. That caller
// found a free slot by itself, so there may be more; a watcher was woken for one slot.
func (q *queue) noteGrant(watched bool) {
	if q.reason != nil && q.holds < q.width {
		q.note(true)
	}
	q.reason, q.silence = nil, silence{}
	switch {
	case q.width == Unbounded:
		q.limit = Unbounded
	case !watched:
		q.limit = min(q.limit+1, q.width)
	}
}

// ownersHold makes all callers of these owners ask, since they may hold the lock. A caller that is asking or probing
// asks once more afterwards, if it still has no lock.
func (q *queue) ownersHold(owners []string) {
	for w := q.callers.first; w != nil; w = w.links.next {
		switch {
		case !slices.Contains(owners, w.Owner):
		case w.state == asking, w.state == probing:
			w.seen = 0 // Failed, or advance after Pause, then makes it ask
		default:
			w.ask()
		}
	}
}

// onMessage handles a message that the lock may have been released.
func (q *queue) onMessage() {
	q.all.handle(func() {
		if q.watcher != nil { // otherwise no caller needs the message, and the queue may be gone
			q.advance()
		}
	})
}
