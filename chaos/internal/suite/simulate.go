package suite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/report"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

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
	fmt.Fprintf(c.out, "%-46s %d schedules in %v: %v of virtual time, %d holds, %d commands, %d violations\n",
		"simulation, from seed "+fmt.Sprint(c.flags.seed), sum.Schedules, sum.Wall.Round(time.Second),
		sum.Virtual.Round(time.Second), sum.Holds, sum.Commands, len(sum.Found))
	return len(sum.Found) == 0, nil
}
