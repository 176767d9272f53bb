// Package controls proves the checkers on real masters. Every naive lock (see package naive) and every lock of our own
// that is broken from outside (see package broken) gets the traffic and the harm that show its flaw, in client
// processes. The checker that was named beforehand must catch it. If the flaw takes harm to show, the lock under test
// gets the same traffic and the same harm, and the same checker must find nothing. Otherwise the checker would have
// caught the harm, not the flaw.
package controls

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/naive"
	"github.com/redlock-go/redlock/chaos/internal/report"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// Control is a lock that is broken on purpose, and the checker that must catch it.
type Control struct{ Lock, Checker string }

// Folder returns the name of the control's folder.
func (c Control) Folder() string { return strings.ReplaceAll(c.Lock, " ", "-") }

// Naive returns the controls of the locks in package naive, in the order of [naive.All].
func Naive() []Control {
	var all []Control
	for _, c := range naive.All {
		all = append(all, Control{c.Name, c.Checker})
	}
	return all
}

// Own returns the controls of our own locks that are broken from outside.
func Own() []Control {
	var all []Control
	for _, e := range ownLocks {
		all = append(all, Control{e.lock, e.checker})
	}
	return all
}

// Options say what to run the controls with.
type Options struct {
	// Dir is a folder for histories and logs. Each trial creates its own folder in it, which must not exist yet, and
	// another one if it is repeated.
	Dir string
	// Runner starts the clients.
	Runner traffic.Runner
	// Seed determines what the clients draw, and which masters are harmed first.
	Seed uint64
	// Say prints progress. Several goroutines may call it at the same time.
	Say func(format string, args ...any)
	// Locks are the controls to run.
	Locks []Control
	// Backend is the name of the backend that runs the masters. The default is [backend.Processes].
	Backend string
}

const (
	// atOnce is how many trials run at the same time. Most of them wait most of the time.
	atOnce = 6
	// bound is the maximum duration of a trial's traffic.
	bound = 30 * time.Second
)

// Run runs the controls, several at a time, and returns their results in the order of o.Locks. If some could not be run
// properly, it returns an error and the results of the others.
func Run(ctx context.Context, o Options) ([]report.Control, error) {
	begin := time.Now()
	all, err := o.run(ctx, find)
	o.Say("controls: %d broken locks in %v", len(o.Locks), time.Since(begin).Round(time.Second/10))
	return all, err
}

// find returns the entry that exposes a lock's flaw.
func find(lock string) (entry, bool) {
	all := slices.Concat(naiveLocks, ownLocks)
	i := slices.IndexFunc(all, func(e entry) bool { return e.lock == lock })
	if i < 0 {
		return entry{}, false
	}
	return all[i], true
}

func (o Options) run(ctx context.Context, find func(lock string) (entry, bool)) ([]report.Control, error) {
	locks := o.Locks
	if o.Backend == "" {
		o.Backend = backend.Processes
	}
	all := make([]outcome, len(locks))
	errs := make([]error, 2*len(locks))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, long := range []bool{true, false} { // trials with a fixed end take longest, so they start first
		for i, c := range locks {
			e, ok := find(c.Lock)
			if !ok {
				errs[2*i] = fmt.Errorf("the broken lock %q has no entry among the controls: write one", c.Lock)
				continue
			}
			if _, ok := check.Lookup(c.Checker); !ok {
				errs[2*i] = fmt.Errorf("the broken lock %q is to be caught by %q, which is no checker", c.Lock, c.Checker)
				continue
			}
			if (e.harm != nil || e.proof != nil || e.ends()) != long {
				continue
			}
			all[i].Control = c
			group.Go(func() error {
				begin := time.Now()
				all[i].broken, errs[2*i] = o.try(ctx, c, e.plan)
				all[i].took = time.Since(begin)
				return nil
			})
			if e.proof != nil {
				group.Go(func() error { all[i].sound, errs[2*i+1] = o.try(ctx, c, e.sound()); return nil })
			}
		}
	}
	_ = group.Wait() // errs has the errors
	var out []report.Control
	for i, r := range all {
		if errs[2*i] == nil && errs[2*i+1] == nil {
			out = append(out, r.report())
		}
	}
	return out, errors.Join(errs...)
}

// try runs one trial and prints its result. It repeats a trial that did not run properly, since the harness may have
// failed. It does not repeat one that has found something in the lock under test, because that finding must not get
// lost.
func (o Options) try(ctx context.Context, c Control, p plan) (*check.Verdict, error) {
	begin := time.Now()
	v, err := run(ctx, o, c, p)
	if err != nil && ctx.Err() == nil && (len(v.Findings) == 0 || p.lock == c.Lock) {
		o.Say("the control %s did not run properly on the lock %s, see %s: %v; once more", c.Lock, p.lock, p.dir(o, c), err)
		p.again = true
		v, err = run(ctx, o, c, p)
	}
	took := time.Since(begin).Round(time.Second / 10)
	switch {
	case err != nil:
		if len(v.Findings) > 0 {
			err = fmt.Errorf("%w; and yet it was found: %s", err, v.Findings[0].Text)
		}
		return nil, fmt.Errorf("the control %s did not run properly on the lock %s, see %s: %w",
			c.Lock, p.lock, p.dir(o, c), err)
	case len(v.Findings) > 0:
		o.Say("control %s: after %v %s found in the lock %s: %s", c.Lock, took, c.Checker, p.lock, v.Findings[0].Text)
	default:
		o.Say("control %s: in %v %s found nothing in the lock %s (%s)", c.Lock, took, c.Checker, p.lock, v.Looked)
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

func (r outcome) report() report.Control {
	c := report.Control{Lock: r.Lock, Checker: r.Checker, After: r.took}
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
