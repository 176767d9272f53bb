package suite

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/exact"
	"github.com/redlock-go/redlock/chaos/internal/report"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

// simulate plays schedules in virtual time, exactly if the command line says so.
func (c *command) simulate(ctx context.Context, n int) (bool, error) {
	b := simulation.Batch{
		From: c.flags.seed, N: n, Draw: simulation.Draw, Say: c.say, Play: simulation.Natively(simulation.Product()),
		Exact: c.playExactly(ctx), Replay: c.replaySeed,
	}
	how, hashes := "natively", &table{}
	if c.flags.exact {
		p, err := c.exactly(ctx)
		if err != nil {
			return false, err
		}
		how = "exactly, program " + p.Program
		b.Order, b.Orders = c.flags.order, c.flags.orders
		b.Play = func(s simulation.Schedule, order uint64) *simulation.Result {
			o, err := p.Play(exact.Job{Schedule: s, Lock: c.flags.lock, Order: order})
			if err != nil {
				return simulation.Failed(s, err)
			}
			hashes.add(s.Seed, order, o.Hash)
			return &o.Result
		}
	}
	sum, err := b.Run(ctx)
	if err == nil && sum.Schedules >= 100 && sum.HandedOver == 0 {
		err = errors.New("no lock was handed over: these schedules say nothing about hand-over")
	}
	s := report.Simulated{
		From: c.flags.seed, Planned: n * max(b.Orders, 1), Schedules: sum.Schedules, Wall: sum.Wall, Virtual: sum.Virtual,
		Holds: sum.Holds, HandedOver: sum.HandedOver, Commands: sum.Commands,
	}
	if err != nil {
		s.NoVerdict = err.Error()
	}
	for _, f := range sum.Found {
		c.wrong = true
		s.Violations = append(s.Violations, c.found(ctx, f))
	}
	c.index.simulated(s)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(c.out, "%-46s %d schedules %s in %v: %v of virtual time, %d holds, %d commands, %d violations\n",
		"simulation, from seed "+fmt.Sprint(c.flags.seed), sum.Schedules, how, sum.Wall.Round(time.Second),
		sum.Virtual.Round(time.Second), sum.Holds, sum.Commands, len(sum.Found))
	if c.flags.exact {
		text := hashes.String()
		file := filepath.Join(c.dir, "hashes.txt")
		fmt.Fprintf(c.out, "hash of all %x: %s\n", sha256.Sum256([]byte(text)), file)
		err = os.WriteFile(file, []byte(text), 0o644)
	}
	return len(sum.Found) == 0, err
}

// replaySeed returns the command that plays a schedule of the simulation again.
func (c *command) replaySeed(seed, order uint64) string {
	if order == 0 {
		return fmt.Sprintf("go run ./chaos -backend simulation -schedules 1 -seed %d", seed)
	}
	return fmt.Sprintf("go run ./chaos -exact%s -seed %d -order %d", c.flags.replayLock(), seed, order)
}

// found prints a finding and keeps it. If it shows exactly, the smallest schedule has a page.
func (c *command) found(ctx context.Context, f simulation.Finding) report.Violation {
	name := fmt.Sprintf("simulation-%d", f.Seed)
	v := report.Violation{
		Seed: f.Seed, By: strings.Trim(fmt.Sprint(f.By), "[]"), File: name + ".txt",
		Replay: f.Replay,
	}
	for line := range strings.Lines(f.Report) {
		if strings.HasPrefix(line, "VIOLATION") || strings.HasPrefix(line, "PROBLEM") {
			v.Text = strings.TrimSpace(line)
			break
		}
	}
	fmt.Fprint(c.out, f)
	keep := func(file, text string) {
		if err := os.WriteFile(filepath.Join(c.dir, file), []byte(text), 0o644); err != nil {
			c.say("%s is not kept: %v", file, err)
		}
	}
	keep(v.File, f.String())
	if f.Minimal != nil {
		small := name + "-smallest.json"
		keep(small, f.Minimal.JSON())
		replay := fmt.Sprintf("go run ./chaos -exact%s -schedule %s -order %d",
			c.flags.replayLock(), quote(filepath.Join(c.dir, small)), f.MinimalOrder)
		fmt.Fprintf(c.out, "the smallest schedule again: %s\n", replay)
		p, err := c.exactly(ctx)
		if err == nil {
			var o exact.Outcome
			o, err = p.Play(exact.Job{Schedule: *f.Minimal, Lock: c.flags.lock, Order: f.MinimalOrder, Whole: true})
			if err == nil {
				err = c.page(name, replay, o)
			}
		}
		if err != nil {
			c.say("the smallest schedule of seed %d has no page: %v", f.Seed, err)
		}
	}
	fmt.Fprintf(c.out, "folder: %s\n", c.dir)
	return v
}
