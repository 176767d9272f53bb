package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/exact"
	"github.com/redlock-go/redlock/chaos/internal/report"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

// player opens the player of exact runs when it is first needed.
type player struct {
	once sync.Once
	p    *exact.Player
	err  error
}

func (c *command) exactly(ctx context.Context) (*exact.Player, error) {
	c.player.once.Do(func() {
		if c.player.p, c.player.err = exact.Open(ctx, c.say); c.player.err == nil {
			c.say("exact runs: program %s", c.player.p.Program)
		}
	})
	return c.player.p, c.player.err
}

// playExactly returns what plays schedules exactly, with the lock of the command line.
func (c *command) playExactly(ctx context.Context) func() (simulation.Play, error) {
	return func() (simulation.Play, error) {
		p, err := c.exactly(ctx)
		if err != nil {
			return nil, err
		}
		return p.Playing(c.flags.lock), nil
	}
}

// one plays the schedule of the command line, or of its seed, in one order. It keeps the trace, the history and a page.
func (c *command) one(ctx context.Context) (bool, error) {
	p, err := c.exactly(ctx)
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
	o, err := p.Play(exact.Job{Schedule: s, Lock: c.flags.lock, Order: c.flags.order, Whole: true})
	if err != nil {
		return false, err
	}
	replay := c.flags.replay()
	err = errors.Join(
		os.WriteFile(filepath.Join(c.dir, "trace.txt"), []byte(o.Result.Text), 0o644),
		os.WriteFile(filepath.Join(c.dir, "schedule.json"), []byte(s.JSON()), 0o644),
		c.page("history", replay, o),
	)
	fmt.Fprintf(c.out, "%sprogram %s, seed %d, order %d: %s\nthe same again: %s\n",
		o.Result.Text, p.Program, s.Seed, c.flags.order, o.Hash, replay)
	c.wrong = !o.Result.OK()
	return o.Result.OK(), err
}

// page writes the page of a run in virtual time, and its history, into a folder.
func (c *command) page(folder, replay string, o exact.Outcome) error {
	r := o.Result
	run := report.Run{
		Name: r.Schedule.Profile, Backend: simulated, Seed: r.Schedule.Seed, Replay: replay, Took: r.Took,
		Folder: filepath.Join(c.dir, folder), Events: r.Events, Notes: []string{"Times are virtual. Hash: " + o.Hash + "."},
	}
	for _, name := range simulation.Checkers() {
		v := check.Verdict{Checker: name, Looked: fmt.Sprintf("%d holds", r.Holds)}
		for _, found := range r.Violations {
			if found.By == name {
				v.Findings = append(v.Findings, found.Finding)
			}
		}
		for _, found := range r.Problems {
			if found.By == name {
				v.Findings = append(v.Findings, check.Finding{Text: found.String()})
			}
		}
		run.Verdicts = append(run.Verdicts, v)
	}
	if err := os.MkdirAll(run.Folder, 0o755); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(run.Folder, "history.jsonl"))
	if err != nil {
		return err
	}
	lines := json.NewEncoder(file)
	for _, e := range r.Events {
		if err := lines.Encode(e); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	return errors.Join(file.Close(), report.Save(run))
}
