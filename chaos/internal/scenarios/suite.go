package scenarios

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/redlock-go/redlock/chaos/internal/repeat"
)

// A Job is one scenario on one backend.
type Job struct {
	Scenario Scenario
	Backend  string
	// Schedules is the number of schedules that the simulation plays. Other backends play one run.
	Schedules int
}

// Name returns the name of the job's folder.
func (j Job) Name() string { return j.Scenario.Name + "-" + j.Backend }

// A Suite plays jobs in parallel.
type Suite struct {
	Options
	// Parallelism is the number of jobs that are played at a time.
	Parallelism int
	// ReplayOf returns the command that repeats a job of the suite with that seed.
	ReplayOf func(Job, uint64) string
	// Done is called for every job that has ended, with or without a verdict, one at a time.
	Done func(Job, Outcome)

	playOne func(context.Context, Scenario, Options) (Outcome, error) // nil: [Play]
}

// Play plays all jobs, each in a folder of its own. It goes on after a scenario that was not as promised. A scenario
// without a verdict is an error, and is not played again. What it found still counts.
func (s Suite) Play(ctx context.Context, jobs []Job) ([]Outcome, error) {
	outcomes := make([]Outcome, len(jobs))
	var mu sync.Mutex
	err := repeat.AtMost(s.Parallelism, len(jobs), func(i int) error {
		j := jobs[i]
		if s.Parallelism > 1 { // its own output is not shown
			s.Say("playing %s, %d of %d", j.Name(), i+1, len(jobs))
		}
		out, err := s.play(ctx, j)
		if err != nil {
			if out.Despite = out.despite(); len(out.Despite) > 0 {
				err = fmt.Errorf("%w\nfindings nevertheless: %s", err, strings.Join(out.Despite, "; "))
			}
			out.NoVerdict = err.Error()
			err = fmt.Errorf("%s: no verdict: %w", j.Name(), err)
		}
		outcomes[i] = out
		mu.Lock()
		defer mu.Unlock()
		s.Done(j, out)
		return err
	})
	return outcomes, errors.Join(err, ctx.Err())
}

func (s Suite) play(ctx context.Context, j Job) (Outcome, error) {
	o := s.Options
	o.Backend = j.Backend
	o.Dir = filepath.Join(s.Dir, j.Name())
	o.Replay = s.ReplayOf(j, o.Seed)
	o.Say = func(format string, args ...any) { s.Say("%s: %s", j.Name(), fmt.Sprintf(format, args...)) }
	if s.Parallelism > 1 { // the lines of parallel scenarios would mix
		o.Say = func(string, ...any) {}
	}
	notPlayed := o.outcome(j.Scenario)
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return notPlayed, err
	}
	if j.Backend == Simulation { // schedules have consecutive seeds, so that a finding names the seed that repeats it
		o.Schedules = j.Schedules
		return PlayVirtually(ctx, j.Scenario, o)
	}
	play := s.playOne
	if play == nil {
		play = Play
	}
	out, err := play(ctx, j.Scenario, o)
	if err == nil {
		err = out.Failed()
	}
	return out, err
}

// seedOf returns the seed of a run on real masters.
func seedOf(seed uint64, name string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, name) // never fails
	return (seed+h.Sum64()%1_000_000_000)%1_000_000_000 + 1
}
