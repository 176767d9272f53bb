package scenarios

import (
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// Acceptance is the scenario for masters that are the user's: all kinds of traffic, clients that die, freeze, and whose
// clocks drift, and nothing that would need control of a master. It is none of All.
func Acceptance() Scenario {
	s := Scenario{
		Name:   "acceptance",
		About:  "every kind of lock on masters of the user's; clients die, freeze and drift, and no master is harmed",
		Groups: unharmed(), Clients: 3, Mode: faults.Minority, Storm: 30 * time.Second,
	}
	for _, t := range faults.Catalog() {
		if t.On == faults.Clients {
			s.Faults = append(s.Faults, t.Name)
		}
	}
	return s
}

// unharmed is all traffic but what is there to outlive the crash of a master.
func unharmed() []traffic.Group {
	return rested(slices.DeleteFunc(
		slices.Clone(traffic.Everything), func(g traffic.Group) bool { return g.TTL > traffic.TTL },
	))
}

// rested returns the groups with rests, so that others can use the masters, and this machine has time to run the
// processes that a loss concerns.
func rested(groups []traffic.Group) []traffic.Group {
	groups = slices.Clone(groups)
	for i := range groups {
		groups[i].Rest = rest
	}
	return groups
}
