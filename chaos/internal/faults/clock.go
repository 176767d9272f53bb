package faults

import (
	"context"
	"sync"
	"time"
)

// The faults of a master's wall clock.
const (
	ClockForward = "clock-forward"
	ClockBack    = "clock-back"
	ClockFast    = "clock-fast"
	ClockDrift   = "clock-drift"
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

var ofClock = []definition{
	onMasters(ClockForward, Traits{Instant: true, Breaks: assumesClocks}, jump,
		"its wall clock jumps forward by 10 s, and stays there: keys expire early"),
	onMasters(ClockBack, Traits{Mute: true, Breaks: assumesClocks}, jumpBack,
		"its wall clock jumps back by 10 s, and forward again after the fault: keys live on, then expire early"),
	onMasters(ClockFast, Traits{Outlasts: true, Breaks: assumesClocks}, runFaster(Fast),
		"its wall clock gains half a second a second"),
	onMasters(ClockDrift, Traits{Outlasts: true}, runFaster(Drift),
		"its wall clock gains 5 ms a second, half the drift budget"),
}

// jump sets a clock forward. It stays there: set back again, it would make keys live longer than anybody asked for.
func jump(m MasterControl) Effect {
	return Effect{m.CanMoveClocks(), func(ctx context.Context, master int) error {
		return m.JumpClock(ctx, master, Jump)
	}, nil}
}

// jumpBack remembers whose clock has been set back, so that a heal sets forward those alone.
func jumpBack(m MasterControl) Effect {
	var mu sync.Mutex
	isBack := map[int]bool{}
	set := func(back bool, d time.Duration) func(context.Context, int) error {
		return func(ctx context.Context, master int) error {
			mu.Lock()
			defer mu.Unlock()
			if isBack[master] == back {
				return nil
			}
			err := m.JumpClock(ctx, master, d)
			if err == nil {
				isBack[master] = back
			}
			return err
		}
	}
	return Effect{m.CanMoveClocks(), set(true, -Jump), set(false, Jump)}
}

func runFaster(rate float64) func(MasterControl) Effect {
	return func(m MasterControl) Effect {
		run := func(rate float64) func(context.Context, int) error {
			return func(ctx context.Context, master int) error { return m.RunClock(ctx, master, rate) }
		}
		return Effect{m.CanMoveClocks(), run(rate), run(0)}
	}
}
