package controls

import (
	"context"
	"errors"
	"time"

	"github.com/redlock-go/redlock/chaos/backend"
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

// AfterAStall has the master of the failover control fail once, after a stall that has had all clients turn to the replica. It
// returns what happened.
func AfterAStall(ctx context.Context, o Options) ([]history.Event, error) {
	c, _ := naive.Find("failover")
	c.Checker = liveness // which ends nothing early
	o.Backend = backend.Processes
	p := table[c.Name].plan
	p.rounds = 1
	p.harm = func(ctx context.Context, t *trial) error {
		if err := errors.Join(t.awaitHolder(ctx, 0), t.masters.Pause(ctx, master)); err != nil {
			return err
		}
		pause(ctx, time.Second)
		if err := errors.Join(t.masters.Unpause(ctx, master), t.follow(ctx)); err != nil {
			return err
		}
		return masterFails(ctx, t)
	}
	if _, err := run(ctx, o, c, p); err != nil {
		return nil, err
	}
	return history.ReadDir(p.dir(o, c))
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
