package report

import (
	"fmt"
	"time"

	"github.com/redlock-go/redlock/bench/internal/load"
	"github.com/redlock-go/redlock/bench/internal/peers"
)

// rows builds a report's latency part from µs per pair, round by round.
func rows(micros map[string]map[int][]float64) []*Row {
	var all []*Row
	for _, callers := range []int{1, 64, 512} {
		for _, c := range peers.All() {
			r := &Row{Callers: callers, Contestant: c.Name, Masters: c.Masters}
			for i, us := range micros[c.Name][callers] {
				r.Rounds = append(r.Rounds, load.Figures{
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
func onTarget() *Report {
	r := &Report{
		Setup: Setup{Rounds: 3, Slice: time.Second, TTL: 8 * time.Second, CPUs: 2, Contestants: peers.All()},
		Latency: rows(map[string]map[int][]float64{
			peers.Redlock:     {1: {150, 157.5, 142.5}, 64: {20, 30, 40}, 512: {12, 12, 12}},
			peers.RedlockNine: {64: {40, 60, 80}},
			peers.Redsync:     {1: {200, 210, 190}, 64: {120, 180, 240}, 512: {120, 120, 120}},
			peers.Redislock:   {1: {80, 80, 80}, 64: {20, 20, 20}, 512: {21.6, 21.6, 21.6}},
			peers.LowerBound:  {1: {50, 50, 50}, 64: {10, 10, 10}, 512: {6, 6, 6}},
		}),
		Kinds: []*Row{
			{Callers: 64, Contestant: peers.Mutex, Rounds: []load.Figures{{PairMicros: 20, Pairs: 1000}}},
			{Callers: 64, Contestant: peers.FencedMutex, Rounds: []load.Figures{{PairMicros: 30, Pairs: 1000}}},
		},
		Scale: &Scale{Locks: FullLocks, TTL: ScaleTTL, Idle: ScaleTTL, Heap: 1024, Goroutines: 99, CPU: 9},
	}
	for i := range RowOf(r.Latency, 64, peers.Redlock).Rounds {
		RowOf(r.Latency, 64, peers.Redlock).Rounds[i].Allocs = 30
	}
	far := func(lone, crowd float64) []*Row {
		at := func(p50, p99 float64) []load.Figures {
			return []load.Figures{{LockP50: p50, LockP99: p99, UnlockP50: p50, UnlockP99: p99}}
		}
		return []*Row{
			{Callers: 1, Contestant: peers.Redlock, Rounds: at(lone, lone)},
			{Callers: 256, Contestant: peers.Redlock, Rounds: at(1.25*crowd, 1.5*crowd)},
		}
	}
	trips := []time.Duration{
		time.Millisecond, 10 * time.Millisecond, 40 * time.Millisecond, 80 * time.Millisecond, 160 * time.Millisecond,
	}
	r.WAN = []*WAN{{Profile: WANProfile{Name: FiveContinents, Trips: trips}, Rows: far(43_000, 40_000)}}
	for _, name := range []string{"2s", "5s", "12s"} {
		r.Faults = append(r.Faults, &Fault{
			Scenario: Scenario{Name: "frozen-" + name, What: "frozen for " + name}, Contestant: peers.Redlock, HealthyP99: 1000,
			FaultP99: 2500, Longest: 250_000, Pairs: 1000,
		})
	}
	crowd := func(s Shape, name string, perSecond float64) *ContentionRow {
		return &ContentionRow{Shape: s, Contestant: name, Rounds: []ContentionRound{
			{PerSecond: perSecond, Goroutines: 0.5, Processes: 0.3, Waits: load.Waits{Longest: 1_500_000}},
		}}
	}
	r.Contention = []*ContentionRow{
		crowd(oneProcess, peers.Redlock, 2000), crowd(oneProcess, peers.RedlockNoHandOver, 80),
		crowd(oneProcess, peers.Rueidislock, 100),
		crowd(eightProcesses, peers.Redlock, 2000), crowd(eightProcesses, peers.RedlockNoHandOver, 100),
		crowd(eightProcesses, peers.Redsync, 100),
	}
	r.Waiting = []*WaitingRow{{Kind: "mutex", Behind: "a mutex", Counts: []WaitingCount{{1, 33}, {100, 34}, {1000, 33}}}}
	r.Slots = []*ContentionRow{
		crowd(FreeSlots, peers.FreePermits, 1000), crowd(FreeSlots, peers.FreePermitsFenced, 900),
		crowd(FreeSlots, peers.FreeMutexes, 1300),
		crowd(FullSlots, peers.FewPermits, 600), crowd(FullSlots, peers.RedlockNoHandOver, 100),
	}
	for _, row := range r.Slots {
		row.Rounds[0].Least = 1. / 3
	}
	return r
}

func (v verdict) String() string {
	return fmt.Sprintf("%s: %s, got %s, %v", v.What, v.Target, v.Got, v.OK)
}
