package controls

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redlock-go/redlock/chaos/internal/report"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

// simulated has the schedules that expose a broken lock in virtual time.
type simulated struct {
	// profile is the profile of the schedules, "" for all. within is their maximum number, counted from seed 1.
	profile string
	within  int
}

func (simulated) set() int { return virtual }

func (s simulated) try(ctx context.Context, o Options, c Control) (report.Control, error) {
	playing, err := o.Playing(ctx)
	if err != nil {
		return report.Control{}, err
	}
	n, found := s.catch(ctx, c, playing(c.Lock), o.Order)
	out := report.Control{Schedules: n, Text: "nothing found", Where: fmt.Sprintf("%d schedules", n)}
	if found != nil {
		out.Caught = true
		out.Text, _, _ = strings.Cut(found.Verdict(), "\n")
	}
	return out, ctx.Err()
}

// Catch plays schedules of a control in virtual time until its checker notices the fault. It returns the number of
// schedules and the result that shows the fault, or nil if none did.
func (c Control) Catch(
	ctx context.Context, play simulation.Play, order uint64,
) (schedules int, found *simulation.Result) {
	return c.in.(simulated).catch(ctx, c, play, order)
}

func (s simulated) catch(ctx context.Context, c Control, play simulation.Play, order uint64) (int, *simulation.Result) {
	for n, schedule := range simulation.Schedules(s.profile, s.within) {
		if ctx.Err() != nil {
			return n - 1, nil
		}
		r := play(schedule, order)
		if slices.Contains(r.By(), c.Checker) && strings.Contains(r.Verdict(), c.Says) {
			return n, r
		}
	}
	return s.within, nil
}

// row is the row of a control in [Table].
func (s simulated) row(ctx context.Context, c Control, playing func(lock string) simulation.Play) string {
	text := fmt.Sprintf("| %s | %d |", c.Lock, s.within)
	for order := range uint64(3) {
		n, found := s.catch(ctx, c, playing(c.Lock), order)
		if found == nil {
			text += " not in"
		}
		text += fmt.Sprintf(" %d |", n)
	}
	return text + "\n"
}

// Table says after how many schedules each of the controls in virtual time is caught, exactly, in three orders.
func Table(ctx context.Context, o Options, some []Control) (string, error) {
	playing, err := o.Playing(ctx)
	text := "| broken lock | within | without yields | order 1 | order 2 |\n|---|---|---|---|---|\n"
	for _, c := range some {
		if s, is := c.in.(simulated); is && err == nil {
			text += s.row(ctx, c, playing)
			err = ctx.Err()
		}
	}
	return text, err
}
