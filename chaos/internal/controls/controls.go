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

// Folder is what its folder is called.
func (c Control) Folder() string { return strings.ReplaceAll(c.Lock, " ", "-") }

// Naive returns the locks that were once published, in the order of [naive.All].
func Naive() []Control {
	var all []Control
	for _, c := range naive.All {
		all = append(all, Control{c.Name, c.Checker})
	}
	return all
}

// Own returns the locks of our own that are broken from outside.
func Own() []Control {
	var all []Control
	for _, e := range ownLocks {
		all = append(all, Control{e.lock, e.checker})
	}
	return all
}

// Options are what the controls run with.
type Options struct {
	// Dir is a folder for histories and logs. Every lock gets a folder of its name in it, which must not exist, and
	// another one if it is tried twice.
	Dir string
	// Runner is where the clients run.
	Runner traffic.Runner
	// Seed decides what the clients draw, and which masters are harmed first.
	Seed uint64
	// Say prints the progress for a person. Several goroutines call it.
	Say func(format string, args ...any)
	// Locks are those to try.
	Locks []Control
	// Backend is where the masters come from, by name. The zero value is [backend.Processes].
	Backend string
}

const (
	// atOnce is how many trials run side by side: most of them wait most of the time.
	atOnce = 6
	// bound is how long the traffic of one trial lasts at most.
	bound = 30 * time.Second
)

// Run tries broken locks, several at a time, and returns for each, in their order, whether its checker caught it. An
// error means that some of them did not run properly, so that there is no telling; those that did are returned.
func Run(ctx context.Context, o Options) ([]report.Control, error) {
	begin := time.Now()
	all, err := o.run(ctx, find)
	o.Say("controls: %d broken locks in %v", len(o.Locks), time.Since(begin).Round(time.Second/10))
	return all, err
}

// find returns how a lock is made to show its flaw.
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
	for _, long := range []bool{true, false} { // trials with an end take longest, and begin first
		for i, c := range locks {
			e, ok := find(c.Lock)
			if !ok {
				errs[2*i] = fmt.Errorf("the broken lock %q has no entry among the controls: write one", c.Lock)
				continue
			}
			if _, ok := checkers[c.Checker]; !ok {
				errs[2*i] = fmt.Errorf(
					"the broken lock %q is to be caught by %q, which judges no control: add it to the checkers",
					c.Lock,
					c.Checker,
				)
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
	_ = group.Wait() // the errors are gathered one by one
	var out []report.Control
	for i, r := range all {
		if errs[2*i] == nil && errs[2*i+1] == nil {
			out = append(out, r.report())
		}
	}
	return out, errors.Join(errs...)
}

// try runs one trial and says how it went. One that does not run properly shows nothing, and is run once more, as the
// harness may have stumbled; but not if the lock under test was caught in it, which must not be lost.
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
		return nil, fmt.Errorf(
			"the control %s did not run properly on the lock %s, see %s: %w",
			c.Lock,
			p.lock,
			p.dir(o, c),
			err,
		)
	case len(v.Findings) > 0:
		o.Say("control %s: after %v %s found in the lock %s: %s", c.Lock, took, c.Checker, p.lock, v.Findings[0].Text)
	default:
		o.Say("control %s: in %v %s found nothing in the lock %s (%s)", c.Lock, took, c.Checker, p.lock, v.Looked)
	}
	return &v, nil
}

// outcome is what a checker said of a broken lock, and of the lock under test in its place.
type outcome struct {
	Control
	broken *check.Verdict
	took   time.Duration
	sound  *check.Verdict // nil if the lock under test was not tried
}

func (r outcome) report() report.Control {
	c := report.Control{Lock: r.Lock, Checker: r.Checker, After: r.took}
	switch {
	case r.sound != nil && !r.sound.Held(): // whatever was caught, it need not have been the flaw
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
