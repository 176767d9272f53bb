package waitqueue

import "time"

// Request is the lock that a caller wants, and how the caller waits for it.
type Request struct {
	Key   Key
	Names []string // the names that Key stands for
	Kind  string   // the kind of lock, for errors
	Owner string   // the owner of a reentrant lock; "" for every other kind
	// Holder names the caller, for the errors of others.
	Holder string

	// Width is how many callers may hold the lock at the same time if each of them asks the masters for itself: the
	// number of slots of a semaphore, or Unbounded for readers; 0 for every other kind.
	Width int

	Try    bool // a TryLock: it does not wait for a lock that is held
	Alone  bool // the caller waits in a queue of its own
	Policy Policy
}

// Waiter is one caller in a queue.
type Waiter struct {
	Request

	all     *Queues
	line    line
	wakeups chan Wakeup
	nudges  chan struct{}

	// Queues.mu guards the fields below.
	hasTurn bool
	inherit Lock   // the lock whose lease the waiter was given; nil: none
	cohort  cohort // the cohort that continues if the masters grant the next attempt
	links   [listRoles]links

	// Only the waiters of a pool use these.

	place   place
	number  uint64 // its place in the order of the calls
	watches bool   // it has the turn, and watches: a release wakes it
	asked   bool   // it has the turn, and watches or has begun to ask for a permit
	slot    int    // the slot that it asks for; 0: none
}

// Wakeup ends a waiter's wait in its queue.
type Wakeup struct {
	Action Action
	Delay  time.Duration // of Ask: how long to wait before
	Lock   Lock          // of Inherit
	Err    error         // of Fail; of Watch: why the last attempt failed
	cohort cohort        // of Ask and Inherit: the cohort that continues
}

// Action is what a waiter does after its wake-up.
type Action uint8

const (
	_ Action = iota
	// Ask the masters.
	Ask
	// Watch waits until a release is published, for the back-off at most, and then asks the masters.
	Watch
	// Inherit the lease of a lock of this process, and call Inherited.
	Inherit
	// Fail with an error; only a TryLock does.
	Fail
)

// Wakeups returns the channel that receives the waiter's wake-up: once, and once after each call of Failed.
func (w *Waiter) Wakeups() <-chan Wakeup { return w.wakeups }

// Nudges returns the channel that receives when the waiter's owner may hold the reentrant lock. The waiter then asks
// the masters even without the turn. For a semaphore it receives when [Waiter.Resume] has a lease, when a caller of
// this process has released a permit, when another caller may have used up a release message, or when the waiter need
// not yield any longer. For other kinds of locks it is nil.
func (w *Waiter) Nudges() <-chan struct{} { return w.nudges }

// Listen subscribes the waiter's queue to the releases of the lock, unless it is subscribed already. The subscription
// ends when the queue has no waiters any more.
func (w *Waiter) Listen() {
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	if s := w.line.subscribed(); *s == nil {
		*s = w.all.listen(w.Names)
	}
}

// Subscription returns the subscription of the waiter's queue; nil if there is none.
func (w *Waiter) Subscription() Subscription {
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	return *w.line.subscribed()
}

// Reason returns why the queue waits; nil if that is not known yet.
func (w *Waiter) Reason() error {
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	return w.line.waitReason(w)
}

// Leave removes a waiter that gives up from its queue. If the waiter was given a lease in the meantime, Leave releases
// the lock. Leave does nothing if the waiter has acquired the lock or has failed.
func (w *Waiter) Leave() {
	w.all.mu.Lock()
	effects := w.line.leave(w)
	w.all.mu.Unlock()
	effects.run()
}

// Failed records why an attempt of the waiter failed, and ends its turn. One waiter of the queue gets a turn to watch,
// the first in the order of the calls; it may be the same. The TryLocks in the queue fail with the same error, since
// they must not overtake the head. If the lock is not held elsewhere, Failed publishes a release that was silent:
// waiters in other processes would get no message otherwise.
func (w *Waiter) Failed(err error, heldElsewhere bool) {
	w.all.mu.Lock()
	effects := w.line.failed(w, err, heldElsewhere)
	w.all.mu.Unlock()
	effects.run()
}

// Granted records that the masters granted the lock, which they were asked for at the given time. It removes the waiter
// from its queue. The TryLocks in the queue fail. Granted initializes hold.
func (w *Waiter) Granted(hold *Hold, asked, now time.Time) {
	w.all.mu.Lock()
	effects := w.line.granted(w, hold, w.cohort.granted(asked, now))
	w.all.mu.Unlock()
	effects.run()
}

// Inherited is Granted for a lock that took the lease of another one.
func (w *Waiter) Inherited(hold *Hold) {
	w.all.mu.Lock()
	effects := w.line.granted(w, hold, w.cohort)
	w.all.mu.Unlock()
	effects.run()
}

// Pause records that a waiter for a semaphore, which has the turn, does not ask the masters before Resume. Until then,
// another caller of this process may pass its lease to the waiter.
func (w *Waiter) Pause() {
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	w.place = pausing
}

// Resume ends a Pause, or the yielding before the first attempt. If the waiter was given the lease of a lock, Resume
// returns that lock, and the waiter must call Inherited.
func (w *Waiter) Resume() (inherited Lock) {
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	if w.place != given {
		w.place = calling
	}
	return w.inherit
}

// ChooseSlot chooses the slot of a semaphore that the waiter asks for next: one of the candidates, or any slot if
// candidates is nil. It returns 0 if callers of this process hold or ask for all of them.
func (w *Waiter) ChooseSlot(candidates []int) int {
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	w.asked, w.slot = true, w.line.(*pool).slots.choose(candidates)
	return w.slot
}

// RefuseSlot records that the masters did not grant the slot of the waiter's last ChooseSlot.
func (w *Waiter) RefuseSlot() {
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	w.line.(*pool).slots.refuse(w.slot)
	w.slot = 0
}
