// Package controls proves the checkers: each must catch locks and histories that are broken on purpose. One table says
// what is broken, where it is tried, with which harm, and by which checker it must be caught.
//
// If a flaw takes harm on real masters to show, the lock under test gets the same traffic and the same harm, and the
// checker must find nothing. Otherwise the checker would have caught the harm, not the flaw.
package controls

import (
	"context"
	"errors"
	"path"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock/chaos/internal/clients"
	"github.com/redlock-go/redlock/chaos/internal/report"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

// A Control is a lock of package broken, or a history, with the checker that must catch it.
type Control struct {
	Lock, Checker string
	// Says is a text that the finding must contain, since some checkers verify several things. "" accepts any finding.
	Says string

	in place
}

// place is where a control is tried: [real] masters, [simulated] ones, or a [written] history.
type place interface {
	set() int
	try(ctx context.Context, o Options, c Control) (report.Control, error)
}

// The sets of controls, in the order in which they are tried.
const (
	masters = iota
	virtual
	histories
)

// A Set has the controls that are tried in one place.
type Set struct {
	Title, About string
	Controls     []Control

	atOnce int
}

// Options say what to run the controls with.
type Options struct {
	// Dir is a folder for histories and logs. Each trial creates its own folder in it, which must not exist yet.
	Dir string
	// Runner starts the clients.
	Runner clients.Runner
	// Seed determines what the clients draw, and which masters are harmed first.
	Seed uint64
	// Playing returns what plays schedules with a broken lock, in Order.
	Playing func(ctx context.Context) (func(lock string) simulation.Play, error)
	Order   uint64
	// Say prints progress. Several goroutines may call it at the same time.
	Say func(format string, args ...any)
}

// Find returns the controls whose names match one of the patterns, in their sets.
func Find(patterns ...string) []Set {
	sets := []Set{
		{Title: "Our lock on real masters", About: "Broken from outside, on masters in processes.", atOnce: 4},
		{Title: "Our lock in virtual time", About: "Broken from outside, in the simulation.", atOnce: runtime.GOMAXPROCS(0)},
		{Title: "Broken runs", About: "In histories written by hand.", atOnce: 1},
	}
	for _, c := range all {
		if slices.ContainsFunc(patterns, func(p string) bool { ok, err := path.Match(p, c.Lock); return err == nil && ok }) {
			s := &sets[c.in.set()]
			s.Controls = append(s.Controls, c)
		}
	}
	return slices.DeleteFunc(sets, func(s Set) bool { return len(s.Controls) == 0 })
}

// Named returns the control of a broken lock in virtual time.
func Named(lock string) Control {
	return inSimulation[slices.IndexFunc(inSimulation, func(c Control) bool { return c.Lock == lock })]
}

// Try tries all controls, several at a time, and calls done with each result. A control that could not be tried has
// none, and is an error.
func (s Set) Try(ctx context.Context, o Options, done func(report.Control)) error {
	results, errs := make([]report.Control, len(s.Controls)), make([]error, len(s.Controls))
	var group errgroup.Group
	group.SetLimit(s.atOnce)
	for i, c := range s.Controls {
		group.Go(func() error {
			begin := time.Now()
			r, err := c.in.try(ctx, o, c)
			r.Lock, r.Checker, r.After = c.Lock, c.Checker, time.Since(begin)
			results[i], errs[i] = r, err
			return nil
		})
	}
	_ = group.Wait() // errs has the errors
	for i, err := range errs {
		if err == nil {
			done(results[i])
		}
	}
	return errors.Join(errs...)
}
