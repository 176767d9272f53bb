package scenarios

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
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

// pauses is the Rest of groups that set none. Without it workers would lock continuously, and a schedule would take
// much of our time and hardly any virtual time.
var pauses = traffic.Span{Least: 10 * time.Millisecond, Below: 60 * time.Millisecond}

// inVirtualTime returns nil if the simulation can play the scenario, or why it cannot.
func (s Scenario) inVirtualTime() error {
	if s.Lock != "" && s.Lock != traffic.Quorum {
		return fmt.Errorf("the lock %q needs real masters", s.Lock)
	}
	return nil
}

// Schedule translates the scenario: the schedule of a seed has the faults of the plan of that seed, at the same times.
func (s Scenario) Schedule(seed uint64) simulation.Schedule {
	s.Storm = min(s.Storm, longestStorm)
	groups := s.part(seed)
	out := simulation.Schedule{
		Seed: seed, Profile: s.Name, Masters: Masters, Names: traffic.Names("", groups), Longest: s.maxTTL(),
		Storm: s.Storm + aftermath, Rates: slices.Repeat([]float64{1}, Masters),
	}
	for _, g := range groups {
		g.Workers, g.Rest = cmp.Or(g.Workers, s.Workers, 1), cmp.Or(g.Rest, pauses)
		out.Groups = append(out.Groups, g)
	}
	for i := range s.Clients {
		c := simulation.Client{
			Name: traffic.Name(i), TTL: s.maxTTL(), Keepalive: true, Timeout: clients.NodeTimeout, Rate: 1,
			RetryMin: 10 * time.Millisecond, RetryMax: backoff, // the lock's own
		}
		if len(s.ClockRates) > 0 {
			c.Rate = s.ClockRates[i%len(s.ClockRates)]
		}
		out.Clients = append(out.Clients, c)
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
	rng := rand.New(rand.NewPCG(seed, 0x67726f757073))
	for _, i := range rng.Perm(len(others))[:groupsAtOnce-1] {
		part = append(part, others[i])
	}
	return part
}

func shared(g traffic.Group) bool { return !g.Own }

// Virtual is a scenario played in virtual time.
type Virtual struct {
	Outcome
	Summary simulation.Summary
}

// PlayVirtually plays schedules of the scenario, of the seed and those that follow. Findings that the scenario excuses
// are counted, but their schedules are not shrunk. An error means that there is no verdict.
func PlayVirtually(ctx context.Context, s Scenario, o Options, play simulation.Play) (v Virtual, err error) {
	v.Outcome = o.outcome(s)
	v.Backend, v.Index = Simulation, ""
	if err := s.check(); err != nil {
		return v, err
	}
	if err := s.inVirtualTime(); err != nil {
		v.Skipped = err.Error()
		return v, nil
	}
	excused := s.excused()
	v.Summary, err = simulation.Batch{
		From: o.Seed, N: o.Schedules, Draw: s.Schedule, Play: play, Order: o.Order, Orders: o.Orders, Exact: o.Exact,
		Say: o.Say, Replay: s.replay, Excused: func(c string) bool { return excused[c] != "" },
	}.Run(ctx)
	if err != nil {
		return v, err
	}
	v.Took, v.Schedules = v.Summary.Wall, v.Summary.Schedules
	for _, f := range v.Summary.Found {
		v.Shown += fmt.Sprintf("\n%v", f)
	}
	v.Verdicts = append(verdicts(v.Summary), s.coverage(v.Summary))
	return v, v.save(o.Dir)
}

// replay returns the command that plays a schedule again.
func (s Scenario) replay(seed, order uint64) string {
	if order == 0 {
		return fmt.Sprintf("go run ./chaos -scenario %s -backend %s -schedules 1 -seed %d", s.Name, Simulation, seed)
	}
	return fmt.Sprintf("go run ./chaos -scenario %s -exact -seed %d -order %d", s.Name, seed, order)
}

// verdicts are those of the checkers of the simulation, of all schedules together.
func verdicts(sum simulation.Summary) (all []check.Verdict) {
	for _, c := range simulation.Checkers() {
		v := check.Verdict{Checker: c, Looked: fmt.Sprintf("%d schedules, %d holds", sum.Schedules, sum.Holds)}
		if seen, found := sum.ByChecker[c]; found {
			text := fmt.Sprintf("in %d of %d schedules, first seen with seed %d: %s",
				seen.Schedules, sum.Schedules, seen.Seed, seen.First)
			v.Findings = []check.Finding{{Text: strings.ReplaceAll(text, "\n", ";")}}
		}
		all = append(all, v)
	}
	return all
}

// coverage checks that every planned fault was injected, and that every fault of the scenario occurred and every name
// was held at least once. See someNames and everything: few schedules need not have all of them.
func (s Scenario) coverage(sum simulation.Summary) check.Verdict {
	v := check.Verdict{Checker: check.ByCoverage, Looked: fmt.Sprintf("%d schedules", sum.Schedules)}
	find := func(name, format string, args ...any) {
		v.Findings = append(v.Findings, check.Finding{Name: name, Text: fmt.Sprintf(format, args...)})
	}
	for _, f := range s.Faults {
		switch planned := sum.Planned[f]; {
		case planned > 0 && sum.Injected[f] == 0:
			find("", "%s was planned %d times, and never injected", f, planned)
		case planned == 0 && sum.Schedules >= everything:
			find("", "%s never occurred", f)
		}
	}
	for _, name := range traffic.Names("", s.Groups) {
		often := sum.Schedules >= someNames && sum.Wanted[name] > 1 || sum.Schedules >= everything
		if often && sum.Held[name] == 0 {
			find(name, "no client ever held %q, which %d schedules had", name, sum.Wanted[name])
		}
	}
	return v
}

const (
	// someNames is the number of schedules from which on every name that more than one of them has must be held. In a
	// single storm of a few seconds, a name may have no holder.
	someNames = 10
	// everything is the number of schedules from which on every name must be held and every fault must occur. They are
	// drawn at random: 20 schedules of the largest storms often lack one fault.
	everything = 100
)

// Text is the outcome for a person: what was played, what each checker says, and every finding that is not excused.
func (v Virtual) Text() string {
	var b strings.Builder
	sum := v.Summary
	fmt.Fprintf(&b, "%s in virtual time: %s\n", v.Scenario.Name, v.Scenario.About)
	fmt.Fprintf(
		&b,
		"%d schedules from seed %d, %v of virtual time in %v: %d holds, %d commands, %d updates lost by registers that "+
			"trust\n",
		sum.Schedules,
		v.Seed,
		sum.Virtual.Round(time.Second),
		sum.Wall.Round(time.Millisecond),
		sum.Holds,
		sum.Commands,
		sum.LostUpdates,
	)
	excused := v.Scenario.excused()
	for _, verdict := range v.Verdicts {
		switch {
		case verdict.Held():
			fmt.Fprintf(&b, "%s: held\n", verdict.Checker)
		default:
			fmt.Fprintf(&b, "%s: %s\n", verdict.Checker, strings.TrimSpace(excused[verdict.Checker]+" "+why(verdict)))
		}
	}
	return b.String() + v.Shown
}

func (v Virtual) save(dir string) error {
	if dir == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(dir, "verdict.txt"), []byte(v.Text()), 0o644)
}
