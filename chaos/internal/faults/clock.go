package faults

import (
	"context"
	"sync"
	"time"
)

// Jump is how far a clock jumps: further than any TTL of the traffic.
const Jump = 10 * time.Second

// What a clock gains a second that runs too fast, and one that keeps to the default drift budget of 0.01.
const (
	Fast  = 0.5
	Drift = 0.005
)

// DriftOf is what the clock of a client gains a second by [DriftClient]. Every second one loses: who is slow believes
// in a lock for longer than the masters have it.
func DriftOf(client int) float64 {
	if client%2 == 1 {
		return -Drift
	}
	return Drift
}

// ofClock are the faults of a master's wall clock.
func ofClock(m MasterControl) []Fault {
	run := func(name string, rate float64) Fault {
		return made(name, m.CanMoveClocks(),
			func(ctx context.Context, master int) error { return m.RunClock(ctx, master, rate) },
			func(ctx context.Context, master int) error { return m.RunClock(ctx, master, 0) })
	}
	back := &setBack{control: m, masters: map[int]bool{}}
	return []Fault{
		// It stays where it is: set back again, it would make keys live longer than anybody asked for.
		made(ClockForward, m.CanMoveClocks(), func(ctx context.Context, master int) error {
			return m.JumpClock(ctx, master, Jump)
		}, nil),
		made(ClockBack, m.CanMoveClocks(), back.inject, back.heal),
		run(ClockFast, Fast),
		run(ClockDrift, Drift),
	}
}

// setBack remembers whose clock has been set back, so that a heal sets forward those alone.
type setBack struct {
	control MasterControl
	mu      sync.Mutex
	masters map[int]bool
}

func (b *setBack) inject(ctx context.Context, master int) error {
	return b.set(ctx, master, true, -Jump)
}

func (b *setBack) heal(ctx context.Context, master int) error { return b.set(ctx, master, false, Jump) }

func (b *setBack) set(ctx context.Context, master int, to bool, d time.Duration) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.masters[master] == to {
		return nil
	}
	err := b.control.JumpClock(ctx, master, d)
	if err == nil {
		b.masters[master] = to
	}
	return err
}
