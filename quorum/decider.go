package quorum

import "github.com/redlock-go/redlock/internal/wire"

// NoFirst in place of a node's index makes Acquire ask all nodes at once.
const NoFirst = -1

// decider finds the vote that decides a round. It is plain arithmetic: no lock, no clock, no goroutine.
type decider struct {
	tally tally
	first int32 // the node that is asked before the others, or NoFirst; small, so that a round fits its size class
	done  bool  // the round is decided
}

// add counts a vote. It reports whether this vote decides the round, which happens once, and whether the other nodes
// are to be asked now. A vote of the first node is judged here, every other one by decides.
func (d *decider) add(index int, v *wire.Vote, decides func(*tally) bool) (decided, askRest bool) {
	d.tally.add(index, v)
	switch {
	case d.done:
		return false, false
	case int(d.first) == index:
		// A denial by the first node decides. A grant or a failure does not: the others can be a majority without it.
		d.done = v.Verdict == wire.Denied || len(d.tally.votes) == 1
		return d.done, !d.done
	default:
		d.done = decides(&d.tally) || d.tally.complete()
		return d.done, false
	}
}

// deniedByFirst reports whether the first node denied, so that no other was asked.
func (d *decider) deniedByFirst() bool {
	return d.first != NoFirst && d.tally.votes[d.first].Verdict == wire.Denied
}
