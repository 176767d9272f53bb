package scenarios

import (
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// Slack is the running time within which a client must be notified of a loss. Only a client that is not notified at
// all takes so long, even if the machine is busy; virtual time shows smaller delays.
const Slack = time.Second

// judge returns the verdicts of all checkers.
func (p *player) judge(events []history.Event) []check.Verdict {
	s := p.scenario
	terms := check.Terms{
		Masters: p.masters.Masters(), Clients: p.fleet.Names(),
		Names: traffic.Names(p.masters.Prefix(), s.Groups), Planned: p.planned(), Extends: s.extends(),
		Reordering: faults.Reordering(), Slack: Slack, Bound: s.Bound(), Grace: Grace,
	}
	var verdicts []check.Verdict
	for _, c := range check.Catalog() {
		verdicts = append(verdicts, c.Judge(events, terms))
	}
	return verdicts
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
