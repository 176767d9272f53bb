// Package sabotage takes rules out of the lock, so that the harnesses can show that they would notice. Nothing outside
// this module can reach it.
package sabotage

import "time"

// Rules are what to break. The zero value breaks nothing.
type Rules struct {
	// MajorityLess is how many votes fewer than a majority win.
	MajorityLess int
	// Unraised takes the masters' fencing tokens as they come, without writing the largest back.
	Unraised bool
	// FromAnswer counts a validity from the answer, not from the question.
	FromAnswer bool
	// Unreleased leaves on the masters what a failed acquisition placed there.
	Unreleased bool
	// Twins gives a server as many votes as it has addresses.
	Twins bool
	// Healed counts a master that lost the key as soon as it has it back.
	Healed bool
	// Blind extends a lease whatever the masters answer.
	Blind bool
	// HandedBack gives a lock back to the masters also where it is handed over to the next in line.
	HandedBack bool
	// EndedEarly releases what is left of a lost lock when its holder is told, before its deadline: a moment before, if it was not
	// extended; by much more, if a majority of the masters told the loss.
	EndedEarly bool
	// ToldLate is how long after its deadline a loss is told.
	ToldLate time.Duration
	// Script, if set, may change the text of any script, by its file's name without the ending.
	Script func(name, text string) string
}

// Sealed are rules as the floors below package redlock get them. Outside this module only the zero value can be made.
type Sealed struct{ rules Rules }

// Seal seals the rules.
func Seal(r Rules) Sealed { return Sealed{r} }

// Rules are the rules that were sealed.
func (s Sealed) Rules() Rules { return s.rules }

var option func(Rules) any

// Register is called by package redlock, which alone can make its options.
func Register(make func(Rules) any) { option = make }

// Option returns a redlock.Option, to be asserted as one, that breaks the rules.
func Option(r Rules) any { return option(r) }
