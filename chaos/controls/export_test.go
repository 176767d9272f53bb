package controls

import (
	"context"
	"time"

	"github.com/redlock-go/redlock/chaos/check"
	"github.com/redlock-go/redlock/chaos/history"
	"github.com/redlock-go/redlock/chaos/naive"
	"github.com/redlock-go/redlock/chaos/report"
)

// Only runs some of the controls.
func Only(ctx context.Context, o Options, names ...string) ([]report.Control, error) {
	var locks []naive.Control
	for _, name := range names {
		c, _ := naive.Find(name)
		locks = append(locks, c)
	}
	return o.run(ctx, locks, table)
}

// Instead runs one round of the control of a naive lock with the lock under test in its place, as if that were naive.
func Instead(ctx context.Context, o Options, name string) ([]report.Control, error) {
	c, _ := naive.Find(name)
	e := entry{plan: table[name].sound()}
	e.rounds = 1
	return o.run(ctx, []naive.Control{c}, map[string]entry{name: e})
}

// Entries returns the names of the locks that can be tried.
func Entries() []string {
	var names []string
	for name := range table {
		names = append(names, name)
	}
	return names
}

// Proper judges a made-up trial whose harm was to be done in one round.
func Proper(events []history.Event, found, over bool) error {
	t := &trial{plan: plan{harm: masterFails, rounds: 1}}
	var v check.Verdict
	if found {
		v.Findings = make([]check.Finding, 1)
	}
	return t.proper(events, v, over)
}

// Outcome is the control of a made-up pair of verdicts.
func Outcome(naiveSaid, soundSaid *check.Verdict) report.Control {
	return outcome{naive: naiveSaid, sound: soundSaid}.report()
}

// Until is what happened up to a moment.
func Until(moment time.Duration, events []history.Event) []history.Event {
	return until(moment, events)
}
