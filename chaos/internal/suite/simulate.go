package suite

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

// simulate plays n of the simulation's own schedules.
func (c *command) simulate(ctx context.Context, n int) (bool, error) {
	p, err := c.exactly()
	if err != nil {
		return false, err
	}
	sum, err := simulation.Batch{
		From: c.flags.seed, N: n, Draw: simulation.Draw, Say: c.say, Play: p.Playing(c.flags.lock),
		Order: c.flags.order, Orders: c.flags.orders, Replay: func(seed, order uint64) string {
			return c.flags.replaySchedule("", seed, order)
		},
	}.Run(ctx)
	for _, f := range sum.Found {
		c.wrong = true
		c.found(f)
	}
	if err != nil {
		return false, err
	}
	fmt.Fprintf(c.out, "%-46s %d schedules in %v, program %s: %v of virtual time, %d holds, %d commands, %d violations\n",
		"simulation, from seed "+fmt.Sprint(c.flags.seed), sum.Schedules, sum.Wall.Round(time.Second), p.Program,
		sum.Virtual.Round(time.Second), sum.Holds, sum.Commands, len(sum.Found))
	file := filepath.Join(c.dir, "hashes.txt")
	fmt.Fprintf(c.out, "hash of all %x: %s\n", sha256.Sum256([]byte(sum.Hashes)), file)
	return len(sum.Found) == 0, os.WriteFile(file, []byte(sum.Hashes), 0o644)
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
