package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	frozenCallers = 16
	frozenTTL     = 30 * time.Second // so long that no leftover ends by itself while we look
	thawed        = 2 * time.Second  // from the thaw to the look at what is left
)

// frozenPlan is how the frozen part is measured.
type frozenPlan struct {
	cycles int
	window time.Duration // healthy, and again as long frozen
	ramp   time.Duration
}

func (p frozenPlan) estimate() time.Duration {
	return time.Duration(p.cycles) * (2*(p.window+p.ramp+2*quiet) + thawed)
}

// frozenReport is what one frozen master of five does to everybody's locks.
type frozenReport struct {
	Contestant string        `json:"contestant"`
	Callers    int           `json:"callers"`
	TTL        time.Duration `json:"ttl_ns"`
	Guard      bool          `json:"restart_guard"`
	Window     time.Duration `json:"window_ns"`
	Cycles     []frozenCycle `json:"cycles"`
}

// A frozenCycle is a healthy window, a frozen one under the same load, and what was left on the master afterwards.
type frozenCycle struct {
	Healthy figures  `json:"healthy"`
	Frozen  figures  `json:"frozen"`
	Longest float64  `json:"frozen_longest_pair_us"`
	Left    int64    `json:"keys_left"` // on the frozen master, two seconds after the thaw
	Few     []string `json:"some_keys_left,omitempty"`
}

func (f *frozenReport) values(of func(frozenCycle) float64) []float64 {
	all := make([]float64, len(f.Cycles))
	for i, c := range f.Cycles {
		all[i] = of(c)
	}
	return all
}

func (f *frozenReport) lockRatio() spread {
	return ratioOf(f.values(func(c frozenCycle) float64 { return c.Frozen.LockP99 }),
		f.values(func(c frozenCycle) float64 { return c.Healthy.LockP99 }))
}

func (f *frozenReport) unlockRatio() spread {
	return ratioOf(f.values(func(c frozenCycle) float64 { return c.Frozen.UnlockP99 }),
		f.values(func(c frozenCycle) float64 { return c.Healthy.UnlockP99 }))
}

// left is the number of keys left over all cycles.
func (f *frozenReport) left() (n int64) {
	for _, c := range f.Cycles {
		n += c.Left
	}
	return n
}

// measureFrozen freezes a master, another one in each cycle, in the middle of a load of c, so that what was on its way
// to the master at that moment is measured as well.
func measureFrozen(ctx context.Context, plan frozenPlan, m *masters, c *contestant, p *progress) ([]frozenCycle, error) {
	if err := m.flush(ctx); err != nil { // nobody's leftovers but this contestant's
		return nil, err
	}
	var cycles []frozenCycle
	for i := range plan.cycles {
		victim := (len(m.servers) - 1 + i) % len(m.servers)
		p.stage("frozen: cycle %d of %d, master %s", i+1, plan.cycles, m.servers[victim].Addr())
		cycle, err := freezeOnce(ctx, plan, m, victim, c, p)
		if err != nil {
			return nil, fmt.Errorf("frozen, cycle %d: %w", i+1, err)
		}
		cycles = append(cycles, cycle)
	}
	p.clear()
	return cycles, nil
}

func freezeOnce(ctx context.Context, plan frozenPlan, m *masters, victim int, c *contestant, p *progress) (cycle frozenCycle, err error) {
	l := load{callers: frozenCallers, ramp: plan.ramp, window: plan.window, prefix: "frozen:" + c.Name}
	p.live("frozen: all masters healthy")
	healthy, err := l.run(ctx, c)
	if err != nil {
		return cycle, err
	}
	if cycle.Healthy, err = healthy.figures(); err != nil {
		return cycle, err
	}
	p.live("frozen: one master frozen")
	l.opened = m.servers[victim].Freeze
	sick, err := l.run(ctx, c)
	if err = errors.Join(err, m.servers[victim].Thaw()); err != nil {
		return cycle, err
	}
	if cycle.Frozen, err = sick.figures(); err != nil {
		return cycle, err
	}
	cycle.Longest = micros(time.Duration(sick.pair.Max()))
	p.live("frozen: thawed, waiting %v", thawed)
	if err := pause(ctx, thawed); err != nil {
		return cycle, err
	}
	cycle.Left, cycle.Few, err = m.left(ctx, victim)
	return cycle, err
}
