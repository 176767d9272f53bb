package waitqueue

import (
	"fmt"
	"slices"
	"time"
)

// Waiter is one caller in its queue. Its methods are for the caller's goroutine.
type Waiter struct {
	Request

	queue *queue
	wake  chan struct{} // of size 1: the state has changed; nil until the caller has to wait. Made with mu locked

	// Queues.mu guards the fields below.
	state     state
	turn      bool      // it has one of queue.turns; a caller that asks out of turn has none
	slot      int32     // of a semaphore: the slot that it asks for or inherits; 0: none
	seen      uint64    // queue.news when its last attempt began; 0: it has not asked yet, or must ask once more
	waitUntil time.Time // yielding, pausing: when that is over
	err       error     // of a TryLock that failed
	from      Lock      // given: the lock whose lease it was given
	cohort    cohort    // the cohort that its next lock continues; zero: none
	links     links     // in queue.callers
}

// Instruction is what a caller is to do.
type Instruction struct {
	Action Action
	After  time.Duration // of Wait: for how long at most; 0: until it is woken
	Lock   Lock          // of Inherit
	Err    error         // of Fail; of Probe: why the last attempt failed
}

// Action is what a caller is to do. It may call Leave instead.
type Action uint8

const (
	// Wait until Woken receives or After is over; then call Next.
	Wait Action = iota
	// Ask the masters; then call Granted or Failed.
	Ask
	// Probe who holds the lock; then call Pause.
	Probe
	// Inherit the lease of Lock; then call Inherited.
	Inherit
	// Fail with Err; only a TryLock gets it.
	Fail
)

// Next returns what the caller is to do now. It ends a yielding or a pause whose time is over.
func (w *Waiter) Next() (next Instruction) {
	w.handle(func(q *queue) {
		if w.state == yielding || w.state == pausing {
			if next.After = max(0, w.waitUntil.Sub(q.all.Now())); next.After == 0 {
				w.ask()
			}
		}
		switch w.state { // in the other states: Wait
		case asking:
			next.Action = Ask
		case probing:
			next.Action, next.Err = Probe, q.reason
		case given:
			next.Action, next.Lock = Inherit, w.from
		case gone:
			next.Action, next.Err = Fail, w.err
		}
		select {
		case <-w.wake: // the caller learns the state now
		default:
		}
		if next.Action == Wait && w.wake == nil {
			w.wake = make(chan struct{}, 1)
		}
	})
	return next
}

// Woken returns a channel on which the caller receives when Next may return another instruction. It is nil until Next
// has returned Wait.
func (w *Waiter) Woken() <-chan struct{} { return w.wake }

// Leave removes a waiter from its queue, because its caller gives up. If the waiter was given a lease in the meantime,
// Leave releases the lock. Leave does nothing if the waiter has acquired the lock or must Fail.
func (w *Waiter) Leave() {
	w.handle(func(q *queue) {
		if w.state == gone {
			return
		}
		if w.from != nil {
			q.all.after(w.from.Release)
		} else if w.slot > 0 {
			q.slots.giveBack(int(w.slot))
		}
		q.remove(w, gone)
		q.advance()
	})
}

// Failed returns a waiter to the line after an attempt that failed with err. The waiter must not be a TryLock. The
// TryLocks in the line fail with err, too, since they must not overtake the waiter. denied reports whether masters
// denied the attempt. Failed publishes a silent release, even after a denial: the contender that caused it may not have
// got a majority either, and then would publish nothing.
func (w *Waiter) Failed(err error, denied bool) {
	w.handle(func(q *queue) {
		w.cohort = cohort{}
		w.become(waiting)
		if w.turn || q.watcher == nil { // an attempt out of turn does not decide how the watcher waits
			q.reason, q.denied = err, denied
		}
		q.endTurn(w)
		q.limit = 1
		q.failTryLocks(err)
		q.publishSilent()
		if w.seen == 0 { // the owner may have got the lock since the attempt began; see ownersHold
			q.askOutOfTurn(w)
		}
		q.advance()
	})
}

// Pause records for how long the waiter pauses after it has probed. Urgent news ends the pause; see queue.advance.
func (w *Waiter) Pause(d time.Duration) {
	w.handle(func(q *queue) {
		w.waitUntil = q.all.Now().Add(d)
		w.become(pausing)
		q.advance()
	})
}

// Granted records that the masters, asked at asked, granted the lock. It initializes hold, and removes the waiter from
// its queue. The TryLocks that wait fail if this process has all of the lock now.
func (w *Waiter) Granted(hold *Hold, asked, now time.Time) {
	w.handle(func(q *queue) { q.acquired(w, hold, w.cohort.granted(asked, now)) })
}

// Inherited is Granted for a lock that took the lease of another one, whose cohort continues.
func (w *Waiter) Inherited(hold *Hold) {
	w.handle(func(q *queue) { q.acquired(w, hold, w.cohort) })
}

// OwnersHold makes the callers of some owners of the reentrant lock ask the masters, since the owners may hold it.
func (w *Waiter) OwnersHold(owners []string) {
	w.handle(func(q *queue) { q.ownersHold(owners) })
}

// Listen subscribes the waiter's queue to the releases of the lock, unless it is subscribed already.
func (w *Waiter) Listen() {
	w.handle(func(q *queue) {
		if q.subscription == nil {
			q.subscription = q.all.Listen(w.Names, q.onMessage)
		}
	})
}

// Subscription returns the subscription of the waiter's queue; nil if there is none.
func (w *Waiter) Subscription() (s Subscription) {
	w.handle(func(q *queue) { s = q.subscription })
	return s
}

// Reason returns why the waiter waits; nil if that is not known yet.
func (w *Waiter) Reason() (why error) {
	w.handle(func(q *queue) {
		if why = q.reason; q.holds >= q.width {
			why = q.heldError(w.Names)
		}
	})
	return why
}

// ChooseSlot chooses the slot of a semaphore that the waiter asks for next: one of the candidates, or any slot if there
// are none. It returns 0 if callers of this process hold or ask for all of them.
func (w *Waiter) ChooseSlot(candidates []int) (slot int) {
	w.handle(func(q *queue) { slot = q.slots.choose(candidates); w.slot = int32(slot) })
	return slot
}

// RefuseSlot records that the waiter did not get the slot of its last ChooseSlot.
func (w *Waiter) RefuseSlot() {
	w.handle(func(q *queue) { q.slots.refuse(int(w.slot)); w.slot = 0 })
}

// become changes the state of the caller, and wakes the caller. It panics if s cannot follow the state.
func (w *Waiter) become(s state) {
	if !slices.Contains(successors[w.state], s) {
		panic(fmt.Sprintf("waitqueue: %v follows %v", s, w.state))
	}
	w.queue.count(w, -1)
	w.state = s
	w.queue.count(w, 1)
	select {
	case w.wake <- struct{}{}: // never if it is nil
	default:
	}
}

// ask changes the state to asking. The attempt begins after all news so far.
func (w *Waiter) ask() {
	w.become(asking)
	w.seen = w.queue.news
}

func (w *Waiter) handle(f func(q *queue)) { w.queue.all.handle(func() { f(w.queue) }) }
