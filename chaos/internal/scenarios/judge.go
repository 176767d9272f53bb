package scenarios

import (
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

const (
	// Slack is what the scheduler of a busy machine may owe a client that is to be told of a loss.
	Slack = 100 * time.Millisecond
	// modelTime bounds how long the model is asked.
	modelTime = 20 * time.Second
	// busy is what a machine that runs several scenarios at a time may add to a recovery.
	busy = 4 * time.Second
	// idle is how much longer than a TTL a name may be free that somebody wants: in 78 runs, some of them on machines that were
	// too small for what ran side by side, it was 1.8 s at most, the TTL of a second and less included.
	idle = 3 * time.Second
	// retry is how soon a client asks again for what it was refused.
	retry = time.Second
)

// judge has every checker look at the history.
func (p *player) judge(events []history.Event) []check.Verdict {
	s := p.scenario
	names, clients, masters := traffic.Names(p.prefix, s.Groups), p.fleet.Names(), p.masters.Masters()
	verdicts := []check.Verdict{
		check.Exclusion(events),
		check.Linearizability(events, modelTime),
		check.Fencing(events, masters, lasting()),
		check.Register(events),
		check.LossNotified(p.ours(events), clients, Slack),
		check.Liveness(events, clients, names, s.Bound()),
		check.Waiting(events, s.Availability(masters, clients)),
		check.Coverage(events, clients, names, p.planned(), s.extends()),
		check.Leaks(events, clients, masters, Grace),
		check.WellFormed(events),
		check.Clients(p.ours(events)),
		check.Broken(events),
	}
	if s.Ghosts {
		return append(verdicts, check.Residue(events, masters, Grace))
	}
	return append(verdicts, check.Left(events, masters, Grace))
}

// ours are the events of the clients that use the lock under test: others tell nobody of a loss.
func (p *player) ours(events []history.Event) []history.Event {
	foreign := p.fleet.Names()[p.scenario.Clients:]
	return slices.DeleteFunc(slices.Clone(events), func(e history.Event) bool { return slices.Contains(foreign, e.Client) })
}

// extends reports whether some locks of the traffic are extended.
func (s Scenario) extends() bool {
	return slices.ContainsFunc(s.Groups, func(g traffic.Group) bool { return g.Keepalive })
}

// lasting are the faults after which a master may not vote for a while, or may not have what it granted.
func lasting() []string {
	var names []string
	for _, t := range faults.Catalog() {
		if t.On == faults.Masters && (t.Restarts || t.Breaks != "") {
			names = append(names, t.Name)
		}
	}
	return names
}

// Availability is what the checker of waits has to know of the faults.
func (s Scenario) Availability(masters int, clients []string) check.Availability {
	w := check.Availability{
		Masters: masters, Clients: clients, Window: s.Window() + rounding, Recovery: s.Bound() + busy,
		Idle: idle, Bound: patience, TTLs: deaths, Draws: draws, Retry: retry,
	}
	for _, t := range faults.Catalog() {
		switch {
		case t.On != faults.Masters:
		case t.Restarts:
			w.Forget = append(w.Forget, t.Name)
		case t.Mute:
			w.Mute = append(w.Mute, t.Name)
		}
	}
	return w
}

// planned are the faults of the plan.
func (p *player) planned() []string {
	var names []string
	for _, step := range p.plan {
		if !slices.Contains(names, step.Fault) {
			names = append(names, step.Fault)
		}
	}
	return names
}
