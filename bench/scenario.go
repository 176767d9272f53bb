package main

import (
	"context"
	"time"

	"github.com/redlock-go/redlock/bench/internal/delay"
)

// A scenario is a fault that begins in the middle of a steady load, and its end.
type scenario struct {
	Name  string        `json:"name"`
	What  string        `json:"what"`
	Lasts time.Duration `json:"lasts_ns"`
	begin func(ctx context.Context, v *victim) error
	end   func(ctx context.Context, v *victim) error
}

// A victim is the master that the fault is done to. A proxy that delays stands before it.
type victim struct {
	host  host
	proxy *delay.Proxy
}

const slowTrip = 100 * time.Millisecond

func allScenarios() []scenario {
	frozen := func(d time.Duration) scenario {
		return scenario{
			Name: "frozen-" + d.String(), What: "frozen for " + d.String(), Lasts: d,
			begin: func(ctx context.Context, v *victim) error { return v.host.Freeze(ctx) },
			end:   func(ctx context.Context, v *victim) error { return v.host.Thaw(ctx) },
		}
	}
	return []scenario{
		frozen(2 * time.Second),
		frozen(5 * time.Second),
		frozen(12 * time.Second),
		{
			Name: "slow", What: "100ms away for 3s", Lasts: 3 * time.Second,
			begin: func(_ context.Context, v *victim) error { v.proxy.Set(delay.Link{RTT: slowTrip}); return nil },
			end:   func(_ context.Context, v *victim) error { v.proxy.Set(delay.Link{}); return nil },
		},
		// Last, because a master that has come back may not vote for a while.
		{
			Name: "killed", What: "killed, and 3s later back, empty", Lasts: 3 * time.Second,
			begin: func(_ context.Context, v *victim) error { return v.host.Kill() },
			end:   func(ctx context.Context, v *victim) error { return v.host.Restart(ctx) },
		},
	}
}

func scenarioNames() (all []string) {
	for _, s := range allScenarios() {
		all = append(all, s.Name)
	}
	return all
}

func pickScenarios(list string) ([]scenario, error) {
	return pickNamed("-scenarios", list, allScenarios(), func(s scenario) string { return s.Name })
}
