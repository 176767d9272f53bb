package quorum

import (
	"slices"
	"unsafe"

	"github.com/redlock-go/redlock/internal/wire"
)

// SizeOfRound returns the size of a round of five nodes with its calls and votes.
func SizeOfRound() uintptr {
	return unsafe.Sizeof(round{}) + 5*(unsafe.Sizeof(wire.Call{})+unsafe.Sizeof(wire.Vote{}))
}

// Tally is the arithmetic of a round, for its tests.
type Tally struct{ tally }

// NewTally returns a tally of so many nodes, of which need decide.
func NewTally(nodes, need int) *Tally {
	return &Tally{tally{votes: make([]wire.Vote, nodes), need: need}}
}

// Add counts a vote and returns what it makes: "open", "won" or "lost".
func (t *Tally) Add(index int, v wire.Vote) string {
	t.add(index, &v)
	return [...]string{open: "open", won: "won", lost: "lost"}[t.state()]
}

// Counts returns the numbers of grants, denials, and neither.
func (t *Tally) Counts() (granted, denied, unanswered int) { return t.granted, t.denied, t.unanswered }

// VoteOf returns the vote that counts for the node at index.
func (t *Tally) VoteOf(index int) wire.Vote { return t.votes[index] }

func (t *Tally) Decided() bool      { return t.conclusive() }
func (t *Tally) FenceDecided() bool { return t.fenceConclusive() }
func (t *Tally) Denial() wire.Vote  { return t.denial() }
func (t *Tally) Held() bool         { return t.heldByOther() }
func (t *Tally) Answered() bool     { return t.answered() }
func (t *Tally) Gone() bool         { return t.majorityDenied() }
func (t *Tally) Clear() bool        { return t.majorityAgrees() }
func (t *Tally) Complete() bool     { return t.complete() }

// MajorityFence returns the number that a majority granted, if there is one.
func (t *Tally) MajorityFence() (number int64, ok bool) { return t.majorityFence() }

// MajorityNotifier is the rule of a Listener, for its tests.
type MajorityNotifier struct{ majorityNotifier }

func NewMajorityNotifier(nodes, need int) *MajorityNotifier {
	return &MajorityNotifier{newMajorityNotifier(nodes, need)}
}

func (n *MajorityNotifier) Message(index int)                { n.message(index) }
func (n *MajorityNotifier) Take() bool                       { return n.take() }
func (n *MajorityNotifier) Discount(index int, asked uint64) { n.discount(index, asked) }
func (n *MajorityNotifier) MajorityFree(asked uint64)        { n.majorityFree(asked) }
func (n *MajorityNotifier) Last() uint64                     { return n.last }

// Numbers returns the numbers of the messages that the notifier remembers.
func (n *MajorityNotifier) Numbers() (received, discounted []uint64, last, woken uint64) {
	return n.received, n.discounted, n.last, n.woken
}

// Clone returns a copy.
func (n *MajorityNotifier) Clone() *MajorityNotifier {
	c := *n
	c.received, c.discounted = slices.Clone(n.received), slices.Clone(n.discounted)
	return &c
}
