package suite

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/exact"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/picture"
	"github.com/redlock-go/redlock/chaos/internal/repeat"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

// playing returns what plays schedules exactly.
func (c *command) playing(lock string) (simulation.Play, error) {
	p, err := c.exactly()
	if err != nil {
		return nil, err
	}
	return p.Playing(lock), nil
}

// one plays the schedule of the command line, or of its seed, in one order. It keeps the trace and the history.
func (c *command) one() error {
	p, err := c.exactly()
	if err != nil {
		return err
	}
	var s simulation.Schedule
	switch f := c.flags; {
	case f.schedule != "":
		text, err := os.ReadFile(f.schedule)
		if err != nil {
			return err
		}
		if s, err = simulation.Parse(text); err != nil {
			return fmt.Errorf("%s: %w", f.schedule, err)
		}
	case len(f.scenarios) > 0:
		s = f.scenarios[0].Schedule(f.seed)
	default:
		s = simulation.Draw(f.seed)
	}
	r, err := p.Play(exact.Job{Schedule: s, Lock: c.flags.lock, Order: c.flags.order, Whole: true})
	if err != nil { // the lock or the harness ended with a panic
		r = simulation.Failed(s, err)
		r.Text = err.Error() + "\n"
	}
	var findings []check.Finding
	for _, f := range r.Wrong() {
		findings = append(findings, f.Finding)
	}
	err = errors.Join(
		picture.Save(filepath.Join(c.dir, "history.html"), c.flags.again(s.Seed), r.Text, r.Events, findings),
		os.WriteFile(filepath.Join(c.dir, "trace.txt"), []byte(r.Text), 0o644),
		os.WriteFile(filepath.Join(c.dir, "schedule.json"), []byte(s.JSON()), 0o644),
		history.Save(filepath.Join(c.dir, "history.jsonl"), r.Events),
	)
	fmt.Fprintf(c.out, "%sprogram %s, seed %d, order %d: %s\n", r.Text, p.Program, s.Seed, c.flags.order, r.Hash)
	if !r.OK() {
		c.wrong = append(c.wrong, fmt.Sprintf("seed %d, order %d", s.Seed, c.flags.order))
	}
	return err
}

// simulate plays n of the simulation's own schedules.
func (c *command) simulate(ctx context.Context, n int) error {
	p, err := c.exactly()
	if err != nil {
		return err
	}
	sum, err := simulation.Batch{
		From: c.flags.seed, N: n, Draw: simulation.Draw, Say: c.say, Play: p.Playing(c.flags.lock),
		Order: c.flags.order, Orders: c.flags.orders, Replay: func(seed, order uint64) string {
			return c.flags.replaySchedule("", seed, order)
		},
	}.Run(ctx)
	for _, f := range sum.Found {
		c.wrong = append(c.wrong, fmt.Sprintf("seed %d, order %d", f.Seed, f.Order))
		c.found(f)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(c.out, "%-46s %d schedules in %v, program %s: %v of virtual time, %d holds, %d commands, %d violations\n",
		"simulation, from seed "+fmt.Sprint(c.flags.seed), sum.Schedules, sum.Wall.Round(time.Second), p.Program,
		sum.Virtual.Round(time.Second), sum.Holds, sum.Commands, len(sum.Found))
	file := filepath.Join(c.dir, "hashes.txt")
	fmt.Fprintf(c.out, "hash of all %x: %s\n", sha256.Sum256([]byte(sum.Hashes)), file)
	return os.WriteFile(file, []byte(sum.Hashes), 0o644)
}

// found prints a finding and keeps it, with its smallest schedule.
func (c *command) found(f simulation.Finding) {
	fmt.Fprint(c.out, f)
	keep := func(file, text string) {
		if err := os.WriteFile(filepath.Join(c.dir, file), []byte(text), 0o644); err != nil {
			c.say("%s is not kept: %v", file, err)
		}
	}
	name := fmt.Sprintf("simulation-%d", f.Seed)
	keep(name+".txt", f.String())
	if f.Minimal != nil {
		small := name + "-smallest.json"
		keep(small, f.Minimal.JSON())
		fmt.Fprintf(c.out, "the smallest schedule again: %s\n", c.flags.again(f.Seed,
			"-exact", "-schedule", quote(filepath.Join(c.dir, small)), "-order", fmt.Sprint(f.MinimalOrder)))
	}
}

// tests runs the Go tests that run in virtual time, of the packages of the command line, each in many orders.
func (c *command) tests(ctx context.Context) error {
	wanted, err := regexp.Compile(c.flags.run)
	if err != nil {
		return err
	}
	for _, pkg := range c.flags.tests {
		out, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Module.Dir}}\n{{.Dir}}", pkg).Output()
		if err != nil {
			return fmt.Errorf("find the package %s: %w", pkg, err)
		}
		root, dir, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		names, err := exact.InVirtualTime(dir)
		if err != nil {
			return err
		}
		names = slices.DeleteFunc(names, func(name string) bool { return !wanted.MatchString(name) })
		if len(names) == 0 {
			return fmt.Errorf("%s has no test in virtual time that matches %q", pkg, c.flags.run)
		}
		p, err := exact.OpenTest(ctx, c.say, dir)
		if err != nil {
			return err
		}
		begin, wrong := time.Now(), len(c.wrong)
		var mu sync.Mutex // for c
		_ = repeat.AtMost(runtime.GOMAXPROCS(0), len(names), func(i int) error {
			order, text, err := uint64(0), "", error(nil)
			for n := 0; n < c.flags.orders && err == nil; n++ { // more orders of a test that failed add little
				if ctx.Err() != nil {
					return nil
				}
				order = c.flags.order + uint64(n)
				text, err = p.Test(root, strings.TrimPrefix(dir, root), "^"+names[i]+"$", order)
			}
			mu.Lock()
			defer mu.Unlock()
			c.say("%s: done", names[i])
			if err != nil {
				c.wrong = append(c.wrong, fmt.Sprintf("%s of %s, order %d", names[i], pkg, order))
				fmt.Fprintf(c.out, "%s\n%s of %s fails in order %d: %v\nagain: go run ./chaos -tests %s -run '^%s$' -order %d\n",
					text, names[i], pkg, order, err, pkg, names[i], order)
			}
			return nil
		})
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("not every test was run: %w", err)
		}
		slices.Sort(c.wrong[wrong:])
		fmt.Fprintf(c.out, "%-46s %d tests, each in up to %d orders, in %v; %d failed\n",
			"tests of "+filepath.Base(dir), len(names), c.flags.orders, time.Since(begin).Round(time.Second), len(c.wrong)-wrong)
	}
	return nil
}
