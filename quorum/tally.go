package quorum

import "github.com/redlock-go/redlock/internal/wire"

// state is the state of a round.
type state uint8

const (
	open state = iota
	won        // a majority granted
	lost       // a majority can no longer grant
)

// tally counts the votes of one round. It is plain arithmetic: no lock, no clock, no goroutine.
type tally struct {
	votes []wire.Vote // by node; the zero Vote before the node has voted
	need  int

	granted, denied, unanswered int // unanswered: failed or unknown

	duplicates [][2]int // pairs of nodes that are one server
}

// add counts a vote. A server that has voted already is not counted again.
func (t *tally) add(index int, v *wire.Vote) {
	t.votes[index] = *v
	if other := t.duplicateOf(index); other >= 0 {
		t.addDuplicate(index, other)
	}
	t.count(t.votes[index].Verdict, 1)
}

// addDuplicate makes only one of the two votes of one server count. The vote at index is not counted yet.
func (t *tally) addDuplicate(index, other int) {
	t.duplicates = append(t.duplicates, [2]int{min(other, index), max(other, index)})
	v, before := &t.votes[index], &t.votes[other]
	if !overrules(*v, *before) {
		v.Verdict, v.Err = wire.Failed, ErrSameServer
		return
	}
	t.count(before.Verdict, -1)
	before.Verdict, before.Err = wire.Failed, ErrSameServer
	t.count(wire.Failed, 1)
}

// overrules reports whether v counts instead of other, when both are votes of one server. A server that gets the same
// SET twice grants the first and denies the second: the grant counts. A server that gets the same extension twice may
// restore the key at the first and grant the second: the denial counts, because it reports that the key was gone.
func overrules(v, other wire.Vote) bool {
	healed := func(v wire.Vote) bool { return v.Verdict == wire.Denied && v.Healed }
	switch {
	case healed(v):
		return true
	case healed(other):
		return false
	}
	return v.Verdict == wire.Granted && other.Verdict == wire.Denied
}

// duplicateOf returns the node, other than index, from which the server that voted at index has answered; -1 if there
// is none.
func (t *tally) duplicateOf(index int) int {
	id := t.votes[index].RunID()
	if id == "" {
		return -1
	}
	for i := range t.votes {
		if i != index && t.votes[i].Verdict.Answered() && t.votes[i].RunID() == id {
			return i
		}
	}
	return -1
}

func (t *tally) count(verdict wire.Verdict, by int) {
	switch verdict {
	case wire.Granted:
		t.granted += by
	case wire.Denied:
		t.denied += by
	default:
		t.unanswered += by
	}
}

func (t *tally) state() state {
	switch {
	case t.granted >= t.need:
		return won
	case len(t.votes)-t.denied-t.unanswered < t.need:
		return lost
	default:
		return open
	}
}

// conclusive reports whether the round is won, or lost for a reason that no later vote changes: another holder has the
// lock, or too few nodes can still answer. If the reason could change, the error would depend on the order of votes.
func (t *tally) conclusive() bool {
	switch t.state() {
	case won:
		return true
	case lost:
		return t.answered() || len(t.votes)-t.unanswered < t.need
	default:
		return false
	}
}

// majorityAgrees reports whether a majority granted or a majority denied.
func (t *tally) majorityAgrees() bool { return t.granted >= t.need || t.denied >= t.need }

// denial returns the denial with the longest known Wait; the zero Vote if no node denied.
func (t *tally) denial() (longest wire.Vote) {
	for _, v := range t.votes {
		if v.Verdict == wire.Denied && (longest.Verdict != wire.Denied || v.Wait > longest.Wait) {
			longest = v
		}
	}
	return longest
}

// hasVoted reports whether a node has voted. A vote whose verdict is Unknown has an Err.
func (t *tally) hasVoted(index int) bool {
	v := &t.votes[index]
	return v.Verdict != wire.Unknown || v.Err != nil
}

// complete reports whether every node has voted.
func (t *tally) complete() bool { return t.granted+t.denied+t.unanswered == len(t.votes) }

// heldByOther reports whether a majority has answered and a node denied.
func (t *tally) heldByOther() bool { return t.denied > 0 && t.answered() }

// answered reports whether a majority has answered.
func (t *tally) answered() bool { return t.granted+t.denied >= t.need }

// majorityDenied reports whether a majority denied.
func (t *tally) majorityDenied() bool { return t.denied >= t.need }

// maxSeen returns the largest Number of all answers, including denials.
func (t *tally) maxSeen() (largest int64) {
	for _, v := range t.votes {
		if v.Verdict.Answered() {
			largest = max(largest, v.Number)
		}
	}
	return largest
}
