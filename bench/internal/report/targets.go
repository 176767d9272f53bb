package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/redlock-go/redlock/bench/internal/peers"
)

// A target is what one figure must be. All but a few are ratios taken in one run, so that they mean the same on a fast
// machine and on a slow one.
type target struct {
	part    string // that measures it; "" any
	name    string
	atMost  bool // at most limit, or at least
	limit   float64
	measure func(*Report) (spread, bool)
	// absolute figures belong to the machine: a smoke run leaves them out.
	absolute bool
	// long ones take longer to measure than a smoke run has.
	long bool
	// exact ones have no slack: what must be nothing must be nothing on a busy machine, too.
	exact bool
}

const smokeSlack = 3.0 // a smoke run is short, and its machine busy

// The targets of the scale part hold for this many locks and this TTL, which is also the idle time.
const (
	FullLocks = 100_000
	ScaleTTL  = 60 * time.Second
)

const (
	frozenFactor, frozenExtra = 1.5, time.Millisecond
	farExtra                  = time.Millisecond
)

// MeasuredParts returns the parts that the targets name.
func MeasuredParts() (parts []string) {
	for _, t := range allTargets() {
		if t.part != "" && !slices.Contains(parts, t.part) {
			parts = append(parts, t.part)
		}
	}
	return parts
}

func allTargets() []target {
	all := []target{
		{
			part: "latency", name: "1 caller: time, × redsync's", atMost: true, limit: 0.75,
			measure: timeRatio(1, peers.Redlock, peers.Redsync),
		},
		{
			part: "latency", name: "64 callers: throughput, × redsync's", limit: 6,
			measure: timeRatio(64, peers.Redsync, peers.Redlock),
		},
		{
			part: "latency", name: "512 callers: throughput, × redsync's", limit: 10,
			measure: timeRatio(512, peers.Redsync, peers.Redlock),
		},
		{
			part: "latency", name: "512 callers: throughput, × bsm/redislock's on one master", limit: 1.8,
			measure: timeRatio(512, peers.Redislock, peers.Redlock),
		},
		{
			part: "latency", name: "512 callers: time, × the floor", atMost: true, limit: 2,
			measure: timeRatio(512, peers.Redlock, peers.LowerBound),
		},
		{
			part: "latency", name: "64 callers: allocations per lock + unlock", atMost: true, limit: 30,
			measure: allocsOf(64, peers.Redlock), absolute: true,
		},
		{
			part: "latency", name: "64 callers: time over 9 masters, × over 5", atMost: true, limit: 2,
			measure: timeRatio(64, peers.RedlockNine, peers.Redlock),
		},
		{part: "kinds", name: "64 callers: time with fencing, × without", atMost: true, limit: 1.5, measure: fencing},
	}
	for _, d := range []time.Duration{2, 5, 12} {
		name := fmt.Sprintf("frozen-%ds", d)
		say := fmt.Sprintf("one of five frozen for %d s: ", d)
		all = append(all,
			target{
				part: "faults", name: say + "p99, × (1.5 × healthy + 1 ms)", atMost: true, limit: 1, measure: frozenP99(name),
				long: d > 2,
			},
			target{
				part: "faults", name: say + "longest, ms", atMost: true, limit: 250, measure: frozenLongest(name), absolute: true,
			},
			target{
				part: "faults", name: say + "keys left on it 2 s after it thawed", atMost: true, measure: frozenLeft(name),
				exact: true, long: d > 2,
			},
		)
	}
	return append(all,
		target{
			part: "wan", name: "1/10/40/80/160 ms, 1 caller: p50 of Lock, × (1.05 × the third + 1 ms)", atMost: true, limit: 1,
			measure: farSingleCaller(lockP50),
		},
		target{
			part: "wan", name: "1/10/40/80/160 ms, 1 caller: p50 of Unlock, × (1.05 × the third + 1 ms)", atMost: true, limit: 1,
			measure: farSingleCaller(unlockP50),
		},
		target{
			part: "wan", name: "1/10/40/80/160 ms, 256 callers: p50 of Lock, × the third", atMost: true, limit: 1.25,
			measure: farManyCallers(lockP50),
		},
		target{
			part: "wan", name: "1/10/40/80/160 ms, 256 callers: p50 of Unlock, × the third", atMost: true, limit: 1.25,
			measure: farManyCallers(unlockP50),
		},
		target{
			part: "wan", name: "1/10/40/80/160 ms, 256 callers: p99 of Lock, × the third", atMost: true, limit: 1.5,
			measure: farManyCallers(lockP99),
		},
		target{
			part: "wan", name: "1/10/40/80/160 ms, 256 callers: p99 of Unlock, × the third", atMost: true, limit: 1.5,
			measure: farManyCallers(unlockP99),
		},
		target{
			part: "contention", name: "one name, 1 × 32: acquisitions/s, × rueidislock's on one master", limit: 20,
			measure: throughputRatio(oneProcess, peers.Redlock, peers.Rueidislock),
		},
		target{
			part: "contention", name: "one name, 1 × 32: slowest/fastest goroutine", limit: 0.5,
			measure: contentionFigure(oneProcess, peers.Redlock, byGoroutine),
		},
		target{
			part: "contention", name: "one name, 1 × 32, no hand-over: acquisitions/s, × rueidislock's on one master",
			limit: 0.8, measure: throughputRatio(oneProcess, peers.RedlockNoHandOver, peers.Rueidislock),
		},
		target{
			part: "contention", name: "one name, 8 × 4: acquisitions/s, × redsync's", limit: 20,
			measure: throughputRatio(eightProcesses, peers.Redlock, peers.Redsync),
		},
		target{
			part: "contention", name: "one name, 8 × 4: slowest/fastest process", limit: 0.3,
			measure: contentionFigure(eightProcesses, peers.Redlock, byProcess), long: true,
		},
		target{
			part: "contention", name: "one name, 8 × 4: longest wait, ms", atMost: true, limit: 1500,
			measure: contentionFigure(eightProcesses, peers.Redlock, longestMillis), absolute: true,
		},
		target{
			part: "contention", name: "one name, 8 × 4, no hand-over: acquisitions/s, × redsync's", limit: 1,
			measure: throughputRatio(eightProcesses, peers.RedlockNoHandOver, peers.Redsync),
		},
		target{
			part: "slots", name: "semaphore of 64, 16 callers in 4 processes: time, × a fenced mutex's on distinct names",
			atMost: true, limit: 1.3, measure: slotRatio(FreeSlots, peers.FreeMutexes, peers.FreePermits),
		},
		target{
			part: "slots", name: "semaphore of 8, 64 callers for 10 ms each, no hand-over: permits/s, × a mutex's", limit: 6,
			measure: slotRatio(FullSlots, peers.FewPermits, peers.RedlockNoHandOver),
		},
		target{
			part: "slots", name: "semaphore of 8, 64 callers for 10 ms each, no hand-over: slowest caller/mean",
			limit: 1. / 3, measure: leastShare, long: true,
		},
		target{part: "slots", name: "more holders in one process than slots", atMost: true, measure: excess, exact: true},
		target{
			part: "scale", name: "held locks: bytes of heap each", atMost: true, limit: 1024,
			measure: scaleOf(func(s *Scale) float64 { return s.Heap }), absolute: true,
		},
		target{
			part: "scale", name: "held locks: goroutines", atMost: true, limit: 99,
			measure: scaleOf(func(s *Scale) float64 { return float64(s.Goroutines) }), exact: true,
		},
		target{
			part: "scale", name: "100,000 held locks, TTL 60 s: CPU seconds in 60 idle s", atMost: true, limit: 9,
			measure: idleCPU, absolute: true,
		},
		target{
			part: "scale", name: "held locks: lost over two TTLs", atMost: true,
			measure: scaleOf(func(s *Scale) float64 { return float64(s.Lost) }), exact: true,
		},
		target{
			part: "contention", name: "two goroutines of one process hold one name at once", atMost: true, measure: overlaps,
			exact: true,
		},
		target{name: "share of redlock's pairs that failed, %", atMost: true, limit: 0.1, measure: failedShare, exact: true},
	)
}
