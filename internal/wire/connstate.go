package wire

import "fmt"

// connState is the state of a pipe's connection to its master. Exactly connFresh, connProven and connSilent have a
// link.
type connState uint8

const (
	connNone    connState = iota // there is no connection, and nobody makes one
	connDialing                  // the driver makes one
	connFresh                    // it has answered the driver nothing yet. If it ends, the master becomes suspect
	connProven                   // it has carried an answer. If it ends, the next one carries the calls
	connSilent                   // it is proven, and the master is suspect because it has been silent since

	connStates
	impossible // follows a state at an event that cannot happen in it
)

// connEvent is what happens to a pipe's connection.
type connEvent uint8

const (
	connDial     connEvent = iota // the driver begins to make a connection
	connFailed                    // it could not, or the pipe was closed meanwhile
	connMade                      // it has made one
	connAdopted                   // the spare connection became the main one
	connAnswered                  // the master answered over it
	connSilenced                  // the master became suspect, because it was silent
	connEnded                     // it ended

	connEvents
)

// connTransitions has the state that follows each state at each event. A call may find the master silent while there is
// no connection, or a fresh one: neither changes by that.
var connTransitions = [connStates][connEvents]connState{
	connNone: {
		connDial: connDialing, connAdopted: connFresh, connSilenced: connNone,
		connFailed: impossible, connMade: impossible, connAnswered: impossible, connEnded: impossible,
	},
	connDialing: {
		connFailed: connNone, connMade: connFresh, connSilenced: connDialing,
		connDial: impossible, connAdopted: impossible, connAnswered: impossible, connEnded: impossible,
	},
	connFresh: {
		connAnswered: connProven, connSilenced: connFresh, connEnded: connNone,
		connDial: impossible, connFailed: impossible, connMade: impossible, connAdopted: impossible,
	},
	connProven: {
		connAnswered: connProven, connSilenced: connSilent, connEnded: connNone,
		connDial: impossible, connFailed: impossible, connMade: impossible, connAdopted: impossible,
	},
	connSilent: {
		connAnswered: connProven, connEnded: connNone,
		connSilenced: impossible, // a suspect master does not become suspect
		connDial:     impossible, connFailed: impossible, connMade: impossible, connAdopted: impossible,
	},
}

// on changes the state by an event. It panics if the event cannot happen in the state.
func (s *connState) on(e connEvent) {
	next := connTransitions[*s][e]
	if next == impossible {
		panic(fmt.Sprintf("redlock: connection event %v in state %v", e, *s))
	}
	*s = next
}

func (s connState) String() string {
	return [connStates]string{"none", "dialing", "fresh", "proven", "silent"}[s]
}

func (e connEvent) String() string {
	return [connEvents]string{"dial", "failed", "made", "adopted", "answered", "silenced", "ended"}[e]
}
