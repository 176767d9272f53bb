package waitqueue

import "fmt"

// phase is the state of a queue.
type phase uint8

const (
	illegal phase = iota
	// idle is the phase of an empty queue for a lock that this process does not hold.
	idle
	// asking: this process does not hold the lock, and the head has the turn to ask the masters.
	asking
	// denied is asking after the head's last attempt failed. A TryLock fails at once, with the same error.
	denied
	// held: this process holds the lock, and no waiter has the turn. One owner may hold a reentrant lock several times.
	held
	// ending is held after the newest holder lost the lock, which is about to be released. A TryLock waits.
	ending
	// passing: the holder has given its lease to the head, which has not taken it yet.
	passing
	// overlapping: this process holds a reentrant lock although the head has the turn, because a waiter of the lock's
	// owner asked without the turn. No TryLock is in such a queue.
	overlapping

	phases
)

// event changes the phase of a queue.
type event uint8

const (
	joined       event = iota // a waiter joined the queue
	left                      // a waiter without the turn gave up
	headLeft                  // the head gave up while it had the turn
	failed                    // the head's attempt failed
	granted                   // the head acquired the lock
	grantedAside              // a waiter without the turn acquired a reentrant lock
	lost                      // the newest holder lost the lock
	passed                    // the holder gave its lease to the head
	released                  // the last holder released the lock

	events
)

// transitions has the phase that follows a phase and an event, if waiters remain. The events that it omits for a phase
// cannot occur.
var transitions = [phases][events]phase{
	idle: {joined: asking},
	asking: {
		joined: asking, left: asking, headLeft: asking,
		failed: denied, granted: held, grantedAside: overlapping,
	},
	denied: {
		joined: denied, left: denied, headLeft: asking,
		failed: denied, granted: held, grantedAside: overlapping,
	},
	held: {
		joined: held, left: held, grantedAside: held,
		lost: ending, passed: passing, released: asking,
	},
	ending: {
		joined: ending, left: ending, grantedAside: held,
		lost: ending, released: asking,
	},
	passing: {
		joined: passing, left: passing, headLeft: held, granted: held,
	},
	overlapping: {
		joined: overlapping, left: overlapping, headLeft: held,
		failed: overlapping, granted: held, grantedAside: overlapping,
		lost: overlapping, released: asking,
	},
}

// transition returns the phase that follows p and e. waiting reports whether the queue has waiters after the event.
// It panics if the event cannot occur in the phase.
func transition(p phase, e event, waiting bool) phase {
	next := transitions[p][e]
	switch {
	case next == illegal:
		panic(fmt.Sprintf("waitqueue: event %v in phase %v", e, p))
	case next == asking && !waiting:
		return idle
	}
	return next
}

func (p phase) String() string {
	return [phases]string{
		"illegal", "idle", "asking", "denied", "held", "ending", "passing", "overlapping",
	}[p]
}

func (e event) String() string {
	return [events]string{
		"joined", "left", "headLeft", "failed", "granted", "grantedAside", "lost", "passed", "released",
	}[e]
}
