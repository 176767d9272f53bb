// Package controls proves the checkers on real masters. Every naive lock (see package naive) and every lock of our own
// that is broken from outside (see package broken) gets the traffic and the harm that show its flaw, in client
// processes. The checker that was named beforehand must catch it. If the flaw takes harm to show, the lock under test
// gets the same traffic and the same harm, and the same checker must find nothing. Otherwise the checker would have
// caught the harm, not the flaw.
package controls

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/clients"
	"github.com/redlock-go/redlock/chaos/internal/report"
)

// Options say what to run the controls with.
type Options struct {
	// Dir is a folder for histories and logs. Each trial creates its own folder in it, which must not exist yet.
	Dir string
	// Runner starts the clients.
	Runner clients.Runner
	// Seed determines what the clients draw, and which masters are harmed first.
	Seed uint64
	// Say prints progress. Several goroutines may call it at the same time.
	Say func(format string, args ...any)
}

const (
	// atOnce is how many trials run at the same time. Most of them wait most of the time.
	atOnce = 6
	// bound is the maximum duration of a trial's traffic. Most flaws show within seconds; a busy machine needs longer.
	bound = 2 * time.Minute
)

// Run runs controls, several at a time, and returns their results in the same order. If some could not be run properly,
// it returns an error and the results of the others.
func Run(ctx context.Context, o Options, controls ...Control) ([]report.Control, error) {
	begin := time.Now()
	all := make([]outcome, len(controls))
	errs := make([]error, 2*len(controls))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, long := range []bool{true, false} { // trials with a fixed end take longest, so they start first
		for i, c := range controls {
			if (c.harm != nil || c.proof || c.ends()) != long {
				continue
			}
			all[i].Control = c
			group.Go(func() error {
				begin := time.Now()
				all[i].broken, errs[2*i] = o.try(ctx, c)
				all[i].took = time.Since(begin)
				return nil
			})
			if c.proof {
				group.Go(func() error { all[i].sound, errs[2*i+1] = o.try(ctx, c.sound()); return nil })
			}
		}
	}
	_ = group.Wait() // errs has the errors
	var out []report.Control
	for i, r := range all {
		if errs[2*i] == nil && errs[2*i+1] == nil {
			out = append(out, r.report(o))
		}
	}
	o.Say("controls: %d broken locks in %v", len(controls), time.Since(begin).Round(time.Second/10))
	return out, errors.Join(errs...)
}

// uses returns the lock that the clients use.
func (c Control) uses() string { return cmp.Or(c.instead, c.Lock) }

// dir returns the folder of a trial of the control.
func (c Control) dir(o Options) string {
	name := strings.ReplaceAll(c.Lock, " ", "-")
	if c.instead != "" {
		name += "-" + c.instead
	}
	return filepath.Join(o.Dir, name)
}

// try runs one trial and prints its result. A trial that did not run properly is an error, which has what it found.
func (o Options) try(ctx context.Context, c Control) (*check.Verdict, error) {
	begin := time.Now()
	v, err := run(ctx, o, c)
	took := time.Since(begin).Round(time.Second / 10)
	switch {
	case err != nil:
		if len(v.Findings) > 0 {
			err = fmt.Errorf("%w; findings nevertheless: %s", err, v.Findings[0].Text)
		}
		return nil, fmt.Errorf("the control %s did not run properly on the lock %s, see %s: %w",
			c.Lock, c.uses(), c.dir(o), err)
	case len(v.Findings) > 0:
		o.Say("control %s: after %v %s found in the lock %s: %s", c.Lock, took, c.Checker, c.uses(), v.Findings[0].Text)
	default:
		o.Say("control %s: in %v %s found nothing in the lock %s (%s)", c.Lock, took, c.Checker, c.uses(), v.Looked)
	}
	return &v, nil
}

// outcome pairs the verdict on a broken lock with the verdict on the lock under test in its place.
type outcome struct {
	Control
	broken *check.Verdict
	took   time.Duration
	sound  *check.Verdict // nil if the lock under test was not tried
}

func (r outcome) report(o Options) report.Control {
	c := report.Control{Lock: r.Lock, Checker: r.Checker, After: r.took, Where: "folder: " + r.dir(o)}
	switch {
	case r.sound != nil && !r.sound.Held(): // so the checker need not have caught the flaw
		c.Text = "the same traffic and harm show this in the lock under test: " + r.sound.Findings[0].Text
	case len(r.broken.Findings) == 0:
		c.Text = "nothing found: " + r.broken.Looked
	default:
		c.Caught, c.Text = true, r.broken.Findings[0].Text
		if r.sound != nil {
			c.Text += "; the same traffic and harm with the lock under test: nothing found, " + r.sound.Looked
		}
	}
	return c
}
