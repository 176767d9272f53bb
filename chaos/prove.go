package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/controls"
	"github.com/redlock-go/redlock/chaos/internal/report"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

// findControls returns the controls whose names match one of the patterns.
func findControls(patterns []string) (published, own []controls.Control, virtual []simulation.Control) {
	named := func(name string) bool {
		for _, p := range patterns {
			if ok, err := path.Match(p, name); err == nil && ok {
				return true
			}
		}
		return false
	}
	other := func(c controls.Control) bool { return !named(c.Lock) }
	published, own = slices.DeleteFunc(controls.Naive(), other), slices.DeleteFunc(controls.Own(), other)
	virtual = slices.DeleteFunc(simulation.Controls(), func(c simulation.Control) bool { return !named(c.Name) })
	return published, own, virtual
}

// onlyControls tries the controls that were asked for.
func (c *command) onlyControls(ctx context.Context) (bool, error) {
	published, own, virtual := findControls(c.flags.controls)
	all := true
	for _, try := range []func() (bool, error){
		func() (bool, error) { return c.real(ctx, published, c.book.naive) },
		func() (bool, error) { return c.real(ctx, own, c.book.own) },
		func() (bool, error) { return c.broken(ctx, virtual) },
	} {
		caught, err := try()
		if err != nil {
			return false, err
		}
		all = all && caught
	}
	return all, nil
}

// real has broken locks caught on real masters, and enters them into the book.
func (c *command) real(ctx context.Context, locks []controls.Control, enter func([]report.Control)) (bool, error) {
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
		all[i].Replay = c.flags.againControl(all[i].Lock)
		folder := controls.Control{Lock: all[i].Lock}.Folder()
		good = c.tell(all[i], "folder: "+filepath.Join(c.dir, "controls", folder)) && good
	}
	enter(all)
	return good, err
}

// broken has controls of the simulation caught.
func (c *command) broken(ctx context.Context, all []simulation.Control) (bool, error) {
	good := true
	for _, control := range all {
		begin := time.Now()
		n, found := control.Catch(ctx)
		if err := ctx.Err(); err != nil {
			return false, err
		}
		one := report.Control{
			Lock: control.Name, Checker: string(control.By), Caught: found != nil, After: time.Since(begin), Schedules: n,
			Text: "nothing found", Replay: c.flags.againControl(control.Name),
		}
		if found != nil {
			one.Text, _, _ = strings.Cut(found.Verdict(), "\n")
		}
		c.book.virtual(one)
		good = c.tell(one, fmt.Sprintf("%d schedules", n)) && good
	}
	return good, nil
}

// tell says whether a control was caught, and if not, how to try it again and where to look.
func (c *command) tell(one report.Control, where string) bool {
	if one.Caught {
		fmt.Fprintf(c.out, "control %-38s caught by %s after %v: %s\n", one.Lock, one.Checker, one.After.Round(time.Second/10), one.Text)
		return true
	}
	c.wrong = true
	fmt.Fprintf(c.out, "control %-38s NOT CAUGHT by %s: %s\n    again: %s\n    %s\n", one.Lock, one.Checker, one.Text, one.Replay, where)
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
	c.book.simulated(s)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(c.out, "%-46s %d schedules in %v: %v of virtual time, %d holds, %d commands, %d violations\n", "simulation, from seed "+fmt.Sprint(c.flags.seed),
		sum.Schedules, sum.Wall.Round(time.Second), sum.Virtual.Round(time.Second), sum.Holds, sum.Commands, len(sum.Found))
	return len(sum.Found) == 0, nil
}
