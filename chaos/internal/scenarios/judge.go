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
	// Slack is the running time within which a client must be notified of a loss. Only a client that is not notified at
	// all takes so long, even if the machine is busy; virtual time shows smaller delays.
	Slack = time.Second
	// lingers is for how long a master that was restarted or emptied may not vote, or has lost what it granted: the
	// restart window, and the time that a client takes to trust the master again.
	lingers = 10 * time.Second
	// modelTime bounds the linearizability check of a name.
	modelTime = 20 * time.Second
)

// judge returns the verdicts of all checkers.
func (p *player) judge(events []history.Event) []check.Verdict {
	s := p.scenario
	names, clients, masters := traffic.Names(p.prefix, s.Groups), p.fleet.Names(), p.masters.Masters()
	verdicts := []check.Verdict{
		check.Exclusion(events),
		check.Linearizability(events, modelTime),
		check.Slots(events),
		check.MinHold(events),
		check.Leaders(events, faults.Forgetful()),
		check.Fencing(events, masters, faults.Lasting(), lingers),
		check.Register(events),
		check.LossNotified(p.ours(events), clients, Slack),
		check.Liveness(events, clients, names, s.Bound()),
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

// ours returns the events of the clients that use the lock under test. Other locks do not notify a holder of a loss.
func (p *player) ours(events []history.Event) []history.Event {
	foreign := p.fleet.Names()[p.scenario.Clients:]
	return slices.DeleteFunc(
		slices.Clone(events),
		func(e history.Event) bool { return slices.Contains(foreign, e.Client) },
	)
}

// extends reports whether some locks of the traffic are extended.
func (s Scenario) extends() bool {
	return slices.ContainsFunc(s.Groups, func(g traffic.Group) bool { return g.Keepalive })
}

// planned returns the faults of the plan.
func (p *player) planned() []string {
	var names []string
	for _, step := range p.plan {
		if !slices.Contains(names, step.Fault) {
			names = append(names, step.Fault)
		}
	}
	return names
}
