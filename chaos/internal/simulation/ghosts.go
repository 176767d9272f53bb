package simulation

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/ghosts"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// ghosts plays the phase Ghosts, and records what is left on the masters then.
func (r *run) ghosts() {
	err := ghosts.Phase{
		Seed: r.schedule.Seed, Masters: r.schedule.Masters, Nemesis: r.nemesis(newMasters(r.world, r.schedule.Rates)),
		Begin: r.phase, Bound: r.schedule.bound(),
		All: func(_ context.Context, _ time.Duration, cmd func(int) traffic.Command) error {
			var all sync.WaitGroup
			for i, l := range r.lives {
				all.Go(func() { l.traffic.Pass(cmd(i)) })
			}
			all.Wait()
			return nil
		},
	}.Play(context.Background())
	if err != nil {
		r.problem(check.ByHarness, "ghosts", "%v", err)
	}
	r.phase(history.Settled)
	time.Sleep(tidy)
	for i, m := range r.world.Masters() {
		seen := history.Event{Kind: history.Keys, Master: i}
		for _, key := range m.Keys() {
			left := m.TTL(key)
			if left <= 0 {
				left = -1
			}
			seen.Held = append(seen.Held, history.Key{Name: key, Token: strings.Join(content(m, key), " "), Left: left})
		}
		r.log(seen)
	}
}

// phase begins a phase of the run.
func (r *run) phase(name string) { r.log(history.Event{Kind: history.Phase, Phase: name}) }
