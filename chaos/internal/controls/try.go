package controls

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/scenarios"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

// onMasters tries the control on real masters, in a short run of its scenario.
func (c Control) onMasters(ctx context.Context, o scenarios.Options) (Result, error) {
	found, err := scenarios.Find(c.In)
	if err != nil {
		return Result{}, err
	}
	s, run := found[0], o
	s.Lock, s.Storm = c.Lock, scenarios.LeastStorm
	run.Backend, run.Say = backend.Processes, func(string, ...any) {}
	run.Dir = filepath.Join(o.Dir, strings.ReplaceAll(c.Lock, " ", "-"))
	if err := os.MkdirAll(run.Dir, 0o755); err != nil {
		return Result{}, err
	}
	out, err := scenarios.Play(ctx, s, run)
	if err == nil {
		err = out.Failed()
	}
	if err != nil {
		return Result{}, fmt.Errorf("the control %s did not run properly, see %s: %w", c.Lock, run.Dir, err)
	}
	return c.of(out.Verdict(c.Checker), "folder: "+run.Dir), nil
}

// simulated tries the control in virtual time.
func (c Control) simulated(ctx context.Context, o scenarios.Options) (Result, error) {
	play, err := o.Playing(c.Lock)
	if err != nil {
		return Result{}, err
	}
	n, found := c.Catch(ctx, play, o.Order)
	r := Result{Control: c, Text: "nothing found", Where: fmt.Sprintf("%d schedules of %d at most", n, c.Within)}
	if found != nil {
		r.Caught = true
		r.Text = found.Said(c.Checker, c.Says)
	}
	return r, ctx.Err()
}

// Catch plays schedules of a control in virtual time until its checker notices the fault. It returns the number of
// schedules and the result that shows the fault, or nil if none did.
func (c Control) Catch(ctx context.Context, play simulation.Play, order uint64) (n int, found *simulation.Result) {
	draw := func(n uint64) simulation.Schedule { return simulation.Of(c.In, n) }
	if of, err := scenarios.Find(c.In); err == nil {
		draw = of[0].Schedule
	}
	for n < c.Within && ctx.Err() == nil {
		n++
		if r := play(draw(uint64(n)), order); r.Said(c.Checker, c.Says) != "" {
			return n, r
		}
	}
	return n, nil
}
