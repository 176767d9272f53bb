// Package controls proves the checkers of the lock: each must catch locks that are broken on purpose. One table says
// what is broken, where it is tried, and by which checker it must be caught.
//
// What is played with a broken lock is a scenario of the harness, or a profile of the simulation. Both are also played
// with the lock under test. There the checker finds nothing, so it is the flaw that it catches, and not the harm.
package controls

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/repeat"
	"github.com/redlock-go/redlock/chaos/internal/scenarios"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

// A Control is a lock of package broken, with the checker that must catch it.
type Control struct {
	Lock, Checker string
	// Says is a text that the finding must contain, since some checkers verify several things. "" accepts any finding.
	Says string
	// In is the scenario in which the control is tried, or a profile of the simulation. Within is the maximum number of
	// schedules in virtual time, counted from seed 1; with 0 the control is tried on real masters.
	In     string
	Within int
}

// A Set has the controls that are tried in one place.
type Set struct {
	Title    string
	Controls []Control

	atOnce int
}

// Result is the result of a control.
type Result struct {
	Control
	Caught bool
	// Text is the finding, or the reason why the control does not count as caught.
	Text  string
	After time.Duration
	Where string // to look at it
}

// of returns the result for a verdict on what is broken.
func (c Control) of(v check.Verdict, where string) Result {
	r := Result{Control: c, Text: strings.TrimSuffix("nothing found: "+v.Looked, ": "), Where: where}
	if len(v.Findings) > 0 {
		r.Text = "something else was found: " + v.Findings[0].Text
	}
	for _, f := range v.Findings {
		if strings.Contains(f.Text, c.Says) {
			r.Caught, r.Text = true, f.Text
			break
		}
	}
	return r
}

// Find returns the controls whose names match one of the patterns, in their sets.
func Find(patterns ...string) []Set {
	sets := []Set{
		{Title: "Our lock on real masters", atOnce: 4},
		{Title: "Our lock in virtual time", atOnce: runtime.GOMAXPROCS(0)},
	}
	for _, c := range all {
		if slices.ContainsFunc(patterns, func(p string) bool { ok, _ := path.Match(p, c.Lock); return ok }) {
			i := min(c.Within, 1)
			sets[i].Controls = append(sets[i].Controls, c)
		}
	}
	return slices.DeleteFunc(sets, func(s Set) bool { return len(s.Controls) == 0 })
}

// Try tries all controls, several at a time, and calls done with each result, one at a time. A control that could not
// be tried has none, and is an error.
func (s Set) Try(ctx context.Context, o scenarios.Options, done func(Result)) error {
	var mu sync.Mutex
	return repeat.AtMost(s.atOnce, len(s.Controls), func(i int) error {
		begin := time.Now()
		try := s.Controls[i].onMasters
		if s.Controls[i].Within > 0 {
			try = s.Controls[i].simulated
		}
		r, err := try(ctx, o)
		r.After = time.Since(begin)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			done(r)
		}
		return err
	})
}

// onMasters tries the control on real masters, in a short run of its scenario.
func (c Control) onMasters(ctx context.Context, o scenarios.Options) (Result, error) {
	found, err := scenarios.Find(c.In)
	if err != nil {
		return Result{}, err
	}
	s, run := found[0], o
	s.Lock, s.Storm = c.Lock, scenarios.LeastStorm
	run.Backend, run.Say = backend.Processes, func(string, ...any) {}
	run.Dir = filepath.Join(o.Dir, strings.ReplaceAll(c.Lock, " ", "-"))
	if err := os.MkdirAll(run.Dir, 0o755); err != nil {
		return Result{}, err
	}
	out, err := scenarios.Play(ctx, s, run)
	if err == nil {
		err = out.Failed()
	}
	if err != nil {
		return Result{}, fmt.Errorf("the control %s did not run properly, see %s: %w", c.Lock, run.Dir, err)
	}
	return c.of(out.Verdict(c.Checker), "folder: "+run.Dir), nil
}

// simulated tries the control in virtual time.
func (c Control) simulated(ctx context.Context, o scenarios.Options) (Result, error) {
	play, err := o.Playing(c.Lock)
	if err != nil {
		return Result{}, err
	}
	n, found := c.Catch(ctx, play, o.Order)
	r := Result{Control: c, Text: "nothing found", Where: fmt.Sprintf("%d schedules of %d at most", n, c.Within)}
	if found != nil {
		r.Caught = true
		r.Text = found.Said(c.Checker, c.Says)
	}
	return r, ctx.Err()
}

// Catch plays schedules of a control in virtual time until its checker notices the fault. It returns the number of
// schedules and the result that shows the fault, or nil if none did.
func (c Control) Catch(ctx context.Context, play simulation.Play, order uint64) (n int, found *simulation.Result) {
	draw := func(n uint64) simulation.Schedule { return simulation.Of(c.In, n) }
	if of, err := scenarios.Find(c.In); err == nil {
		draw = of[0].Schedule
	}
	for n < c.Within && ctx.Err() == nil {
		n++
		if r := play(draw(uint64(n)), order); r.Said(c.Checker, c.Says) != "" {
			return n, r
		}
	}
	return n, nil
}
