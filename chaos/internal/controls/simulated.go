package controls

import (
	"context"
	"fmt"
	"iter"

	"github.com/redlock-go/redlock/chaos/internal/scenarios"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

// simulated has the schedules that expose a broken lock in virtual time.
type simulated struct {
	// from is the profile or the scenario of the schedules, "" for all profiles. within is their maximum number, counted
	// from seed 1.
	from   string
	within int
}

func (simulated) set() int { return virtual }

func (s simulated) try(ctx context.Context, o Options, c Control) (Result, error) {
	playing, err := o.Playing(ctx)
	if err != nil {
		return Result{}, err
	}
	n, found := c.Catch(ctx, playing(c.Lock), o.Order)
	r := Result{Control: c, Text: "nothing found", Where: fmt.Sprintf("%d schedules", n)}
	if found != nil {
		r.Caught = true
		r.Text = found.Said(c.Checker, c.Says)
	}
	return r, ctx.Err()
}

// schedules returns the schedules in order, numbered from 1.
func (s simulated) schedules() iter.Seq2[int, simulation.Schedule] {
	found, err := scenarios.Find(s.from)
	if s.from == "" || err != nil {
		return simulation.Schedules(s.from, s.within)
	}
	return func(yield func(int, simulation.Schedule) bool) {
		for n := 1; n <= s.within && yield(n, found[0].Schedule(uint64(n))); n++ {
		}
	}
}

// Catch plays schedules of a control in virtual time until its checker notices the fault. It returns the number of
// schedules and the result that shows the fault, or nil if none did.
func (c Control) Catch(
	ctx context.Context, play simulation.Play, order uint64,
) (schedules int, found *simulation.Result) {
	s := c.in.(simulated)
	for n, schedule := range s.schedules() {
		if ctx.Err() != nil {
			return n - 1, nil
		}
		r := play(schedule, order)
		if r.Said(c.Checker, c.Says) != "" {
			return n, r
		}
	}
	return s.within, nil
}

// Table says after how many schedules each of the controls in virtual time is caught, exactly, in three orders.
func Table(ctx context.Context, o Options, some []Control) (string, error) {
	playing, err := o.Playing(ctx)
	text := "| broken lock | checker | within | without yields | order 1 | order 2 |\n|---|---|---|---|---|---|\n"
	for _, c := range some {
		s, is := c.in.(simulated)
		if !is || err != nil {
			continue
		}
		text += fmt.Sprintf("| %s | %s | %d |", c.Lock, c.Checker, s.within)
		for order := range uint64(3) {
			n, found := c.Catch(ctx, playing(c.Lock), order)
			if found == nil {
				text += " not in"
			}
			text += fmt.Sprintf(" %d |", n)
		}
		text, err = text+"\n", ctx.Err()
	}
	return text, err
}
