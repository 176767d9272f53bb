package suite

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/controls"
	"github.com/redlock-go/redlock/chaos/internal/naive"
	"github.com/redlock-go/redlock/chaos/internal/report"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

// found has controls by where they run.
type found struct {
	published, own []controls.Control
	virtual        []simulation.Control
	written        []check.Control
}

// findControls returns the controls whose names match one of the patterns.
func findControls(patterns ...string) found {
	other := func(name string) bool {
		return !slices.ContainsFunc(patterns, func(p string) bool {
			ok, err := path.Match(p, name)
			return err == nil && ok
		})
	}
	onMasters := func(c controls.Control) bool { return other(c.Lock) }
	return found{
		published: slices.DeleteFunc(controls.Naive(), onMasters),
		own:       slices.DeleteFunc(controls.Own(), onMasters),
		virtual:   slices.DeleteFunc(simulation.Controls(), func(c simulation.Control) bool { return other(c.Name) }),
		written:   slices.DeleteFunc(check.Controls(), func(c check.Control) bool { return other(c.Name) }),
	}
}

// listed is a control as the usage lists it.
type listed struct{ name, checker, about string }

func (f found) list() (all []listed) {
	for _, c := range f.published {
		lock, _ := naive.Find(c.Lock)
		all = append(all, listed{c.Lock, c.Checker, "on real masters: " + lock.Doc})
	}
	for _, c := range f.own {
		all = append(all, listed{c.Lock, c.Checker, "on real masters: our own lock"})
	}
	for _, c := range f.virtual {
		all = append(all, listed{c.Name, c.By, "in the simulation: our own lock"})
	}
	for _, c := range f.written {
		all = append(all, listed{c.Name, c.Checker, "in a history written by hand"})
	}
	return all
}

// steps returns how the controls are tried.
func (c *command) steps(f found) []step {
	return []step{
		{
			"naive locks",
			func(ctx context.Context) (bool, error) { return c.catchOnMasters(ctx, f.published, c.index.naive) },
		},
		{
			"broken locks of our own, on real masters",
			func(ctx context.Context) (bool, error) { return c.catchOnMasters(ctx, f.own, c.index.own) },
		},
		{
			"broken locks of our own, in virtual time",
			func(ctx context.Context) (bool, error) { return c.catchInSimulation(ctx, f.virtual) },
		},
		{"histories written by hand", func(context.Context) (bool, error) { return c.catchWritten(f.written), nil }},
	}
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

// catchOnMasters runs controls on real masters, and enters the results into the index.
func (c *command) catchOnMasters(
	ctx context.Context,
	locks []controls.Control,
	enter func([]report.Control),
) (bool, error) {
	if len(locks) == 0 {
		return true, nil
	}
	o, err := c.options()
	if err != nil {
		return false, err
	}
	all, err := controls.Run(ctx, controls.Options{
		Dir: filepath.Join(c.dir, "controls"), Runner: o.Runner, Seed: c.flags.seed, Say: c.say, Locks: locks,
	})
	good := true
	for i := range all {
		all[i].Replay = c.flags.replayControl(all[i].Lock)
		folder := controls.Control{Lock: all[i].Lock}.Folder()
		good = c.reportControl(all[i], "folder: "+filepath.Join(c.dir, "controls", folder)) && good
	}
	enter(all)
	return good, err
}

// catchInSimulation runs controls in virtual time, and enters the results into the index.
func (c *command) catchInSimulation(ctx context.Context, all []simulation.Control) (bool, error) {
	good := true
	for _, control := range all {
		begin := time.Now()
		n, found := control.Catch(ctx)
		if err := ctx.Err(); err != nil {
			return false, err
		}
		one := report.Control{
			Lock: control.Name, Checker: string(control.By), Caught: found != nil, After: time.Since(begin), Schedules: n,
			Text: "nothing found", Replay: c.flags.replayControl(control.Name),
		}
		if found != nil {
			one.Text, _, _ = strings.Cut(found.Verdict(), "\n")
		}
		c.index.virtual(one)
		good = c.reportControl(one, fmt.Sprintf("%d schedules", n)) && good
	}
	return good, nil
}

// catchWritten runs controls on histories written by hand, and enters the results into the index.
func (c *command) catchWritten(all []check.Control) bool {
	good := true
	for _, control := range all {
		one := report.Control{
			Lock: control.Name, Checker: control.Checker, Text: "nothing found", Replay: c.flags.replayControl(control.Name),
		}
		if v := control.Catch(); len(v.Findings) > 0 {
			one.Caught, one.Text = true, v.Findings[0].Text
		}
		c.index.written(one)
		good = c.reportControl(one, "history: chaos/internal/check/controls.go") && good
	}
	return good
}

// reportControl prints whether a control was caught. If it was not, it also prints how to repeat it and where to look.
func (c *command) reportControl(one report.Control, where string) bool {
	if one.Caught {
		fmt.Fprintf(c.out, "control %-38s caught by %s after %v: %s\n",
			one.Lock, one.Checker, one.After.Round(time.Second/10), one.Text)
		return true
	}
	c.wrong = true
	fmt.Fprintf(c.out, "control %-38s NOT CAUGHT by %s: %s\n    again: %s\n    %s\n",
		one.Lock, one.Checker, one.Text, one.Replay, where)
	return false
}

// simulate runs schedules in virtual time.
func (c *command) simulate(ctx context.Context, n int) (bool, error) {
	sum, err := simulation.Many(ctx, c.flags.seed, n, c.say)
	s := report.Simulated{
		From: c.flags.seed, Planned: n, Schedules: sum.Schedules, Wall: sum.Wall, Virtual: sum.Virtual, Holds: sum.Holds,
		HandedOver: sum.HandedOver, Commands: sum.Commands, Profiles: sum.Profiles,
	}
	if err != nil {
		s.NoVerdict = err.Error()
	}
	for _, f := range sum.Found {
		c.wrong = true
		v := report.Violation{
			Seed: f.Seed, By: strings.Trim(fmt.Sprint(f.By), "[]"), File: fmt.Sprintf("simulation-%d.txt", f.Seed),
			Replay: fmt.Sprintf("go run ./chaos -backend simulation -schedules 1 -seed %d", f.Seed),
		}
		for line := range strings.Lines(f.Report) {
			if strings.HasPrefix(line, "VIOLATION") || strings.HasPrefix(line, "PROBLEM") {
				v.Text = strings.TrimSpace(line)
				break
			}
		}
		fmt.Fprintf(c.out, "%v\nagain: %s\nfolder: %s\n", f, v.Replay, c.dir)
		if err := os.WriteFile(filepath.Join(c.dir, v.File), []byte(f.String()), 0o644); err != nil {
			c.say("%s is not kept: %v", v.File, err)
		}
		s.Violations = append(s.Violations, v)
	}
	c.index.simulated(s)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(
		c.out,
		"%-46s %d schedules in %v: %v of virtual time, %d holds, %d commands, %d violations\n",
		"simulation, from seed "+fmt.Sprint(c.flags.seed),
		sum.Schedules,
		sum.Wall.Round(time.Second),
		sum.Virtual.Round(time.Second),
		sum.Holds,
		sum.Commands,
		len(sum.Found),
	)
	return len(sum.Found) == 0, nil
}
