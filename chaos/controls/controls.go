// Package controls proves the checkers on real masters: every naive lock (see package naive) gets the traffic and the
// harm that show its flaw, in client processes, and the checker that was named beforehand must catch it. Where it takes
// harm to show, the lock under test gets the same traffic and the same harm, and there the same checker must find
// nothing: otherwise it would have caught the harm, and not the flaw.
package controls

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock/chaos/backend"
	"github.com/redlock-go/redlock/chaos/check"
	"github.com/redlock-go/redlock/chaos/naive"
	"github.com/redlock-go/redlock/chaos/report"
	"github.com/redlock-go/redlock/chaos/traffic"
)

// Options are what the controls run with.
type Options struct {
	// Dir is a folder for histories and logs. Every lock gets a folder of its name in it, which must not exist, and another
	// one if it is tried twice.
	Dir string
	// Runner is where the clients run.
	Runner traffic.Runner
	// Seed decides what the clients draw, and which masters are harmed first.
	Seed uint64
	// Say tells a person how it goes; it is called from several goroutines.
	Say func(format string, args ...any)
	// Locks are those to try; nil: all of them.
	Locks []naive.Control
	// Backend is where the masters come from, by name. The zero value is [backend.Processes].
	Backend string
}

const (
	// atOnce is how many trials run side by side: most of them wait most of the time.
	atOnce = 4
	// bound is how long the traffic of one trial lasts at most.
	bound = 20 * time.Second
)

// Run tries every naive lock, several at a time, and returns for each, in the order of [naive.All], whether its checker
// caught it. An error means that some of them did not run properly, so that there is no telling; those that did are returned.
func Run(ctx context.Context, o Options) ([]report.Control, error) {
	begin := time.Now()
	locks := o.Locks
	if locks == nil {
		locks = naive.All
	}
	all, err := o.run(ctx, locks, table)
	o.Say("controls: %d naive locks in %v", len(locks), time.Since(begin).Round(time.Second/10))
	return all, err
}

func (o Options) run(ctx context.Context, locks []naive.Control, entries map[string]entry) ([]report.Control, error) {
	if o.Backend == "" {
		o.Backend = backend.Processes
	}
	all := make([]outcome, len(locks))
	errs := make([]error, 2*len(locks))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, harmed := range []bool{true, false} { // trials with harm take longest, and begin first
		for i, c := range locks {
			e, ok := entries[c.Name]
			switch {
			case !ok:
				errs[2*i] = fmt.Errorf("the naive lock %q has no entry among the controls: write one", c.Name)
				continue
			case (e.harm != nil) != harmed:
				continue
			}
			all[i].Control = c
			group.Go(func() error {
				begin := time.Now()
				all[i].naive, errs[2*i] = o.try(ctx, c, e.plan)
				all[i].took = time.Since(begin)
				return nil
			})
			if e.proof != nil {
				group.Go(func() error { all[i].sound, errs[2*i+1] = o.try(ctx, c, e.sound()); return nil })
			}
		}
	}
	_ = group.Wait() // the errors are gathered one by one
	var out []report.Control
	for i, r := range all {
		if errs[2*i] == nil && errs[2*i+1] == nil {
			out = append(out, r.report())
		}
	}
	return out, errors.Join(errs...)
}

// try runs one trial and says how it went. One that does not run properly shows nothing, and is run once more, as the harness
// may have stumbled; but not if the lock under test was caught in it, which must not be lost.
func (o Options) try(ctx context.Context, c naive.Control, p plan) (*check.Verdict, error) {
	begin := time.Now()
	v, err := run(ctx, o, c, p)
	if err != nil && ctx.Err() == nil && (len(v.Findings) == 0 || p.lock == c.Name) {
		o.Say("the control %s did not run properly on the lock %s, see %s: %v; once more", c.Name, p.lock, p.dir(o, c), err)
		p.again = true
		v, err = run(ctx, o, c, p)
	}
	took := time.Since(begin).Round(time.Second / 10)
	switch {
	case err != nil:
		if len(v.Findings) > 0 {
			err = fmt.Errorf("%w; and yet it was found: %s", err, v.Findings[0].Text)
		}
		return nil, fmt.Errorf("the control %s did not run properly on the lock %s, see %s: %w", c.Name, p.lock, p.dir(o, c), err)
	case len(v.Findings) > 0:
		o.Say("control %s: after %v %s found in the lock %s: %s", c.Name, took, c.Checker, p.lock, v.Findings[0].Text)
	default:
		o.Say("control %s: in %v %s found nothing in the lock %s (%s)", c.Name, took, c.Checker, p.lock, v.Looked)
	}
	return &v, nil
}

// outcome is what a checker said of a naive lock, and of the lock under test in its place.
type outcome struct {
	naive.Control
	naive *check.Verdict
	took  time.Duration
	sound *check.Verdict // nil if the lock under test was not tried
}

func (r outcome) report() report.Control {
	c := report.Control{Lock: r.Name, Checker: r.Checker, After: r.took}
	switch {
	case r.sound != nil && !r.sound.Held(): // whatever was caught, it need not have been the flaw
		c.Text = "the same harm shows this in the lock under test: " + r.sound.Findings[0].Text
	case len(r.naive.Findings) == 0:
		c.Text = "nothing found: " + r.naive.Looked
	default:
		c.Caught, c.Text = true, r.naive.Findings[0].Text
		if r.sound != nil {
			c.Text += "; the same harm to the lock under test: nothing found, " + r.sound.Looked
		}
	}
	return c
}
