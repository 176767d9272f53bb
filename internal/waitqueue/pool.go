package waitqueue

import "time"

// pool is the queue of a semaphore. Several callers of this process may hold permits or ask for them at the same time.
// They get the turn in the order of their calls. While permits are free, every caller gets the turn at once, up to the
// number of slots. After a denial one caller at a time asks, so that a release wakes one caller of each process. A pool
// exists while it has waiters or this process holds permits, and longer if its slots are worth remembering. Queues.mu
// guards it.
type pool struct {
	all  *Queues
	key  poolKey
	kind string

	waiting   waitList // the waiters without the turn
	asking    waitList // the waiters with the turn
	tryLocks  waitList // the TryLocks of waiting
	turns     int      // the length of asking
	maxAsking int      // how many may have the turn at the same time: 1 after a denial, doubled by a grant
	holds     int      // the permits of this process
	slots     slots
	reason    error // why the last attempt failed; nil: the last one was granted

	others     int       // how many other processes waited at the last release
	yieldUntil time.Time // until then this process leaves the slots beyond its share to them

	subscription Subscription
}

// poolKey identifies a pool. Callers that disagree about the number of slots have different pools, and learn of the
// disagreement from the masters.
type poolKey struct {
	Key
	slots int
}

// poolFor returns the pool for a request. It makes one if there is none.
func (qs *Queues) poolFor(r Request) *pool {
	key := poolKey{r.Key, r.Slots}
	if p := qs.pools[key]; p != nil {
		return p
	}
	qs.forgetPools()
	p := &pool{
		all: qs, key: key, kind: r.Kind, maxAsking: r.Slots,
		waiting: waitList{role: asWaiter}, asking: waitList{role: withTurn}, tryLocks: waitList{role: asTryLock},
		slots: slots{total: r.Slots, used: make(map[int]bool)},
	}
	qs.pools[key] = p
	return p
}

// maxIdlePools is how many pools without waiters and permits are kept, for the slots that they remember.
const maxIdlePools = 256

// forgetPools removes the idle pools if there are too many. Its cost is constant on average, like that of [yields.set].
func (qs *Queues) forgetPools() {
	if len(qs.pools) < max(maxIdlePools, qs.sweepPoolsAt) {
		return
	}
	for key, p := range qs.pools {
		if p.idle() {
			delete(qs.pools, key)
		}
	}
	qs.sweepPoolsAt = 2 * len(qs.pools)
}

// idle reports whether the pool has no permits and no callers. A caller without the turn exists only while there is a
// permit or a caller with the turn.
func (p *pool) idle() bool { return p.holds == 0 && p.turns == 0 }

// join adds a waiter, unless the state of the pool answers a TryLock.
func (p *pool) join(w *Waiter) error {
	if w.Try {
		switch {
		case p.holds == p.key.slots:
			return p.heldError()
		case p.reason != nil && p.turns >= p.maxAsking:
			return p.reason
		}
	}
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
	for p.waiting.first != nil && p.turns < p.maxAsking && p.holds+p.turns < p.key.slots {
		w := p.waiting.first
		p.removeWaiter(w)
		p.asking.push(w)
		p.turns++
		delay := time.Duration(0)
		if !w.Try && !p.inShare(p.holds+p.turns) {
			delay = max(0, p.yieldUntil.Sub(p.all.now()))
		}
		w.hasTurn, w.yielding = true, delay > 0
		w.wakeups <- Wakeup{Action: Ask, Delay: delay}
	}
}

// inShare reports whether this number of permits is within this process's share of the slots. All processes that wait
// for permits have equal shares. A process that does not wait is not counted by the others, and so has no share.
func (p *pool) inShare(permits int) bool {
	return p.others == 0 || p.subscription != nil && permits*(1+p.others) <= p.key.slots
}

// removeWaiter removes a waiter from the lists.
func (p *pool) removeWaiter(w *Waiter) {
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
	for w != nil && (!w.pausing && !w.yielding || w.Try) {
		w = p.asking.next(w)
	}
	if w == nil {
		w = p.waiting.first
	}
	if w == nil || !h.cohort.mayReuseLease(from.Policy(), w.Policy, now, from) {
		return false
	}
	p.removeWaiter(w)
	w.inherit, w.slot, w.cohort = from, int(h.slot), h.cohort.next()
	turn := Wakeup{Action: Inherit, Lock: from, cohort: w.cohort}
	if w.hasTurn {
		w.nudge()
	} else {
		w.wakeups <- turn
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

func (p *pool) heldError() error { return p.all.heldError(p.key.names, p.kind) }

func (p *pool) waitReason(*Waiter) error {
	if p.holds == p.key.slots {
		return p.heldError()
	}
	return p.reason
}

func (p *pool) subscribed() *Subscription { return &p.subscription }

// leave removes a waiter that gives up.
func (p *pool) leave(w *Waiter) effects {
	p.removeWaiter(w)
	if w.inherit == nil {
		p.slots.refuse(w.slot)
	}
	p.endYielding()
	if w.asked && !w.Try {
		p.nudgeAsking() // a release may have woken w only
	}
	p.giveTurns()
	e := p.clean()
	e.release, w.inherit = w.inherit, nil
	return e
}

// failed records why an attempt failed.
func (p *pool) failed(w *Waiter, err error, _ bool) effects {
	p.reason, p.maxAsking, w.denied = err, 1, true
	p.failTryLocks(err)
	return effects{}
}

// granted records that a waiter has a permit, granted or inherited.
func (p *pool) granted(w *Waiter, h *Hold, c cohort) effects {
	p.removeWaiter(w)
	*h = Hold{pool: p, cohort: c, slot: int32(w.slot)}
	if w.asked && (w.inherit != nil || w.denied || len(w.nudges) > 0) {
		p.nudgeAsking() // a release of another permit may have woken w only, or may have been found by its probe only
	}
	if w.inherit == nil {
		p.holds++
	}
	w.inherit, w.slot, p.reason = nil, 0, nil
	if !w.denied {
		p.maxAsking = min(2*p.maxAsking, p.key.slots)
	}
	if p.holds == p.key.slots {
		p.failTryLocks(p.heldError())
	}
	p.giveTurns()
	return p.clean()
}

// released records that a permit was released.
func (p *pool) released(h *Hold, now time.Time) effects {
	p.holds--
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
		if w.yielding && p.inShare(permits) {
			w.yielding = false
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
	return e
}
