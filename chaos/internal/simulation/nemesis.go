package simulation

import (
	"context"
	"sync"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/aof"
	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/history"
)

// playPlan carries out the plan until the storm is over, and heals what is still injected then. It returns false if it
// ended early, because a client asked all the time.
func (r *run) playPlan() (fine bool) {
	m := newMasters(r.world, r.schedule.Rates)
	nemesis := faults.Nemesis{
		Faults:  faults.Of(m, clients{r}),
		Find:    r.fault,
		Healthy: func(context.Context, faults.Side, int) error { return nil },
		Log: func(e history.Event) {
			if e.Kind == history.Healthy {
				r.note("fault", "%s %v is over", e.Fault, e.Targets)
			}
			r.log(e)
		},
		Say: func(format string, args ...any) { r.note("fault", format, args...) },
	}
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	if r.schedule.plans(func(t faults.Traits) bool { return t.Loses == aof.Tail }) {
		all.Go(func() { m.sync(ctx.Done()) })
	}
	all.Go(func() {
		if err := nemesis.Run(ctx, r.schedule.Plan); err != nil && ctx.Err() == nil {
			r.problem(check.ByHarness, "fault", "%v", err)
		}
	})
	select {
	case <-time.After(r.schedule.Storm - r.now()):
		return true
	case <-r.overloaded:
		return false
	}
}
