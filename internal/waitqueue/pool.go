package waitqueue

import (
	"math"
	"time"
)

// pool is the queue of a lock that several callers of this process may hold: a semaphore, or a lock for readers. They
// ask for it in the order of their calls. While the masters grant, as many ask at the same time as may hold the lock.
// After a denial, all but the first stop, so that what a process asks does not depend on how many of its callers wait.
// The first one watches: it asks again when a release is published, or after its back-off. When the masters grant
// again, the others ask again. Queues.mu guards a pool.
//
// A pool exists while it has callers or this process holds the lock. That of a semaphore exists for longer, since its
// slots are worth remembering; see [idlePools].
type pool struct {
	all    *Queues
	key    poolKey
	kind   string
	holder string // of the last permit that this process got, for errors
	slots  slots  // of a semaphore

	waiting   waitList // the callers without the turn, in the order of their calls
	returned  *Waiter  // the last of waiting that has had the turn; nil: none has
	asking    waitList // the callers with the turn
	tryLocks  waitList // the TryLocks of waiting
	turns     int      // the length of asking
	maxAsking int      // how many may have the turn at the same time: 1 after a denial
	joined    uint64   // how many callers have joined
	holds     int      // how many callers of this process hold the lock
	reason    error    // why the last attempt failed; nil: the last one was granted

	others     int       // how many other processes waited at the last release
	yieldUntil time.Time // until then this process leaves the slots beyond its share to them

	subscription Subscription
	idle         idleLinks
}

// poolKey identifies a pool. Callers that disagree about the number of slots have different pools, and learn of the
// disagreement from the masters.
type poolKey struct {
	Key
	width int
}

// Unbounded is the Width of a lock that any number of callers may hold.
const Unbounded = math.MaxInt

// place is where a caller is in its pool.
type place uint8

const (
	inLine   place = iota // it does not have the turn
	yielding              // it has the turn, and yields to other processes before it asks
	calling               // it has the turn, and asks
	pausing               // it has the turn, and waits before it asks again
	given                 // it was given a lease, which it has not taken yet
)

// poolFor returns the pool for a request. It makes one if there is none.
func (qs *Queues) poolFor(r Request) *pool {
	key := poolKey{r.Key, r.Width}
	if p := qs.pools[key]; p != nil {
		qs.idle.remove(p)
		return p
	}
	p := &pool{
		all: qs, key: key, kind: r.Kind, maxAsking: r.Width,
		waiting: waitList{role: asWaiter}, asking: waitList{role: withTurn}, tryLocks: waitList{role: asTryLock},
	}
	if p.slotted() {
		p.slots = slots{total: r.Width, used: make(map[int]bool)}
	}
	qs.pools[key] = p
	return p
}

// slotted reports whether the lock has slots: it is a semaphore.
func (p *pool) slotted() bool { return p.key.width < Unbounded }

// unused reports whether the pool has no holders and no callers. A caller without the turn exists only while there is a
// holder or a caller with the turn.
func (p *pool) unused() bool { return p.holds == 0 && p.turns == 0 }

// join adds a waiter, unless the state of the pool answers a TryLock. A TryLock of a reader asks at once: it overtakes
// nobody, because readers do not exclude each other.
func (p *pool) join(w *Waiter) error {
	switch {
	case !w.Try:
	case !p.slotted():
		p.giveTurn(w, Wakeup{Action: Ask})
		return nil
	case p.holds == p.key.width:
		return p.heldError()
	case p.reason != nil && p.turns >= p.maxAsking:
		return p.reason
	}
	p.joined++
	w.number = p.joined
	p.waiting.push(w)
	if w.Try {
		p.tryLocks.push(w)
	}
	p.giveTurns()
	return nil
}

// giveTurns gives the turn to as many waiters as may have it. Those that want more than this process's share of the
// slots yield to other processes before they ask.
func (p *pool) giveTurns() {
	for p.waiting.first != nil && p.turns < p.maxAsking && p.turns < p.key.width-p.holds {
		w, delay := p.waiting.first, time.Duration(0)
		if !w.Try && !p.inShare(p.holds+p.turns+1) {
			delay = max(0, p.yieldUntil.Sub(p.all.now()))
		}
		p.giveTurn(w, Wakeup{Action: Ask, Delay: delay})
	}
}

// giveTurn gives the turn to a waiter.
func (p *pool) giveTurn(w *Waiter, turn Wakeup) {
	p.removeWaiter(w)
	p.asking.push(w)
	p.turns++
	w.place, w.watches, w.asked = calling, turn.Action == Watch, turn.Action == Watch
	if turn.Delay > 0 {
		w.place = yielding
	}
	if w.watches && w.nudges == nil {
		w.nudges = make(chan struct{}, 1)
	}
	w.wakeups <- turn
}

// returnTurn puts a caller that has had the turn back into the line, where its number says. All callers that have had
// the turn are in front of those that have not. Denials usually arrive in the order of the calls, so the place is found
// at once.
func (p *pool) returnTurn(w *Waiter) {
	p.removeWaiter(w)
	w.place = inLine
	at := p.returned
	for at != nil && at.number > w.number {
		at = p.waiting.prev(at)
	}
	p.waiting.insertAfter(at, w)
	if at == p.returned {
		p.returned = w
	}
}

// inShare reports whether this number of permits is within this process's share of the slots. All processes that wait
// for permits have equal shares. A process that does not wait is not counted by the others, and so has no share.
// Readers do not yield: the intents of exclusive waiters keep them out instead.
func (p *pool) inShare(permits int) bool {
	return p.others == 0 || !p.slotted() || p.subscription != nil && permits*(1+p.others) <= p.key.width
}

// removeWaiter removes a waiter from the lists.
func (p *pool) removeWaiter(w *Waiter) {
	if p.returned == w {
		p.returned = p.waiting.prev(w)
	}
	p.tryLocks.remove(w)
	p.waiting.remove(w)
	if p.asking.remove(w) {
		p.turns--
	}
}

// passLease gives the lease of a permit to the next waiter if the policies allow it. The next is the first waiter with
// the turn, other than a TryLock, that yields or pauses between two attempts; if there is none, the first waiter
// without the turn.
func (p *pool) passLease(h *Hold, from Lock, now time.Time) bool {
	w := p.asking.first
	for w != nil && (w.place != pausing && w.place != yielding || w.Try) {
		w = p.asking.next(w)
	}
	hadTurn := w != nil
	if w == nil {
		w = p.waiting.first
	}
	if w == nil || !h.cohort.mayReuseLease(from.Policy(), w.Policy, now, from) {
		return false
	}
	p.removeWaiter(w)
	w.place, w.inherit, w.slot, w.cohort = given, from, int(h.slot), h.cohort.next()
	if hadTurn {
		w.nudge()
	} else {
		w.wakeups <- Wakeup{Action: Inherit, Lock: from, cohort: w.cohort}
	}
	p.endYielding() // w asks no more
	return true
}

// failTryLocks makes every TryLock fail that has not got the turn.
func (p *pool) failTryLocks(err error) {
	for w := p.tryLocks.first; w != nil; w = p.tryLocks.first {
		p.removeWaiter(w)
		w.wakeups <- Wakeup{Action: Fail, Err: err}
	}
}

func (p *pool) heldError() error { return p.all.heldError(p.key.names, p.kind, p.holder) }

func (p *pool) waitReason(*Waiter) error {
	if p.holds == p.key.width {
		return p.heldError()
	}
	return p.reason
}

func (p *pool) subscribed() *Subscription { return &p.subscription }

// leave removes a waiter that gives up. It passes on the turn, and a release that may have woken this waiter only.
func (p *pool) leave(w *Waiter) effects {
	p.removeWaiter(w)
	if w.inherit == nil {
		p.slots.refuse(w.slot)
	}
	p.endYielding()
	if w.asked && !w.Try {
		p.nudgeAsking()
	}
	p.giveTurns()
	e := p.clean()
	e.release, w.inherit = w.inherit, nil
	return e
}

// failed takes the turn of a caller whose attempt failed. If it was the last one with the turn, the first caller in the
// line watches. If a permit was released while it asked, the first one asks again at once.
func (p *pool) failed(w *Waiter, err error, _ bool) effects {
	p.reason, p.maxAsking = err, 1
	p.failTryLocks(err)
	released := w.takeNudge()
	p.returnTurn(w)
	switch {
	case p.turns > 0 && released:
		p.nudgeAsking()
	case p.turns > 0:
	case released:
		p.giveTurn(p.waiting.first, Wakeup{Action: Ask})
	default:
		p.giveTurn(p.waiting.first, Wakeup{Action: Watch, Err: err})
	}
	return effects{}
}

// granted records that a waiter has a permit, granted or inherited.
func (p *pool) granted(w *Waiter, h *Hold, c cohort) effects {
	p.removeWaiter(w)
	*h = Hold{pool: p, cohort: c, slot: int32(w.slot)}
	p.holder = w.Holder
	if !p.slotted() || w.asked && (w.place == given || w.watches || len(w.nudges) > 0) {
		p.nudgeAsking() // a release of another permit may have woken w only, or may have been found by its probe only
	}
	if w.inherit == nil {
		p.holds++
		p.grow(w)
	}
	w.inherit, w.slot, p.reason = nil, 0, nil
	if p.holds == p.key.width {
		p.failTryLocks(p.heldError())
	}
	p.giveTurns()
	return p.clean()
}

// grow raises the number of callers that may ask at the same time after the masters granted the lock to w. If they
// grant it to one reader, they grant it to all. Of permits, only one may have become free since a denial; four times
// as many ask after each grant at the first attempt.
func (p *pool) grow(w *Waiter) {
	switch {
	case !p.slotted():
		p.maxAsking = Unbounded
	case !w.watches:
		p.maxAsking = min(4*p.maxAsking, p.key.width)
	}
}

// released records that a permit was released.
func (p *pool) released(h *Hold, now time.Time) effects {
	p.holds--
	if !p.slotted() {
		return p.clean()
	}
	p.slots.release(int(h.slot))
	if until := now.Add(h.cohort.cooldown(now, 1)); until.After(p.yieldUntil) {
		p.yieldUntil = until
	}
	if p.inShare(p.holds + 1) { // beyond the share, the message decides which process is first
		p.nudgeAsking()
	}
	p.endYielding()
	p.giveTurns()
	return p.clean()
}

// endYielding ends the yielding of callers whose permits are now within the share.
func (p *pool) endYielding() {
	permits := p.holds
	for w := p.asking.first; w != nil; w = p.asking.next(w) {
		permits++
		if w.place == yielding && p.inShare(permits) {
			w.place = calling
			w.nudge()
		}
	}
}

// nudgeAsking makes the first caller that has begun to ask try again at once: for a permit that this process released,
// without waiting for the release message, or in place of another caller, which may have used up such a message.
func (p *pool) nudgeAsking() {
	for w := p.asking.first; w != nil; w = p.asking.next(w) {
		if w.asked && !w.Try && w.nudge() {
			return
		}
	}
}

// published records how many subscribers received the message of a release; see [Hold.Published].
func (p *pool) published(subscribers int) {
	if p.subscription != nil {
		subscribers-- // this pool itself
	}
	p.others = max(0, subscribers)
	p.endYielding()
}

// clean ends the subscription if no caller waits.
func (p *pool) clean() (e effects) {
	if p.waiting.first == nil && p.turns == 0 {
		e.stop, p.subscription = p.subscription, nil
		p.reason = nil
	}
	if p.unused() {
		p.all.retire(p)
	}
	return e
}
