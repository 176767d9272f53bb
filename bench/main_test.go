package main

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a pairer of known behaviour.
type fake struct {
	lock, unlock time.Duration
	fail         func(pair int) error

	mu    sync.Mutex
	pairs int
	names map[string]int // how often at once, to see that names are distinct
	twice []string
	slow  map[int]time.Duration // extra time of the n-th pair
}

func (f *fake) Pair(ctx context.Context, name string) (time.Time, error) {
	n := f.enter(name)
	defer f.leave(name)
	time.Sleep(f.lock)
	locked := time.Now()
	time.Sleep(f.unlock + f.slow[n])
	if f.fail != nil {
		return locked, f.fail(n)
	}
	return locked, ctx.Err()
}

func (f *fake) enter(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.names == nil {
		f.names = map[string]int{}
	}
	if f.names[name]++; f.names[name] > 1 {
		f.twice = append(f.twice, name)
	}
	f.pairs++
	return f.pairs
}

func (f *fake) leave(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.names[name]--
}

func (*fake) Close() error { return nil }

// rows builds a report's latency part from µs per pair, round by round.
func rows(micros map[string]map[int][]float64) []*row {
	var all []*row
	for _, callers := range []int{1, 64, 512} {
		for _, c := range allContestants() {
			r := &row{Callers: callers, Contestant: c.Name, Masters: c.Masters}
			for i, us := range micros[c.Name][callers] {
				r.Rounds = append(r.Rounds, figures{
					PairMicros: us, P50: us * float64(callers), P99: 2 * us * float64(callers), Allocs: float64(40 + i), Pairs: 1000,
				})
			}
			if len(r.Rounds) > 0 {
				all = append(all, r)
			}
		}
	}
	return all
}

// onTarget is a report that meets every target exactly.
func onTarget() *report {
	p99 := func(us float64) figures { return figures{LockP99: us, UnlockP99: us, Pairs: 1000} }
	return &report{
		Setup: setup{Rounds: 3, Slice: time.Second, TTL: 8 * time.Second, CPUs: 2, Contestants: allContestants()},
		Latency: rows(map[string]map[int][]float64{
			ours:         {1: {200, 210, 190}, 64: {30, 40, 50}, 512: {20, 20, 20}},
			peer:         {1: {200, 210, 190}, 64: {120, 160, 200}, 512: {120, 120, 120}},
			singleMaster: {1: {80, 80, 80}, 64: {20, 20, 20}, 512: {22, 22, 22}},
		}),
		Frozen: &frozenReport{
			Contestant: ours, Callers: 16, TTL: 30 * time.Second, Guard: true, Window: time.Second,
			Cycles: []frozenCycle{{Healthy: p99(100), Frozen: p99(300)}, {Healthy: p99(100), Frozen: p99(300)}},
		},
	}
}

func (v verdict) String() string {
	return fmt.Sprintf("%s: %s, got %s, %v", v.What, v.Target, v.Got, v.OK)
}
