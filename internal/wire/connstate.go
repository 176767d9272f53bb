package wire

import "fmt"

// connState is the state of a pipe's connection to its master. Exactly connFresh and connProven have a link.
//
//	none --dial--> dialing --made--> fresh --answered--> proven
//	none --adopted--> fresh
//
//	dialing --failed--> none      fresh, proven --ended--> none      proven --answered--> proven
//
// In each state but connDialing there may be a successor. [core.connectionEnded] decides what an end shows of the
// master. The end of the pipe changes no state.
type connState uint8

const (
	connNone    connState = iota // there is none
	connDialing                  // the driver makes one
	connFresh                    // no answer was read from it
	connProven                   // an answer was read from it

	connStates
)

// connEvent is what happens to a pipe's connection.
type connEvent uint8

const (
	connDial     connEvent = iota // the driver begins to make a connection
	connFailed                    // it has made none, or the pipe was closed meanwhile
	connMade                      // it has made one
	connAdopted                   // the successor became it: what that carried as the spare connection does not count
	connAnswered                  // the master answered over it, and it goes on
	connEnded                     // it ended, perhaps after answers that were received together with the end

	connEvents
)

// connTransitions has the state that follows each state at each event that can happen in it.
var connTransitions = [connStates]map[connEvent]connState{
	connNone:    {connDial: connDialing, connAdopted: connFresh},
	connDialing: {connFailed: connNone, connMade: connFresh},
	connFresh:   {connAnswered: connProven, connEnded: connNone},
	connProven:  {connAnswered: connProven, connEnded: connNone},
}

// on changes the state by an event. It panics if the event cannot happen in the state.
func (s *connState) on(e connEvent) {
	next, ok := connTransitions[*s][e]
	if !ok {
		panic(fmt.Sprintf("redlock: connection event %v in state %v", e, *s))
	}
	*s = next
}

func (s connState) String() string {
	return [connStates]string{"none", "dialing", "fresh", "proven"}[s]
}

func (e connEvent) String() string {
	return [connEvents]string{"dial", "failed", "made", "adopted", "answered", "ended"}[e]
}
