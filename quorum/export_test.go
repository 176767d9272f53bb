package quorum

import (
	"time"

	"github.com/redlock-go/redlock/node"
)

// Tally is the arithmetic of a round, for its tests.
type Tally struct{ tally }

// NewTally returns a tally of so many seats, of which need decide.
func NewTally(seats, need int) *Tally { return &Tally{newTally(seats, need)} }

// Add counts a vote and returns what it makes: "open", "won" or "lost".
func (t *Tally) Add(seat int, v node.Vote) string {
	return [...]string{open: "open", won: "won", lost: "lost"}[t.add(seat, v)]
}

// Counts returns the numbers of grants, denials, and neither.
func (t *Tally) Counts() (granted, denied, silent int) { return t.granted, t.denied, t.silent }

// VoteOf returns what counts for a seat.
func (t *Tally) VoteOf(seat int) node.Vote { return t.votes[seat] }

func (t *Tally) Held() bool          { return t.held() }
func (t *Tally) Answered() bool      { return t.answered() }
func (t *Tally) Gone() bool          { return t.gone() }
func (t *Tally) Clear() bool         { return t.clear() }
func (t *Tally) Complete() bool      { return t.complete() }
func (t *Tally) Wait() time.Duration { return t.denial().Wait }
