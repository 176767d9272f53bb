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

// onlyControls runs the controls that the command line names.
func (c *command) onlyControls(ctx context.Context) (bool, error) {
	published, own, virtual := findControls(c.flags.controls)
	all := true
	for _, try := range []func() (bool, error){
		func() (bool, error) { return c.catchOnMasters(ctx, published, c.index.naive) },
		func() (bool, error) { return c.catchOnMasters(ctx, own, c.index.own) },
		func() (bool, error) { return c.catchInSimulation(ctx, virtual) },
	} {
		caught, err := try()
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
