package main

import (
	"fmt"
	"time"
)

// A target is what one figure must be. All but a few are ratios taken in one run, so that they mean the same on a fast
// machine and on a slow one.
type target struct {
	part    string // that measures it; "" any
	what    string
	most    bool // at most limit, or at least
	limit   float64
	measure func(*report) (spread, bool)
	// absolute figures belong to the machine: a smoke run leaves them out.
	absolute bool
	// long ones take longer to measure than a smoke run has.
	long bool
	// exact ones have no slack: what must be nothing must be nothing on a busy machine, too.
	exact bool
}

const smokeSlack = 3.0 // a smoke run is short, and its machine busy

const (
	frozenFactor, frozenExtra = 1.5, time.Millisecond
	farExtra                  = time.Millisecond
)

func allTargets() []target {
	all := []target{
		{part: "latency", what: "1 caller: time, × redsync's", most: true, limit: 0.75, measure: timeOver(1, ours, peer)},
		{part: "latency", what: "64 callers: throughput, × redsync's", limit: 6, measure: timeOver(64, peer, ours)},
		{part: "latency", what: "512 callers: throughput, × redsync's", limit: 10, measure: timeOver(512, peer, ours)},
		{part: "latency", what: "512 callers: throughput, × bsm/redislock's on one master", limit: 1.8, measure: timeOver(512, singleMaster, ours)},
		{part: "latency", what: "512 callers: time, × the floor", most: true, limit: 2, measure: timeOver(512, ours, bottom)},
		{part: "latency", what: "64 callers: allocations per lock + unlock", most: true, limit: 60, measure: allocsOf(64, ours), absolute: true},
		{part: "latency", what: "64 callers: time over 9 masters, × over 5", most: true, limit: 2, measure: timeOver(64, oursNine, ours)},
		{part: "kinds", what: "64 callers: time with fencing, × without", most: true, limit: 1.5, measure: fencing},
	}
	for _, d := range []time.Duration{2, 5, 12} {
		name := fmt.Sprintf("frozen-%ds", d)
		say := fmt.Sprintf("one of five frozen for %d s: ", d)
		all = append(all,
			target{part: "faults", what: say + "p99, × (1.5 × healthy + 1 ms)", most: true, limit: 1, measure: frozenP99(name), long: d > 2},
			target{part: "faults", what: say + "longest, ms", most: true, limit: 250, measure: frozenLongest(name), absolute: true},
			target{part: "faults", what: say + "keys left on it 2 s after it thawed", most: true, measure: frozenLeft(name), exact: true, long: d > 2},
		)
	}
	return append(all,
		target{part: "wan", what: "1/10/40/80/160 ms, 1 caller: p50 of Lock, × (1.05 × the third + 1 ms)", most: true, limit: 1, measure: farAlone(lockP50)},
		target{part: "wan", what: "1/10/40/80/160 ms, 1 caller: p50 of Unlock, × (1.05 × the third + 1 ms)", most: true, limit: 1, measure: farAlone(unlockP50)},
		target{part: "wan", what: "1/10/40/80/160 ms, 256 callers: p50 of Lock, × the third", most: true, limit: 1.25, measure: farCrowd(lockP50)},
		target{part: "wan", what: "1/10/40/80/160 ms, 256 callers: p50 of Unlock, × the third", most: true, limit: 1.25, measure: farCrowd(unlockP50)},
		target{part: "wan", what: "1/10/40/80/160 ms, 256 callers: p99 of Lock, × the third", most: true, limit: 1.5, measure: farCrowd(lockP99)},
		target{part: "wan", what: "1/10/40/80/160 ms, 256 callers: p99 of Unlock, × the third", most: true, limit: 1.5, measure: farCrowd(unlockP99)},
		target{part: "contention", what: "one name, 1 × 32: acquisitions/s, × rueidislock's on one master", limit: 20, measure: gotOver(oneProcess, ours, singleRueidis)},
		target{part: "contention", what: "one name, 1 × 32: slowest/fastest goroutine", limit: 0.5, measure: crowdOf(oneProcess, ours, byGoroutine)},
		target{part: "contention", what: "one name, 1 × 32, no hand-over: acquisitions/s, × rueidislock's on one master", limit: 0.8, measure: gotOver(oneProcess, oursReleased, singleRueidis)},
		target{part: "contention", what: "one name, 8 × 4: acquisitions/s, × redsync's", limit: 20, measure: gotOver(eightProcesses, ours, peer)},
		target{part: "contention", what: "one name, 8 × 4: slowest/fastest process", limit: 0.3, measure: crowdOf(eightProcesses, ours, byProcess), long: true},
		target{part: "contention", what: "one name, 8 × 4: longest wait, ms", most: true, limit: 1500, measure: crowdOf(eightProcesses, ours, longestMillis), absolute: true},
		target{part: "contention", what: "one name, 8 × 4, no hand-over: acquisitions/s, × redsync's", limit: 1, measure: gotOver(eightProcesses, oursReleased, peer)},
		target{part: "scale", what: "held locks: bytes of heap each", most: true, limit: 1024, measure: scaleOf(func(s *scaleReport) float64 { return s.Heap }), absolute: true},
		target{part: "scale", what: "held locks: goroutines", most: true, limit: 99, measure: scaleOf(func(s *scaleReport) float64 { return float64(s.Goroutines) }), exact: true},
		target{part: "scale", what: "100,000 held locks, TTL 60 s: CPU seconds in 30 idle s", most: true, limit: 3, measure: idleCPU, absolute: true},
		target{part: "scale", what: "held locks: lost over two TTLs", most: true, measure: scaleOf(func(s *scaleReport) float64 { return float64(s.Lost) }), exact: true},
		target{part: "contention", what: "two goroutines of one process hold one name at once", most: true, measure: overlaps, exact: true},
		target{what: "share of redlock's pairs that failed, %", most: true, limit: 0.1, measure: failedShare, exact: true},
	)
}
