package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/controls"
	"github.com/redlock-go/redlock/chaos/naive"
	"github.com/redlock-go/redlock/chaos/report"
	"github.com/redlock-go/redlock/chaos/simulation"
)

// findControls returns the controls whose names match one of the patterns.
func findControls(patterns []string) (locks []naive.Control, own []simulation.Control) {
	named := func(name string) bool {
		for _, p := range patterns {
			if ok, err := path.Match(p, name); err == nil && ok {
				return true
			}
		}
		return false
	}
	for _, c := range naive.All {
		if named(c.Name) {
			locks = append(locks, c)
		}
	}
	for _, c := range simulation.Controls() {
		if named(c.Name) {
			own = append(own, c)
		}
	}
	return locks, own
}

// onlyControls tries the controls that were asked for.
func (c *command) onlyControls(ctx context.Context) (bool, error) {
	locks, own := findControls(c.flags.controls)
	caught, err := true, error(nil)
	if len(locks) > 0 {
		caught, err = c.naive(ctx, locks)
	}
	if err != nil || len(own) == 0 {
		return caught, err
	}
	all, err := c.broken(ctx, own)
	return caught && all, err
}

// naive has naive locks caught, on real masters.
func (c *command) naive(ctx context.Context, locks []naive.Control) (bool, error) {
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
		good = c.tell(all[i], "folder: "+filepath.Join(c.dir, "controls", all[i].Lock)) && good
	}
	c.book.naive(all)
	return good, err
}

// broken has controls of the simulation caught: our own lock with a rule taken out.
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
		c.book.own(one)
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
