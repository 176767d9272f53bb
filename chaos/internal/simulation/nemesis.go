package simulation

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/history"
)

// playFaults injects and heals the faults until the storm is over. It returns false if it gave up early.
func (r *run) playFaults() bool {
	defer r.playPlan()()
	type turn struct {
		at time.Duration
		do func()
	}
	var turns []turn
	for _, f := range r.schedule.Faults {
		turns = append(turns, turn{f.At, func() {
			r.note(f.where(), "%v", f)
			r.trouble(history.Inject, f)
			f.inject(r, true)
			if f.Until <= f.At {
				r.trouble(history.Healthy, f)
			}
		}})
		if f.Until > f.At {
			turns = append(turns, turn{f.Until, func() {
				f.inject(r, false)
				r.trouble(history.Healthy, f)
				r.note(f.where(), "no longer %v", f)
			}})
		}
	}
	sortBy(turns, func(t turn) time.Duration { return t.at })
	for _, t := range turns {
		if t.at > r.schedule.Storm {
			break
		}
		if !r.sleep(t.at) {
			return false
		}
		t.do()
	}
	return r.sleep(r.schedule.Storm)
}

// playPlan begins to carry out the scenario's plan. The caller must call the function that it returns, which heals what
// is still injected.
func (r *run) playPlan() (end func()) {
	if len(r.schedule.Plan) == 0 {
		return func() {}
	}
	m := newMasters(r.world, r.schedule.Rates)
	nemesis := r.nemesis(m)
	nemesis.Log = func(e history.Event) {
		if e.Kind == history.Inject {
			r.injected[e.Fault]++
		}
		r.log(e)
	}
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { m.sync(ctx.Done()) })
	all.Go(func() {
		if err := nemesis.Run(ctx, r.schedule.Plan); err != nil && ctx.Err() == nil {
			r.problem(check.ByHarness, "fault", "%v", err)
		}
	})
	return func() {
		stop()
		all.Wait()
	}
}

// nemesis returns one for these masters and for the clients.
func (r *run) nemesis(m *masters) *faults.Nemesis {
	return &faults.Nemesis{
		Faults:  slices.Concat(faults.OnMasters(m), faults.OnClients(clients{r})),
		Healthy: func(context.Context, faults.Side, int) error { return nil },
		Log:     r.log,
		Say:     func(format string, args ...any) { r.note("fault", format, args...) },
	}
}

// trouble records a fault of a master, or of the path to one, for the checkers.
func (r *run) trouble(kind history.Kind, f Fault) {
	if f.Master >= 0 {
		r.log(history.Event{Kind: kind, Fault: string(f.Kind), On: string(faults.Masters), Targets: []int{f.Master}})
	}
}

// twins records that a master with two addresses counts for no client: one client takes it for two.
func (r *run) twins() {
	if slices.ContainsFunc(r.schedule.Clients, func(c Client) bool { return c.Twin }) {
		for _, m := range []int{0, r.schedule.Masters - 1} {
			r.trouble(history.Inject, Fault{Kind: "twins", Master: m})
		}
	}
}

// sleep waits until the given time. It returns false if the run should end early.
func (r *run) sleep(then time.Duration) bool {
	select {
	case <-time.After(then - r.now()):
		return true
	case <-r.hectic:
		return false
	}
}
