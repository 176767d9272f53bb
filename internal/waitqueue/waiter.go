package waitqueue

import "time"

// Waiter is one caller in its queue. Its methods are for the caller's goroutine.
type Waiter struct {
	Request

	queue *queue
	wake  chan struct{} // of size 1: the state has changed; nil until the caller has to wait

	// Queues.mu guards the fields below.
	state     state
	turn      bool             // it has one of queue.turns; a caller that asks aside has none
	again     bool             // it is to ask once more after its present attempt
	asked     uint64           // queue.news when its last attempt began; 0: none has
	waitUntil time.Time        // yielding, pausing: when that is over
	err       error            // of a TryLock that failed
	inherit   Lock             // given: the lock whose lease it was given
	cohort    cohort           // the cohort that continues with the inherited lease, or with the next grant
	slot      int              // of a semaphore: the slot that it asks for or inherits; 0: none
	links     [listRoles]links // in the lists of the queue
}

// Instruction is what a caller is to do.
type Instruction struct {
	Action Action
	After  time.Duration // of Wait: for how long at most; 0: until it is woken
	Lock   Lock          // of Inherit
	Err    error         // of Fail; of Probe: why the last attempt failed
}

// Action is what a caller is to do.
type Action uint8

const (
	// Wait until Woken receives or After is over, and call Next.
	Wait Action = iota
	// Ask the masters, and call Granted, Failed or Leave.
	Ask
	// Probe finds out who holds the lock, and calls Pause.
	Probe
	// Inherit the lease of a lock of this process, and call Inherited.
	Inherit
	// Fail with an error; only a TryLock does.
	Fail
)

// Next returns what the caller is to do now.
func (w *Waiter) Next() (do Instruction) {
	w.locked(func(*queue) { do = w.instruction() })
	return do
}

// Woken returns the channel that receives when Next has changed. Nothing else wakes a caller. It is nil until the
// caller was told to wait.
func (w *Waiter) Woken() <-chan struct{} { return w.wake }

// instruction returns what the caller is to do. It ends a yielding or a pause whose time is over, and makes the channel
// that wakes the caller before the caller first waits.
func (w *Waiter) instruction() (do Instruction) {
	if w.state == yielding || w.state == pausing {
		if do.After = max(0, w.waitUntil.Sub(w.queue.all.Now())); do.After == 0 {
			w.ask()
		}
	}
	switch w.state {
	case asking:
		do.Action = Ask
	case probing:
		do.Action, do.Err = Probe, w.queue.reason
	case given:
		do.Action, do.Lock = Inherit, w.inherit
	case gone:
		do.Action, do.Err = Fail, w.err
	}
	select {
	case <-w.wake: // no longer news
	default:
	}
	if do.Action == Wait && w.wake == nil {
		w.wake = make(chan struct{}, 1)
	}
	return do
}

// apply changes the state of the caller, and wakes the caller.
func (w *Waiter) apply(e event) {
	w.queue.in[w.state]--
	w.state = w.state.after(e)
	w.queue.in[w.state]++
	select {
	case w.wake <- struct{}{}: // never if it is nil
	default:
	}
}

// ask makes the caller ask.
func (w *Waiter) ask() {
	w.apply(ask)
	w.asked, w.again = w.queue.news, false
}

// Leave removes a waiter that gives up from its queue. If the waiter was given a lease in the meantime, Leave releases
// the lock. Leave does nothing if the waiter has acquired the lock or has failed.
func (w *Waiter) Leave() { w.queue.do(func(q *queue) effects { return q.leave(w) }) }

// Failed records why an attempt of the waiter failed, and returns what the waiter is to do. denied reports whether
// the masters denied the attempt. If not, Failed publishes a release that was silent: waiters in other
// processes would get no message otherwise.
func (w *Waiter) Failed(err error, denied bool) (next Instruction) {
	w.queue.do(func(q *queue) effects {
		e := q.failed(w, err, denied)
		next = w.instruction()
		return e
	})
	return next
}

// Pause records for how long the waiter pauses after it has probed, and returns what it is to do. If the last attempt
// of its queue was denied, a release message ends the pause. After any other failure a release message does not help:
// callers whose attempts fail publish the releases of what they were granted, and would wake each other without end.
func (w *Waiter) Pause(d time.Duration) (next Instruction) {
	w.queue.do(func(q *queue) effects {
		w.waitUntil = q.all.Now().Add(d)
		w.apply(pause)
		e := q.advance()
		next = w.instruction()
		return e
	})
	return next
}

// Granted records that the masters granted the lock, which they were asked for at the given time. It removes the waiter
// from its queue. The TryLocks that wait fail if this process has all of the lock. Granted initializes hold.
func (w *Waiter) Granted(hold *Hold, asked, now time.Time) {
	w.queue.do(func(q *queue) effects { return q.granted(w, hold, w.cohort.granted(asked, now)) })
}

// Inherited is Granted for a lock that took the lease of another one, whose cohort continues.
func (w *Waiter) Inherited(hold *Hold) {
	w.queue.do(func(q *queue) effects { return q.granted(w, hold, w.cohort) })
}

// OwnersHold makes the waiting callers of some owners of the reentrant lock ask the masters, since the owners may hold
// it.
func (w *Waiter) OwnersHold(owners []string) {
	w.locked(func(q *queue) {
		for _, owner := range owners {
			q.ownerHolds(owner)
		}
	})
}

// Listen subscribes the waiter's queue to the releases of the lock, unless it is subscribed already. The subscription
// ends when the queue has no waiters any more.
func (w *Waiter) Listen() {
	w.locked(func(q *queue) {
		if q.subscription == nil {
			q.subscription = q.all.Listen(w.Names, q.messages)
		}
	})
}

// Subscription returns the subscription of the waiter's queue; nil if there is none.
func (w *Waiter) Subscription() (s Subscription) {
	w.locked(func(q *queue) { s = q.subscription })
	return s
}

// Reason returns why the waiter waits; nil if that is not known yet.
func (w *Waiter) Reason() (why error) {
	w.locked(func(q *queue) {
		if why = q.reason; q.holds >= q.width {
			why = q.heldError(w.Names)
		}
	})
	return why
}

// ChooseSlot chooses the slot of a semaphore that the waiter asks for next: one of the candidates, or any slot if
// candidates is nil. An empty list has no slot. It returns 0 if callers of this process hold or ask for all of them.
func (w *Waiter) ChooseSlot(candidates []int) int {
	w.locked(func(q *queue) { w.slot = q.slots.choose(candidates) })
	return w.slot
}

// RefuseSlot records that the masters did not grant the slot of the waiter's last ChooseSlot.
func (w *Waiter) RefuseSlot() {
	w.locked(func(q *queue) { q.slots.refuse(w.slot); w.slot = 0 })
}

// locked calls f with Queues.mu held.
func (w *Waiter) locked(f func(q *queue)) {
	w.queue.all.mu.Lock()
	defer w.queue.all.mu.Unlock()
	f(w.queue)
}
