package scenarios

import (
	"context"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// CoverageOf is what coverage says of schedules of the scenario.
func (s Scenario) CoverageOf(sum simulation.Summary) check.Verdict { return s.coverage(sum) }

// Playing is the suite with another Play.
func (s Suite) Playing(one func(context.Context, Scenario, Options) (Outcome, error)) Suite {
	s.one = one
	return s
}

// Counts is the longest interval of the storm of a seed in which a wait counts, if each fault lasts for as long as is
// planned.
func (s Scenario) Counts(seed uint64) time.Duration {
	const client = "c0"
	end := s.Storm + aftermath
	events := []history.Event{
		{Kind: history.Invoked, Client: client, Name: "x"},
		{T: end, Kind: history.Refused, Client: client, Name: "x"},
	}
	for _, step := range faults.Plan(seed, s.terms(Masters, s.clients(), s.Faults)) {
		e := history.Event{T: step.At, Kind: history.Inject, Fault: step.Fault, On: string(step.On), Targets: step.Targets}
		events = append(events, e)
		e.T, e.Kind = step.At+step.For, history.Healthy
		events = append(events, e)
	}
	history.Sort(events)
	const figure = "longest interval in which a wait counts, in milliseconds"
	for _, f := range check.Waiting(events, s.Availability(Masters, []string{client})).Figures {
		if f.What == figure {
			return time.Duration(f.N) * time.Millisecond
		}
	}
	panic("no figure is called " + figure)
}

// Lasting are the faults that are felt after they were healed.
func Lasting() []string { return lasting() }

// AllowedWait is how long somebody may wait for a name of the group, and AllowedIdle how long it may be free.
func AllowedWait(g traffic.Group) time.Duration { return allowedWait(g) }
func AllowedIdle(g traffic.Group) time.Duration { return idle + g.TTL }

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

// HarnessStood is the longest that the harness says it stood still on a environment, while work is done.
func HarnessStood(s Scenario, o Options, work func()) (time.Duration, error) {
	st, err := newEnvironment(s, o, ours{})
	if err != nil {
		return 0, err
	}
	work()
	events, err := st.close()
	return check.Stood(events), err
}
