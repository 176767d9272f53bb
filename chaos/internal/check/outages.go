package check

import (
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// An Outage is one fault at one target, from its injection until its end.
type Outage struct {
	On, Fault string
	Target    int
	From, To  time.Duration
	// Open says that it did not end. To is then the time of the last event.
	Open bool
}

// Outages returns the faults of a history in the order of their injections. They end with an event of the given kind:
// [history.Heal], or [history.Healthy] when the target answers again. If one fault is injected into a target several
// times, it ends with the last of them.
func Outages(events []history.Event, end history.Kind) []Outage {
	type place struct {
		on, fault string
		target    int
	}
	var all []Outage
	var last time.Duration
	open, injected := map[place]int{}, map[place]int{}
	for _, e := range events {
		last = max(last, e.T)
		for _, target := range e.Targets {
			at := place{e.On, e.Fault, target}
			i, is := open[at]
			switch {
			case e.Kind == history.Inject:
				if injected[at]++; !is {
					open[at] = len(all)
					all = append(all, Outage{On: e.On, Fault: e.Fault, Target: target, From: e.T, Open: true})
				}
			case e.Kind == end && is:
				if injected[at]--; injected[at] == 0 {
					all[i].To, all[i].Open = e.T, false
					delete(open, at)
				}
			}
		}
	}
	for _, i := range open {
		all[i].To = last
	}
	return all
}

// injected reports whether one of the faults was injected.
func injected(events []history.Event, faults []string) bool {
	return slices.ContainsFunc(events, func(e history.Event) bool {
		return e.Kind == history.Inject && slices.Contains(faults, e.Fault)
	})
}
