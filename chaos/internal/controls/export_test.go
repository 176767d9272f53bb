package controls

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/report"
	"github.com/redlock-go/redlock/chaos/internal/scenarios"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// named returns the control of a lock.
func named(name string) Control {
	all := slices.Concat(Naive(), Own())
	return all[slices.IndexFunc(all, func(c Control) bool { return c.Lock == name })]
}

// Only runs the controls of the named locks.
func Only(ctx context.Context, o Options, names ...string) ([]report.Control, error) {
	for _, name := range names {
		o.Locks = append(o.Locks, named(name))
	}
	return Run(ctx, o)
}

// Instead runs a control with the lock under test in place of the broken lock, for one round or a short time.
func Instead(ctx context.Context, o Options, name string) ([]report.Control, error) {
	o.Locks = []Control{named(name)}
	return o.run(ctx, func(lock string) (entry, bool) {
		e, ok := find(lock)
		p := e.plan
		if e.proof != nil {
			p = e.sound()
		}
		p.lock = traffic.Quorum
		if p.harm != nil {
			p.rounds = 1
		} else {
			p.lasts = 3 * traffic.TTL
		}
		return entry{plan: p}, ok
	})
}

// AfterAStall runs the failover control for one failure, after a stall that has made all clients turn to the replica.
// It returns the history.
func AfterAStall(ctx context.Context, o Options) ([]history.Event, error) {
	c := Control{"failover", "fencing"} // fencing finds nothing without fencing tokens, so it ends no trial early
	e, _ := find(c.Lock)
	o.Backend = backend.Processes
	p := e.plan
	p.rounds = 1
	p.harm = func(ctx context.Context, t *trial) error {
		if err := errors.Join(t.awaitHolder(ctx, 0), t.masters.Freeze(ctx, master)); err != nil {
			return err
		}
		pause(ctx, 2*time.Second) // exceeds the clients' timeout for a master
		if err := errors.Join(t.masters.Thaw(ctx, master), t.follow(ctx)); err != nil {
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
	for _, e := range naiveLocks {
		names = append(names, e.lock)
	}
	return names
}

// Fading runs a control on the lock under test with a TTL so short that any residue has expired by the last inspection.
func Fading(ctx context.Context, o Options) (*check.Verdict, error) {
	o.Backend = backend.Processes
	c := named("no release after failure")
	e, _ := find(c.Lock)
	p := e.sound()
	p.longest = scenarios.Grace
	return o.try(ctx, c, p)
}

// Stumbling runs a control on the lock under test, with harm that fails before the checker can judge.
func Stumbling(ctx context.Context, o Options) (*check.Verdict, error) {
	o.Backend = backend.Processes
	c := named("nothing closed")
	e, _ := find(c.Lock)
	p := e.plan
	p.lock = traffic.Quorum
	p.harm = func(context.Context, *trial) error { return errors.New("no harm could be done") }
	return o.try(ctx, c, p)
}

// Proper checks a made-up history of a trial with one round of harm, or for leaks of a trial without harm.
func Proper(checker string, events []history.Event, found, over bool) error {
	t := &trial{plan: plan{harm: masterFails, rounds: 1}, before: before[checker]}
	if checker == "leaks" {
		t.plan = plan{lasts: 1}
	}
	var v check.Verdict
	if found {
		v.Findings = make([]check.Finding, 1)
	}
	return t.proper(events, v, over)
}

// Outcome returns the report of a made-up pair of verdicts.
func Outcome(naiveSaid, soundSaid *check.Verdict) report.Control {
	return outcome{broken: naiveSaid, sound: soundSaid}.report()
}

// Until returns the events up to a moment.
func Until(moment time.Duration, events []history.Event) []history.Event {
	return until(moment, events)
}
