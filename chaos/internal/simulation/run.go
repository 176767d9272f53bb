// Package simulation runs the real lock, with the real client and the real scripts, against simulated masters in
// virtual time, under a schedule of faults that it draws from a seed. Workers mix all kinds of locks on the same names.
// Checkers judge the run: two locks that exclude each other are never held at the same time, fencing tokens are in
// order, losses are notified in time, no keys are left except counters with a TTL, no client waits long for a free
// lock, and after the faults every client can lock again.
//
//	go test ./chaos/internal/simulation                                             some schedules, from a random seed on
//	go test ./chaos/internal/simulation -run TestSchedules -schedules=5000 -seed=1
//
// A seed determines the schedule: masters, clients, clocks, faults, and what the workers intend to do. The rest is left
// to chance unless package exact plays the schedule.
package simulation

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/aof"
	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/register"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
	"github.com/redlock-go/redlock/internal/simnet"
)

// Open opens the Locker of a client.
type Open func(w *simnet.Net, h *simnet.Host, s Schedule, c Client) (kinds.Locker, error)

const (
	// cost is the time that a master takes for one command.
	cost = 20 * time.Microsecond
	// patience is how long, beyond its context or its masters' deadlines, a call may take before it counts as stuck.
	patience = 3 * time.Second
	// slots is how many slots a semaphore has, unless it is of a group.
	slots = 2
)

// A run is one schedule while it is played.
type run struct {
	*recorder
	schedule Schedule
	world    *simnet.Net
	open     Open
	lives    []*life         // the present life of each client
	killed   []*life         // killed lives of clients that have a new one
	storm    context.Context // ends with the storm

	registers map[string]traffic.Register
}

// Run runs s within the bubble that it is called from.
func Run(t simnet.TB, s Schedule, open Open) *Result {
	t.Helper()
	r := &run{
		recorder: &recorder{
			start: time.Now(), asked: make(map[asker]int), overloaded: make(chan struct{}), labels: make(labels),
			maxAcquires: groupAcquires * max(1, len(s.Groups)),
		},
		schedule: s, world: simnet.New(t, s.Seed, s.Masters), open: open,
		lives: make([]*life, len(s.Clients)), registers: map[string]traffic.Register{},
	}
	for _, kind := range []string{history.Trusting, history.Fenced} {
		r.registers[kind] = register.NewCounters(kind, r.log)
	}
	r.log(history.Event{T: 1, Kind: history.Phase, Phase: history.Storm})
	storm, calm := context.WithCancel(context.Background())
	defer calm()
	r.storm = storm
	r.world.Watch(r.command)
	r.world.Cost(cost)
	for i, rate := range s.Rates {
		r.world.Master(i).Rate(rate)
	}
	for i := range s.Clients {
		if r.begin(i) != nil {
			return r.result(s)
		}
	}

	for i := range s.Clients {
		r.work(i)
	}
	fine := r.playPlan()
	calm()
	for i, l := range r.lives {
		if l.host.Dead() {
			r.revive(i)
		} else if l.host.Frozen() {
			l.thaw()
		}
	}
	r.world.Heal()
	if !fine { // a simulated hour of so many commands would take hours
		for _, m := range r.world.Masters() {
			m.Crash()
		}
	}
	r.note("fault", "all is well again")
	if fine && r.rest() {
		r.residue("after the storm")
		r.liveness()
		r.residue("at the end")
	}
	r.close()
	if !fine { // closed lockers ask no more
		r.rest()
	}
	r.drainKilled()
	return r.result(s)
}

// InBubble runs a schedule in its own synctest bubble, in any program. Package synctest requires a testing.T; a zero T
// suffices. Failures that the simulated network reports become findings of the Result.
func InBubble(s Schedule, open Open) (r *Result) {
	w := &witness{}
	ended := make(chan struct{})
	go func() { // a T may end its goroutine
		defer close(ended)
		defer func() {
			if p := recover(); p != nil { // most likely a deadlock
				r = &Result{Schedule: s}
				w.Errorf("panic: %v", p)
			}
		}()
		synctest.Test(new(testing.T), func(t *testing.T) {
			w.T = t
			r = Run(w, s, open)
		})
	}()
	<-ended
	for _, text := range w.said {
		r.Found = append(r.Found, foundAt(r.Took, "world", check.ByHarness, text))
	}
	return r
}

// witness is a testing.T that records failures.
type witness struct {
	*testing.T
	mu   sync.Mutex
	said []string
}

func (w *witness) Errorf(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, fmt.Sprintf(format, args...))
}

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
