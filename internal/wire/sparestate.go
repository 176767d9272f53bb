package wire

import "fmt"

// spareState is the state of the spare connection and its goroutine. Exactly spareLinked, spareProving and spareSending
// have a link. spareSending has calls in spare.sent; the other states have none.
//
//	none --start--> unlinked --dial--> dialing --made--> linked --prove--> proving --refuted--> linked
//	                                                            --send---> sending --settled--> linked
//
//	dialing --failed--> none      unlinked, linked --rest--> none      linked --redial--> dialing
//	proving --proved--> unlinked  sending --ended--> unlinked         sending --answered--> sending
//
// The end of the pipe closes the link and changes no state: the goroutine rests at its next event.
//
// A proof that becomes due while a batch is sent waits for its replies, at most spare.timeout after the last one.
type spareState uint8

const (
	spareNone     spareState = iota // there is no goroutine
	spareUnlinked                   // the goroutine decides what to do, without a connection
	spareDialing                    // it makes a connection
	spareLinked                     // it decides what to do with the connection
	spareProving                    // it waits whether the main connection stays silent
	spareSending                    // it sends a batch, or waits for replies to it

	spareStates
)

// spareEvent is what happens to the spare connection.
type spareEvent uint8

const (
	spareStart    spareEvent = iota // something is due
	spareRest                       // nothing is due any more, or the pipe was closed
	spareDial                       // a connection is needed
	spareRedial                     // one is needed that was made after the main connection became silent
	spareFailed                     // no connection was made, or the pipe was closed meanwhile
	spareMade                       // one was made
	spareProve                      // a proof is due
	spareProved                     // the main connection is still silent: the spare one became its successor
	spareRefuted                    // the main connection is not silent, has ended or was replaced, or the pipe was closed
	spareSend                       // calls are due
	spareAnswered                   // some calls have no answer yet, and the connection goes on
	spareSettled                    // all calls have one, and the connection goes on
	spareEnded                      // the connection ended, or was closed: it was silent, or a reply was malformed

	spareEvents
)

// spareTransitions has the state that follows each state at each event that can happen in it.
var spareTransitions = [spareStates]map[spareEvent]spareState{
	spareNone:     {spareStart: spareUnlinked},
	spareUnlinked: {spareRest: spareNone, spareDial: spareDialing},
	spareDialing:  {spareFailed: spareNone, spareMade: spareLinked},
	spareLinked: {
		spareRest: spareNone, spareRedial: spareDialing, spareProve: spareProving, spareSend: spareSending,
	},
	spareProving: {spareProved: spareUnlinked, spareRefuted: spareLinked},
	spareSending: {spareAnswered: spareSending, spareSettled: spareLinked, spareEnded: spareUnlinked},
}

// on changes the state by an event. It panics if the event cannot happen in the state.
func (s *spareState) on(e spareEvent) {
	next, ok := spareTransitions[*s][e]
	if !ok {
		panic(fmt.Sprintf("redlock: spare connection event %v in state %v", e, *s))
	}
	*s = next
}

func (s spareState) String() string {
	return [spareStates]string{"none", "unlinked", "dialing", "linked", "proving", "sending"}[s]
}

func (e spareEvent) String() string {
	return [spareEvents]string{
		"start", "rest", "dial", "redial", "failed", "made", "prove", "proved", "refuted", "send", "answered", "settled",
		"ended",
	}[e]
}
