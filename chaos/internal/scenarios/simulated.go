package scenarios

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/clients"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// Simulation is the backend in virtual time. In contrast to those of package backend, the masters, the network, the
// clients and their clocks are simulated, and a scenario is played as many schedules, each of a seed of its own.
const Simulation = "simulation"

// A schedule is a small run of the scenario: a part of its groups, in turn, and a storm no longer than this. Many small
// ones show more than a large one does, in the same time.
const (
	longestStorm = 8 * time.Second
	groupsAtOnce = 2
)

// pauses is the Rest of all groups. With less, a schedule would take much of our time and hardly any virtual time.
var pauses = traffic.Span{Least: 30 * time.Millisecond, Below: 170 * time.Millisecond}

// Schedule translates the scenario: the schedule of a seed has the faults of the plan of that seed, at the same times.
func (s Scenario) Schedule(seed uint64) simulation.Schedule {
	s.Storm = min(s.Storm, longestStorm)
	groups := s.part(seed)
	out := simulation.Schedule{
		Seed: seed, Profile: s.Name, Masters: Masters, Names: traffic.Names("", groups),
		Storm: s.Storm + aftermath, Rates: slices.Repeat([]float64{1}, Masters),
	}
	for _, g := range groups {
		g.Rest = pauses
		out.Groups = append(out.Groups, g)
	}
	for i := range s.Clients {
		out.Clients = append(out.Clients, simulation.Client{
			Name: traffic.Name(i), TTL: s.maxTTL(), Keepalive: true, Timeout: clients.NodeTimeout, Rate: 1,
			RetryMin: 10 * time.Millisecond, RetryMax: backoff, // the lock's own
		})
	}
	if len(s.Faults) > 0 {
		out.Plan = faults.Plan(seed, s.terms(Masters, s.Clients, s.Faults))
	}
	late := slices.ContainsFunc(out.Plan, func(step faults.Step) bool {
		t, _ := faults.Lookup(step.Fault)
		return t.Late
	})
	out.Proxies = late && seed%2 == 0
	return out
}

// part returns the groups of one schedule: the seed selects one group in rotation, and the others are drawn.
func (s Scenario) part(seed uint64) []traffic.Group {
	all := s.Groups
	if len(all) <= groupsAtOnce {
		return all
	}
	turn := int(seed % uint64(len(all)))
	part := all[turn : turn+1 : turn+1]
	others := slices.Delete(slices.Clone(all), turn, turn+1)
	if !slices.ContainsFunc(part, shared) { // clients must contend
		others = slices.DeleteFunc(others, func(g traffic.Group) bool { return !shared(g) })
	}
	same := func(g traffic.Group) bool { return g.Names[0] == part[0].Names[0] }
	if i := slices.IndexFunc(others, same); i >= 0 { // who use one name in two ways must meet
		return append(part, others[i])
	}
	rng := rand.New(rand.NewPCG(seed, 0x67726f757073))
	for _, i := range rng.Perm(len(others))[:groupsAtOnce-1] {
		part = append(part, others[i])
	}
	return part
}

func shared(g traffic.Group) bool { return !g.Own }

// PlayVirtually plays schedules of the scenario, of the seed and those that follow. Findings that the scenario excuses
// are counted, but their schedules are not shrunk. An error means that there is no verdict.
func PlayVirtually(ctx context.Context, s Scenario, o Options) (Outcome, error) {
	out := o.outcome(s)
	play, err := o.Playing(s.Lock)
	if err != nil {
		return out, err
	}
	sum, err := simulation.Batch{
		From: o.Seed, N: o.Schedules, Draw: s.Schedule, Play: play, Order: o.Order, Orders: o.Orders, Say: o.Say,
		Replay:  func(seed, order uint64) string { return o.ReplayOne(s.Name, seed, order) },
		Excused: func(c string) bool { return !s.promises(c) },
	}.Run(ctx)
	if err != nil {
		return out, err
	}
	out.Took, out.Schedules = sum.Wall, sum.Schedules
	for _, f := range sum.Found {
		out.Shown += fmt.Sprintf("\n%v", f)
	}
	out.Verdicts = verdicts(sum)
	return out, out.save(out.Text(nil, fmt.Sprintf(
		"%d schedules from seed %d, %v of virtual time in %v: %d holds, %d commands",
		sum.Schedules, o.Seed, sum.Virtual.Round(time.Second), sum.Wall.Round(time.Millisecond), sum.Holds, sum.Commands,
	)))
}

// verdicts are those of the checkers of the simulation, of all schedules together.
func verdicts(sum simulation.Summary) (all []check.Verdict) {
	for _, c := range simulation.Checkers() {
		v := check.Verdict{Checker: c, Looked: fmt.Sprintf("%d schedules, %d holds", sum.Schedules, sum.Holds)}
		if seen := sum.ByChecker[c]; len(seen) > 0 {
			text := fmt.Sprintf("in %d of %d schedules, %s", len(seen), sum.Schedules, seen[0])
			v.Findings = []check.Finding{{Text: strings.ReplaceAll(text, "\n", ";")}}
		}
		all = append(all, v)
	}
	return all
}
