// Package sabotage takes rules out of the lock, so that the harnesses can show that they would notice. Nothing outside
// this module can reach it.
package sabotage

// Rules are what to break. The zero value breaks nothing.
type Rules struct {
	// MajorityLess is how many votes fewer than a majority win.
	MajorityLess int
	// Unraised takes the masters' fencing tokens as they come, without writing the largest back.
	Unraised bool
	// Script, if set, may change the text of any script, by its file's name without the ending.
	Script func(name, text string) string
}

var option func(Rules) any

// Register is called by package redlock, which alone can make its options.
func Register(make func(Rules) any) { option = make }

// Option returns a redlock.Option, to be asserted as one, that breaks the rules.
func Option(r Rules) any { return option(r) }
