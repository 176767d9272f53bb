package scenarios

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/picture"
	"github.com/redlock-go/redlock/chaos/internal/repeat"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

// Options of a run of a scenario.
type Options struct {
	// Backend is the name of the backend of the masters. If it is backend.Given, Masters are their URLs.
	Backend string
	Masters []string
	// Seed determines the faults and the random choices of the clients.
	Seed uint64
	// Schedules is the number of schedules that the simulation plays, of this seed and the following ones, in Order and
	// those that follow, Orders in all. Playing returns what plays them with a lock.
	Schedules int
	Playing   func(lock string) (simulation.Play, error)
	Order     uint64
	Orders    int
	// Dir is an empty folder for the verdict, the history and the logs.
	Dir string
	// Command makes the command that runs a client.
	Command func() *exec.Cmd
	// Replay is the command that repeats the run. ReplayOne returns the one that plays a single schedule of a scenario.
	Replay    string
	ReplayOne func(scenario string, seed, order uint64) string
	// Say reports progress to a person.
	Say func(format string, args ...any)

	tolerated time.Duration // the longest stall of the harness; 0: longestStall
}

// open returns the masters of a run. They are up.
func (o Options) open(ctx context.Context, s Scenario) (*backend.Backend, error) {
	if o.Backend == backend.Given {
		mark := fmt.Sprintf("%s%s-%d", backend.PrefixBegin, time.Now().UTC().Format("20060102T150405.000"), os.Getpid())
		o.Say("looking at %d masters; whatever this run leaves there has %q in its name", len(o.Masters), mark)
		return backend.Take(ctx, o.Masters, mark)
	}
	o.Say("starting %d masters (%s)", Masters, o.Backend)
	return backend.Open(ctx, o.Backend, Masters, s.Loses)
}

// Play plays the scenario and returns the verdicts. An error means that there is no verdict: the masters could not be
// started, or ctx ended.
func Play(ctx context.Context, s Scenario, o Options) (Outcome, error) {
	out := o.outcome(s)
	masters, err := o.open(ctx, s)
	if err != nil {
		return out, err
	}
	begin := time.Now()
	events, err := play(ctx, s, o, &out, masters)
	out.Took = time.Since(begin)
	err = errors.Join(err, masters.Close())
	if len(out.Verdicts) == 0 { // it was skipped, or is not worth a report
		return out, err
	}
	text := out.Text(events, append(masters.Notes, fmt.Sprintf("%d client processes", s.Clients))...)
	var findings []check.Finding
	for _, v := range out.Verdicts {
		findings = append(findings, v.Findings...)
	}
	title := fmt.Sprintf("%s, seed %d", s.Name, o.Seed)
	page := picture.Save(filepath.Join(o.Dir, "history.html"), title, text, events, findings)
	return out, errors.Join(err, out.save(text), page)
}

// save writes the text into the folder of the run, if it has one.
func (o Outcome) save(text string) error {
	if o.Folder == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(o.Folder, "verdict.txt"), []byte(text), 0o644)
}

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
