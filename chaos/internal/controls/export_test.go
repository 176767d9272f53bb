package controls

import (
	"context"
	"errors"
	"slices"
	"time"

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
	var all []Control
	for _, name := range names {
		all = append(all, named(name))
	}
	return Run(ctx, o, all...)
}

// Instead runs a control with the lock under test in place of the broken lock, for one round or a short time.
func Instead(ctx context.Context, o Options, name string) ([]report.Control, error) {
	c := named(name)
	if c.proof {
		c = c.sound()
	}
	c.instead, c.proof = traffic.Quorum, false
	if c.harm != nil {
		c.rounds = 1
	} else {
		c.lasts = 3 * traffic.TTL
	}
	return Run(ctx, o, c)
}

// AfterAStall runs the failover control for one failure, after a stall that has made all clients turn to the replica.
// It returns the history.
func AfterAStall(ctx context.Context, o Options) ([]history.Event, error) {
	c := named("failover")
	c.Checker = "fencing" // fencing finds nothing without fencing tokens, so it ends no trial early
	c.rounds = 1
	c.harm = func(ctx context.Context, t *trial) error {
		if err := errors.Join(t.awaitHolder(ctx, 0), t.masters.Freeze(ctx, master)); err != nil {
			return err
		}
		pause(ctx, 2*time.Second) // exceeds the clients' timeout for a master
		if err := errors.Join(t.masters.Thaw(ctx, master), t.follow(ctx)); err != nil {
			return err
		}
		return masterFails(ctx, t)
	}
	if _, err := run(ctx, o, c); err != nil {
		return nil, err
	}
	return history.ReadDir(c.dir(o))
}

// Unknown runs a control whose checker does not exist.
func Unknown(ctx context.Context, o Options) ([]report.Control, error) {
	c := named("exists-set")
	c.Checker = "luck"
	return Run(ctx, o, c)
}

// Fading runs a control on the lock under test with a TTL so short that any residue has expired by the last inspection.
func Fading(ctx context.Context, o Options) (*check.Verdict, error) {
	c := named("no release after failure").sound()
	c.longest = scenarios.Grace
	return o.try(ctx, c)
}

// Stumbling runs a control on the lock under test, with harm that fails before the checker can judge.
func Stumbling(ctx context.Context, o Options) (*check.Verdict, error) {
	c := named("nothing closed")
	c.instead = traffic.Quorum
	c.harm = func(context.Context, *trial) error { return errors.New("no harm could be done") }
	return o.try(ctx, c)
}

// Proper checks a made-up history of a trial with one round of harm, or for leaks of a trial without harm.
func Proper(checker string, events []history.Event, found, over bool) error {
	t := &trial{Control: Control{harm: masterFails, rounds: 1}, before: before[checker]}
	if checker == "leaks" {
		t.Control = Control{lasts: 1}
	}
	var v check.Verdict
	if found {
		v.Findings = make([]check.Finding, 1)
	}
	return t.proper(events, v, over)
}

// Outcome returns the report of a made-up pair of verdicts.
func Outcome(naiveSaid, soundSaid *check.Verdict) report.Control {
	return outcome{broken: naiveSaid, sound: soundSaid}.report(Options{})
}

// Until returns the events up to a moment.
func Until(moment time.Duration, events []history.Event) []history.Event {
	return until(moment, events)
}
