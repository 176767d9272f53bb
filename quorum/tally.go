package quorum

import (
	"errors"

	"github.com/redlock-go/redlock/node"
)

// ErrSameServer: two nodes are one server under two names, whose vote counts once.
var ErrSameServer = errors.New("this is the same server as another of the masters: give every master its own address")

// state is what a tally says so far.
type state uint8

const (
	open state = iota
	won        // a majority granted
	lost       // no majority can grant any more
)

// tally counts the votes of one round. It is plain arithmetic: no lock, no clock, no goroutine.
type tally struct {
	votes []node.Vote // by seat; unknown, as the zero Vote is, until one comes
	voted []bool
	need  int

	granted, denied, silent int // silent: failed or unknown

	twins   [][2]int // the seats from which one server answered
	fencing bool     // grants carry fencing tokens
}

func newTally(seats, need int) tally {
	return tally{votes: make([]node.Vote, seats), voted: make([]bool, seats), need: need}
}

// add counts a vote and returns the state after it. A server that has voted already is not counted again.
func (t *tally) add(seat int, v node.Vote) state {
	if twin := t.twin(seat, v.RunID()); twin >= 0 {
		t.twins = append(t.twins, [2]int{min(twin, seat), max(twin, seat)})
		if overrules(v, t.votes[twin]) {
			t.count(t.votes[twin].Verdict, -1)
			t.votes[twin] = sameServer(t.votes[twin])
			t.count(node.Failed, 1)
		} else {
			v = sameServer(v)
		}
	}
	t.votes[seat], t.voted[seat] = v, true
	t.count(v.Verdict, 1)
	return t.state()
}

// overrules says which of two votes of one server counts, whichever arrived first. It got the same SET twice and granted one of
// them: the grant. It was extended twice, and the first put the key back: that it was gone.
func overrules(v, other node.Vote) bool {
	healed := func(v node.Vote) bool { return v.Verdict == node.Denied && v.Healed }
	return healed(v) || v.Verdict == node.Granted && other.Verdict == node.Denied && !healed(other)
}

// twin finds the seat from which the server with this run id has voted already, -1 if there is none.
func (t *tally) twin(seat int, runID string) int {
	if runID == "" {
		return -1
	}
	for i := range t.votes {
		if i != seat && t.votes[i].RunID() == runID && t.votes[i].Verdict.Answered() {
			return i
		}
	}
	return -1
}

func sameServer(v node.Vote) node.Vote {
	v.Verdict, v.Err = node.Failed, ErrSameServer
	return v
}

func (t *tally) count(v node.Verdict, by int) {
	switch v {
	case node.Granted:
		t.granted += by
	case node.Denied:
		t.denied += by
	default:
		t.silent += by
	}
}

func (t *tally) state() state {
	switch {
	case t.granted >= t.need:
		return won
	case len(t.votes)-t.denied-t.silent < t.need:
		return lost
	default:
		return open
	}
}

// decided: won; or lost, and also why, to another or for want of answers. A loss is a loss whatever comes, but its reason
// would otherwise hang on which vote happened to come first.
func (t *tally) decided() bool {
	switch t.state() {
	case won:
		return !t.fencing || t.settled()
	case lost:
		return t.answered() || len(t.votes)-t.silent < t.need || t.complete()
	default:
		return false
	}
}

// clear: a majority says one thing.
func (t *tally) clear() bool { return t.granted >= t.need || t.denied >= t.need }

// denial is the vote of a node that denied; of several, the one whose holder stays longest, as far as they told.
func (t *tally) denial() (longest node.Vote) {
	for _, v := range t.votes {
		if v.Verdict == node.Denied && (longest.Verdict != node.Denied || v.Wait > longest.Wait) {
			longest = v
		}
	}
	return longest
}

// complete: every node has voted.
func (t *tally) complete() bool { return t.granted+t.denied+t.silent == len(t.votes) }

// held: somebody denied, and a majority has answered.
func (t *tally) held() bool { return t.denied > 0 && t.answered() }

// answered: a majority of the nodes has said so themselves.
func (t *tally) answered() bool { return t.granted+t.denied >= t.need }

// gone: a majority said no.
func (t *tally) gone() bool { return t.denied >= t.need }
