package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/controls"
	"github.com/redlock-go/redlock/chaos/internal/scenarios"
	"github.com/redlock-go/redlock/internal/need"
)

// profile runs everything: all scenarios, controls and simulated schedules.
func (c *command) profile(ctx context.Context) error {
	onMasters := func(ctx context.Context) error { return c.play(ctx, c.allJobs(), profileParallelism) }
	virtually := func(ctx context.Context) error { return c.play(ctx, c.virtualJobs(), 1) }
	rest := func(ctx context.Context) error { return c.simulate(ctx, max(1, c.flags.schedules-c.virtual)) }
	return c.all(ctx, slices.Concat([]step{{"scenarios", onMasters}}, c.steps(controls.Find("*")),
		[]step{{"scenarios in virtual time", virtually}, {"simulated schedules", rest}}))
}

// step is a part of the profile.
type step struct {
	name string
	do   func(context.Context) error
}

// all runs the steps in order. A step without a verdict does not keep the later ones from running; the end of ctx does.
func (c *command) all(ctx context.Context, steps []step) (err error) {
	for _, s := range steps {
		if ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		begin, wrong := time.Now(), len(c.wrong)
		c.say("%s", s.name)
		failed := s.do(ctx)
		took := time.Since(begin).Round(time.Second)
		if failed != nil {
			c.say("%s: no verdict after %v: %v", s.name, took, failed)
			err = errors.Join(err, fmt.Errorf("%s: %w", s.name, failed))
			continue
		}
		c.say("%s: done after %v, %d not as it should be", s.name, took, len(c.wrong)-wrong)
	}
	return err
}

// profileParallelism is how many scenarios the profile plays at a time. Even a small machine can play six, because a
// scenario mostly waits.
const profileParallelism = 6

// allJobs returns the scenarios that are played on real masters: each fault alone, and those in which all of them meet.
// Each kind of traffic under all faults is left to virtual time. Scenarios with a fault that needs containers run on
// containers, the others on processes, which start faster.
func (c *command) allJobs() []scenarios.Job {
	var jobs []scenarios.Job
	for _, s := range scenarios.All() {
		if s.Virtual {
			continue
		}
		on := backend.Processes
		if s.Container {
			on = backend.Containers
		}
		jobs = append(jobs, scenarios.Job{Scenario: c.flags.adjust(s), Backend: cmp.Or(c.flags.backend, on)})
	}
	return jobs
}

// virtualJobs returns all scenarios in virtual time.
func (c *command) virtualJobs() []scenarios.Job {
	var jobs []scenarios.Job
	for _, s := range scenarios.All() {
		n := 5
		if slices.Contains(slices.Collect(maps.Values(s.Promises)), scenarios.Broken) {
			n = 10 // it must show that something breaks
		}
		jobs = append(jobs, scenarios.Job{Scenario: c.flags.adjust(s), Backend: scenarios.Simulation, Schedules: n})
	}
	return jobs
}

func (c *command) jobs() []scenarios.Job {
	on := cmp.Or(c.flags.backend, backend.Containers)
	if c.flags.exact {
		on = scenarios.Simulation
	}
	var jobs []scenarios.Job
	for _, s := range c.flags.scenarios {
		jobs = append(jobs, scenarios.Job{Scenario: s, Backend: on, Schedules: c.flags.schedules})
	}
	return jobs
}

// options returns what scenarios and controls are played with.
func (c *command) options() scenarios.Options {
	return scenarios.Options{
		Masters: c.flags.masters, Command: c.client, Seed: c.flags.seed, Dir: c.dir, Say: c.say,
		Playing: c.playing, Order: c.flags.order, Orders: c.flags.orders, ReplayOne: c.flags.replaySchedule,
	}
}

// suite returns a suite that prints a line for each scenario it plays.
func (c *command) suite(parallelism int) scenarios.Suite {
	return scenarios.Suite{
		Options: c.options(), Parallelism: parallelism, ReplayOf: c.flags.replayJob,
		Done: func(j scenarios.Job, out scenarios.Outcome) {
			c.virtual += out.Schedules
			text := fmt.Sprintf("%-46s NOT AS PROMISED\n    %s\n    again: %s\n    folder: %s",
				j.Name(), strings.Join(out.Wrong(), "\n    "), out.Replay, out.Folder)
			if len(out.Despite) > 0 || out.NoVerdict == "" && !out.Good() {
				c.wrong = append(c.wrong, text)
			}
			many := ""
			if out.Schedules > 0 {
				many = fmt.Sprintf("%d schedules, ", out.Schedules)
			}
			switch {
			case out.NoVerdict != "":
				fmt.Fprintf(c.out, "%-46s no verdict\n", j.Name()) // the reason is printed at the end
			case out.Skipped != "":
				fmt.Fprintf(c.out, "%-46s skipped: %s\n", j.Name(), out.Skipped)
			case out.Good():
				took := append([]string{out.Took.Round(time.Second).String()}, out.Without...)
				fmt.Fprintf(c.out, "%-46s as promised, %s%s\n", j.Name(), many, strings.Join(took, "; "))
			default:
				fmt.Fprintf(c.out, "%s\n%s", text, out.Shown)
			}
		},
	}
}

// play plays the jobs. An error means that a part has no verdict.
func (c *command) play(ctx context.Context, jobs []scenarios.Job, parallelism int) error {
	outcomes, err := c.suite(parallelism).Play(ctx, jobs)
	if err != nil {
		return err
	}
	skipped := len(slices.DeleteFunc(slices.Clone(outcomes), func(o scenarios.Outcome) bool { return o.Skipped == "" }))
	switch {
	case skipped == len(outcomes):
		return errors.New("nothing was played: see why each scenario was skipped")
	case skipped > 0 && need.NoSkip(need.Docker):
		return fmt.Errorf("%d scenarios were skipped, and %s allows no skip", skipped, need.Docker)
	}
	return nil
}

// steps returns how the controls are tried. Each result is printed.
func (c *command) steps(sets []controls.Set) (steps []step) {
	for _, s := range sets {
		steps = append(steps, step{s.Title, func(ctx context.Context) error {
			o := c.options()
			o.Dir = filepath.Join(c.dir, "controls")
			return s.Try(ctx, o, c.reportControl)
		}})
	}
	return steps
}

// reportControl prints whether a control was caught. If it was not, it also prints how to repeat it and where to look.
func (c *command) reportControl(one controls.Result) {
	if one.Caught {
		fmt.Fprintf(c.out, "control %-38s caught by %s after %v, %s: %s\n",
			one.Lock, one.Checker, one.After.Round(time.Second/10), one.Where, one.Text)
		return
	}
	again := c.flags.again(c.flags.seed, "-control", quote(one.Lock), "-order", fmt.Sprint(c.flags.order))
	text := fmt.Sprintf("control %-38s NOT CAUGHT by %s: %s\n    again: %s\n    %s",
		one.Lock, one.Checker, one.Text, again, one.Where)
	c.wrong = append(c.wrong, text)
	fmt.Fprintln(c.out, text)
}
