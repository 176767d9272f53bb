package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/controls"
	"github.com/redlock-go/redlock/chaos/internal/naive"
	"github.com/redlock-go/redlock/chaos/internal/report"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

// A controlSet has controls that are tried in one way.
type controlSet struct {
	title, about string // in the index
	list         []listed
	// try tries the controls, and calls done with each result.
	try func(ctx context.Context, c *command, done func(report.Control)) error
}

// listed is a control as the usage lists it.
type listed struct{ name, checker, about string }

// findControls returns the controls whose names match one of the patterns, in all sets that there are.
func findControls(patterns ...string) []controlSet {
	wanted := func(name string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			ok, err := path.Match(p, name)
			return err == nil && ok
		})
	}
	sets := []controlSet{
		setOf("Naive locks", "Locks as others have published them, on masters in processes, some of which are harmed.",
			controls.Naive(), wanted, onMasters, func(c controls.Control) listed {
				lock, _ := naive.Find(c.Lock)
				return listed{c.Lock, c.Checker, "on real masters: " + lock.Doc}
			}),
		setOf("Our own lock, broken from outside, on real masters", "On masters in processes, some of which are harmed.",
			controls.Own(), wanted, onMasters, func(c controls.Control) listed {
				return listed{c.Lock, c.Checker, "on real masters: our own lock"}
			}),
		setOf("Our own lock, broken from outside", "In the simulation.",
			simulation.Controls(), wanted, inSimulation, func(c simulation.Control) listed {
				return listed{c.Name, c.By, "in the simulation: our own lock"}
			}),
		setOf("Broken runs", "In histories written by hand.",
			check.Controls(), wanted, written, func(c check.Control) listed {
				return listed{c.Name, c.Checker, "in a history written by hand"}
			}),
	}
	return slices.DeleteFunc(sets, func(s controlSet) bool { return len(s.list) == 0 })
}

func setOf[C any](
	title, about string, all []C, wanted func(name string) bool,
	try func(context.Context, *command, []C, func(report.Control)) error, list func(C) listed,
) controlSet {
	all = slices.DeleteFunc(all, func(c C) bool { return !wanted(list(c).name) })
	s := controlSet{title: title, about: about}
	for _, c := range all {
		s.list = append(s.list, list(c))
	}
	s.try = func(ctx context.Context, c *command, done func(report.Control)) error { return try(ctx, c, all, done) }
	return s
}

// steps returns how the controls are tried. Each result is printed and entered into the index.
func (c *command) steps(sets []controlSet) (steps []step) {
	for _, s := range sets {
		steps = append(steps, step{s.title, func(ctx context.Context) (bool, error) {
			good := true
			err := s.try(ctx, c, func(one report.Control) {
				one.Replay = c.flags.replayControl(one.Lock)
				c.index.control(s.title, s.about, one)
				good = c.reportControl(one) && good
			})
			return good, err
		}})
	}
	return steps
}

// onlyControls runs the controls that the command line names.
func (c *command) onlyControls(ctx context.Context) (bool, error) {
	all := true
	for _, s := range c.steps(findControls(c.flags.controls...)) {
		caught, err := s.do(ctx)
		if err != nil {
			return false, err
		}
		all = all && caught
	}
	return all, nil
}

// onMasters runs controls on real masters.
func onMasters(ctx context.Context, c *command, all []controls.Control, done func(report.Control)) error {
	runner, err := processes()
	if err != nil {
		return err
	}
	results, err := controls.Run(ctx, controls.Options{
		Dir: filepath.Join(c.dir, "controls"), Runner: runner, Seed: c.flags.seed, Say: c.say,
	}, all...)
	for _, one := range results {
		done(one)
	}
	return err
}

// inSimulation runs controls in virtual time, exactly: each is caught by the same schedule every time.
func inSimulation(ctx context.Context, c *command, all []simulation.Control, done func(report.Control)) error {
	p, err := c.exactly(ctx)
	if err != nil {
		return err
	}
	results, rows := make([]report.Control, len(all)), make([]string, len(all))
	var running errgroup.Group
	running.SetLimit(runtime.GOMAXPROCS(0))
	for i, control := range all {
		running.Go(func() error {
			begin := time.Now()
			n, found := control.Catch(ctx, p.Playing(control.Name), c.flags.order)
			results[i] = report.Control{
				Lock: control.Name, Checker: control.By, Caught: found != nil, After: time.Since(begin), Schedules: n,
				Text: "nothing found", Where: fmt.Sprintf("%d schedules", n),
			}
			if found != nil {
				results[i].Text, _, _ = strings.Cut(found.Verdict(), "\n")
			}
			if c.flags.table != "" {
				rows[i] = row(ctx, control, p.Playing(control.Name))
			}
			return ctx.Err()
		})
	}
	err = running.Wait()
	for _, one := range results {
		if one.Caught || err == nil {
			done(one)
		}
	}
	if c.flags.table != "" {
		head := "| broken lock | within | native | exact, without yields | exact, order 1 | exact, order 2 |\n" +
			"|---|---|---|---|---|---|\n"
		err = errors.Join(err, os.WriteFile(c.flags.table, []byte(head+strings.Join(rows, "")), 0o644))
	}
	return err
}

// row is the row of a control in the table of the command line: how many schedules it takes to catch it.
func row(ctx context.Context, control simulation.Control, exactly simulation.Play) string {
	text := fmt.Sprintf("| %s | %d |", control.Name, control.Within)
	count := func(play simulation.Play, order uint64) {
		n, found := control.Catch(ctx, play, order)
		if found == nil {
			text += " not in"
		}
		text += fmt.Sprintf(" %d |", n)
	}
	count(simulation.Natively(control.Open), 0)
	for order := range uint64(3) {
		count(exactly, order)
	}
	return text + "\n"
}

// written tries controls on histories written by hand.
func written(_ context.Context, _ *command, all []check.Control, done func(report.Control)) error {
	for _, control := range all {
		one := report.Control{
			Lock: control.Name, Checker: control.Checker, Text: "nothing found",
			Where: "history: chaos/internal/check/controls.go",
		}
		if v := control.Catch(); len(v.Findings) > 0 {
			one.Caught, one.Text = true, v.Findings[0].Text
		}
		done(one)
	}
	return nil
}

// reportControl prints whether a control was caught. If it was not, it also prints how to repeat it and where to look.
func (c *command) reportControl(one report.Control) bool {
	if one.Caught {
		fmt.Fprintf(c.out, "control %-38s caught by %s after %v: %s\n",
			one.Lock, one.Checker, one.After.Round(time.Second/10), one.Text)
		return true
	}
	c.wrong = true
	fmt.Fprintf(c.out, "control %-38s NOT CAUGHT by %s: %s\n    again: %s\n    %s\n",
		one.Lock, one.Checker, one.Text, one.Replay, one.Where)
	return false
}
