package waitqueue

import "fmt"

// state is the state of a caller.
type state uint8

const (
	outside  state = iota // it has not called yet
	waiting               // it waits for its turn
	yielding              // it may ask, and lets other processes ask first
	asking                // it asks the masters
	probing               // it watches, after a failure: it finds out who holds the lock
	pausing               // it watches: it waits for a release, or for the back-off, before it asks again
	given                 // it was given the lease of a lock, which it has not taken yet
	gone                  // it has the lock or an error, or has given up
	states
)

// event changes the state of a caller.
type event uint8

const (
	call   event = iota // it calls
	ask                 // it is to ask the masters: it may, or its yielding or its pause is over
	yield               // it may ask, and must yield first
	watch               // it has the turn, and failed since the last news
	pause               // it knows how long to wait
	failed              // its attempt failed
	give                // it is given a lease
	take                // it has the lock
	refuse              // its TryLock gets an error
	leave               // it gives up
	events
)

// transitions has the state that follows a state and an event. The events that it omits for a state cannot occur in it.
var transitions = [states][events]state{
	outside:  {call: waiting, refuse: gone},
	waiting:  {ask: asking, yield: yielding, watch: probing, give: given, refuse: gone, leave: gone},
	yielding: {ask: asking, give: given, leave: gone},
	asking:   {failed: waiting, take: gone, leave: gone},
	probing:  {pause: pausing, leave: gone},
	pausing:  {ask: asking, give: given, leave: gone},
	given:    {take: gone, leave: gone},
}

// after returns the state that follows s and e. It panics if the event cannot occur in the state.
func (s state) after(e event) state {
	next := transitions[s][e]
	if next == outside {
		panic(fmt.Sprintf("waitqueue: event %v in state %v", e, s))
	}
	return next
}

func (s state) String() string {
	return [states]string{"outside", "waiting", "yielding", "asking", "probing", "pausing", "given", "gone"}[s]
}

func (e event) String() string {
	return [events]string{
		"call", "ask", "yield", "watch", "pause", "failed", "give", "take", "refuse", "leave",
	}[e]
}
