package suite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/exact"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/picture"
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
func (c *command) one() (bool, error) {
	p, err := c.exactly()
	if err != nil {
		return false, err
	}
	var s simulation.Schedule
	switch f := c.flags; {
	case f.schedule != "":
		text, err := os.ReadFile(f.schedule)
		if err != nil {
			return false, err
		}
		if s, err = simulation.Parse(text); err != nil {
			return false, fmt.Errorf("%s: %w", f.schedule, err)
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
	c.wrong = !r.OK()
	return r.OK(), err
}
