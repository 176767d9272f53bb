package scenarios

import (
	"context"
	"time"
)

// Playing is the suite with another Play.
func (s Suite) Playing(one func(context.Context, Scenario, Options) (Outcome, error)) Suite {
	s.playOne = one
	return s
}

// Tolerating returns the options with another bound for the stalls of the harness.
func (o Options) Tolerating(stall time.Duration) Options {
	o.tolerated = stall
	return o
}

// Ahead is how much longer than their TTL keys may live after a plan.
var Ahead = ahead

// SeedOf is the seed of a run.
var SeedOf = seedOf
