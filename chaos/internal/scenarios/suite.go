package scenarios

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// Job is one scenario on one backend.
type Job struct {
	Scenario Scenario
	Backend  string
	// Schedules is how many the simulation plays; the other backends play one run.
	Schedules int
}

// Name is what the job's folder is called.
func (j Job) Name() string { return j.Scenario.Name + "-" + j.Backend }

// Suite plays jobs side by side.
type Suite struct {
	Options
	// RunnerOn returns where the clients run whose masters are on that backend; nil: where the Options say.
	RunnerOn func(ctx context.Context, backend string) (traffic.Runner, error)
	// Lanes is how many jobs are played at a time.
	Lanes int
	// ReplayOf returns the command that plays a job of the suite with that seed again.
	ReplayOf func(Job, uint64) string
	// Done is told of every job that has ended, with or without a verdict, one at a time.
	Done func(Job, Outcome)

	one func(context.Context, Scenario, Options) (Outcome, error) // nil: [Play]
}

// Play plays all jobs, each with a seed of its own that depends on that of the suite, in a folder of its own. It goes on
// after a scenario that was not as promised; one without a verdict is tried once more, as the harness may have stumbled,
// and is an error then. What the first attempt found all the same stays found, and why it had no verdict is told. A client that
// failed (see [check.Clients]) is a verdict.
func (s Suite) Play(ctx context.Context, jobs []Job) ([]Outcome, error) {
	outcomes := make([]Outcome, len(jobs))
	var all errgroup.Group
	all.SetLimit(s.Lanes)
	var mu sync.Mutex
	far := &progress{of: len(jobs)}
	if s.Lanes > 1 { // they are not heard themselves
		defer far.tell(s.Say)()
	}
	for i, j := range jobs {
		all.Go(func() error {
			far.begin(j)
			defer far.end(j)
			out, err := s.play(ctx, j, 0)
			var before []string
			if err != nil && ctx.Err() == nil && j.Backend != backend.Given { // whose masters are nobody's to try again
				s.Say("%s: no verdict: %v; once more", j.Name(), err)
				before = out.despite()
				why := fmt.Sprintf("%v; folder: %s", err, out.Dir)
				out, err = s.play(ctx, j, 1)
				out.Before, out.OnceMore = before, why
			}
			if err != nil {
				out.Before = append(before, out.despite()...)
				err = errors.Join(err, found(out.Before))
				out.NoVerdict = err.Error()
				err = fmt.Errorf("%s: no verdict: %w", j.Name(), err)
			}
			outcomes[i] = out
			mu.Lock()
			defer mu.Unlock()
			s.Done(j, out)
			return err
		})
	}
	err := all.Wait()
	return outcomes, errors.Join(err, ctx.Err())
}

// sayHowFar is how often a suite tells of its progress.
const sayHowFar = 10 * time.Second

// progress is how far a suite is.
type progress struct {
	mu       sync.Mutex
	done, of int
	playing  []string
}

func (p *progress) begin(j Job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.playing = append(p.playing, j.Name())
}

func (p *progress) end(j Job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	i := slices.Index(p.playing, j.Name())
	p.playing = slices.Delete(p.playing, i, i+1)
}

// tell says how far it is from time to time, until stop is called.
func (p *progress) tell(say func(format string, args ...any)) (stop func()) {
	over, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		tick := time.NewTicker(sayHowFar)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.mu.Lock()
				done, playing := p.done, strings.Join(slices.Sorted(slices.Values(p.playing)), ", ")
				p.mu.Unlock()
				say("%d of %d scenarios are done; playing %s", done, p.of, playing)
			case <-over:
				return
			}
		}
	}()
	return func() {
		close(over)
		<-gone
	}
}

// found is an error that says what was found, nil if nothing was.
func found(lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	return errors.New("and yet it was found: " + strings.Join(lines, "; "))
}

func (s Suite) play(ctx context.Context, j Job, again int) (Outcome, error) {
	o := s.Options
	o.Backend, o.Seed = j.Backend, seedOf(s.Seed, j.Name())
	o.Dir = filepath.Join(s.Dir, j.Name())
	if again > 0 {
		o.Dir = fmt.Sprintf("%s-again", o.Dir)
	}
	o.Replay = s.ReplayOf(j, s.Seed)
	o.Say = func(format string, args ...any) { s.Say("%s: %s", j.Name(), fmt.Sprintf(format, args...)) }
	if s.Lanes > 1 { // who listens to all of them hears nothing
		o.Say = func(string, ...any) {}
	}
	notPlayed := Outcome{Scenario: j.Scenario, Backend: j.Backend, Seed: o.Seed, Dir: o.Dir, Replay: o.Replay}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return notPlayed, err
	}
	if j.Backend == Simulation {
		o.Schedules = j.Schedules
		o.Seed = s.Seed // one schedule after the other, so that each can be named by its own
		v, err := PlayVirtually(ctx, j.Scenario, o, simulation.Product())
		return v.Outcome, err
	}
	if s.RunnerOn != nil {
		runner, err := s.RunnerOn(ctx, j.Backend)
		if err != nil {
			return notPlayed, fmt.Errorf("where the clients run: %w", err)
		}
		o.Runner = runner
	}
	play := s.one
	if play == nil {
		play = Play
	}
	out, err := play(ctx, j.Scenario, o)
	if broke, is := out.found("harness"); is && err == nil {
		if _, failed := out.found(clients); !failed { // else that is the verdict, and what the harness made of it follows
			err = fmt.Errorf("the harness itself failed: %s", broke)
		}
	}
	return out, err
}

// clients is the checker that finds what clients have done to a run. The lock in them is to blame for that, not the harness.
const clients = "clients"

// found is what a checker found first, and whether it found anything.
func (o Outcome) found(checker string) (first string, is bool) {
	for _, v := range o.Verdicts {
		if v.Checker == checker && !v.Held() {
			return why(v), true
		}
	}
	return "", false
}

// seedOf is a job's seed.
func seedOf(seed uint64, name string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, name) // never fails
	return (seed+h.Sum64()%1_000_000_000)%1_000_000_000 + 1
}

// Soak plays random scenarios, as many at a time as there are lanes and different ones, in rounds, until the time is up or
// one was not as promised. It keeps the folder of that round, and removes those of the others. On an error (ctx ended, or a
// scenario had no verdict) it tells what had been played.
func (s Suite) Soak(ctx context.Context, pick func() Job, d time.Duration) (all Soaked, err error) {
	begin := time.Now()
	defer func() { all.Took = time.Since(begin) }()
	for round := 0; time.Since(begin) < d && ctx.Err() == nil; round++ {
		one := s
		one.Dir = filepath.Join(s.Dir, fmt.Sprintf("%04d", round))
		one.Seed = s.Seed + uint64(round)
		outcomes, err := one.Play(ctx, draw(pick, s.Lanes))
		good := true
		for _, o := range outcomes {
			all.add(o)
			good = good && o.Good()
		}
		if err != nil || !good {
			return all, err
		}
		if err := os.RemoveAll(one.Dir); err != nil {
			return all, err
		}
	}
	return all, ctx.Err()
}

// Soaked is what a soak came to.
type Soaked struct {
	// Played are the scenarios with a verdict, Skipped those that could not be played, NoVerdict those that were begun in vain.
	Played, Skipped, NoVerdict int
	// Faults is how many were injected into those played, each target by itself.
	Faults int
	Took   time.Duration
}

func (s *Soaked) add(o Outcome) {
	switch {
	case o.NoVerdict != "":
		s.NoVerdict++
	case o.Skipped != "":
		s.Skipped++
	default:
		s.Played++
		s.Faults += o.Faults
	}
}

func (s Soaked) String() string {
	return fmt.Sprintf("%d scenarios played in %v, with %d faults; %d skipped, %d without a verdict",
		s.Played, s.Took.Round(time.Second), s.Faults, s.Skipped, s.NoVerdict)
}

// draw picks n jobs that differ, as each needs a folder of its own; fewer if there seem to be no more.
func draw(pick func() Job, n int) []Job {
	const enough = 50 // picks for each job
	var jobs []Job
	for range enough * n {
		j := pick()
		if !slices.ContainsFunc(jobs, func(other Job) bool { return other.Name() == j.Name() }) {
			jobs = append(jobs, j)
		}
		if len(jobs) == n {
			break
		}
	}
	return jobs
}
