package scenarios

import (
	"context"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

// CoverageOf is what coverage says of schedules of the scenario.
func (s Scenario) CoverageOf(sum simulation.Summary) check.Verdict { return s.coverage(sum) }

// Playing is the suite with another Play.
func (s Suite) Playing(one func(context.Context, Scenario, Options) (Outcome, error)) Suite {
	s.one = one
	return s
}

// Lasting are the faults that are felt after they were healed.
func Lasting() []string { return lasting() }

// Without is what is said of faults, in pairs with the reasons why they cannot be had.
func Without(pairs ...[2]string) []string {
	var skips []skip
	for _, p := range pairs {
		skips = append(skips, skip{p[0], p[1]})
	}
	return without(skips)
}

// InVirtualTime is what a fault is in the simulation, or why there is nothing like it.
func InVirtualTime(fault string) (is, without string) {
	c := counterpartOf(fault)
	return c.is, c.without
}

// Counterparts are the names of the faults that have one.
func Counterparts() (names []string) {
	for name := range counterparts {
		names = append(names, name)
	}
	return names
}

// PlanInVirtualTime is what the schedule of a seed is made of.
func (s Scenario) PlanInVirtualTime(seed uint64) []faults.Step {
	s.Storm = min(s.Storm, longestStorm)
	return faults.Plan(seed, s.terms(Masters, s.Clients, s.simulated()))
}
