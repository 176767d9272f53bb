package main

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The contention part starts this program again, which in a test is the test's.
func TestMain(m *testing.M) {
	if worked() {
		return
	}
	goleak.VerifyTestMain(m)
}

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

func (f *fake) Pair(ctx context.Context, name string) (marks, error) {
	n := f.enter(name)
	defer f.leave(name)
	time.Sleep(f.lock)
	locked := marks{locked: time.Now()}
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
	r := &report{
		Setup: setup{Rounds: 3, Slice: time.Second, TTL: 8 * time.Second, CPUs: 2, Contestants: allContestants()},
		Latency: rows(map[string]map[int][]float64{
			ours:         {1: {150, 157.5, 142.5}, 64: {20, 30, 40}, 512: {12, 12, 12}},
			oursNine:     {64: {40, 60, 80}},
			peer:         {1: {200, 210, 190}, 64: {120, 180, 240}, 512: {120, 120, 120}},
			singleMaster: {1: {80, 80, 80}, 64: {20, 20, 20}, 512: {21.6, 21.6, 21.6}},
			bottom:       {1: {50, 50, 50}, 64: {10, 10, 10}, 512: {6, 6, 6}},
		}),
		Kinds: []*row{
			{Callers: 64, Contestant: plain, Rounds: []figures{{PairMicros: 20, Pairs: 1000}}},
			{Callers: 64, Contestant: fenced, Rounds: []figures{{PairMicros: 30, Pairs: 1000}}},
		},
		Scale: &scaleReport{Locks: fullHeld, TTL: scaleTTL, Idle: scaleIdle, Heap: 1024, Goroutines: 99, CPU: 3},
	}
	for i := range rowOf(r.Latency, 64, ours).Rounds {
		rowOf(r.Latency, 64, ours).Rounds[i].Allocs = 60
	}
	far := func(lone, crowd float64) []*row {
		at := func(p50, p99 float64) []figures {
			return []figures{{LockP50: p50, LockP99: p99, UnlockP50: p50, UnlockP99: p99}}
		}
		return []*row{
			{Callers: 1, Contestant: ours, Rounds: at(lone, lone)},
			{Callers: 256, Contestant: ours, Rounds: at(1.25*crowd, 1.5*crowd)},
		}
	}
	profile, _ := pickProfiles(fiveContinents)
	r.WAN = []*wanReport{{Profile: profile[0], Rows: far(43_000, 40_000)}}
	for _, sc := range allScenarios()[:3] {
		r.Faults = append(r.Faults, &faultReport{
			Scenario: sc, Contestant: ours, HealthyP99: 1000, FaultP99: 2500, Longest: 250_000, Pairs: 1000,
		})
	}
	crowd := func(s shape, name string, perSecond float64) *contentionRow {
		return &contentionRow{Shape: s, Contestant: name, Rounds: []contentionRound{
			{PerSecond: perSecond, Goroutines: 0.5, Processes: 0.3, Waits: waits{Longest: 1_500_000}},
		}}
	}
	r.Contention = []*contentionRow{
		crowd(oneProcess, ours, 2000), crowd(oneProcess, oursReleased, 80), crowd(oneProcess, singleRueidis, 100),
		crowd(eightProcesses, ours, 2000), crowd(eightProcesses, oursReleased, 100), crowd(eightProcesses, peer, 100),
	}
	return r
}

func (v verdict) String() string {
	return fmt.Sprintf("%s: %s, got %s, %v", v.What, v.Target, v.Got, v.OK)
}
