package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/bench/internal/peers"
)

// A target is what one figure must be. All but a few are ratios taken in one run, so that they mean the same on a fast
// machine and on a slow one.
type target struct {
	what           string
	part, in, name string // the figure; an empty case is any of them
	who, over      string // its contestant, and the one by whose figure it is divided, if any; an empty who is all of ours
	atMost         bool   // at most limit, or at least
	limit          float64
	absolute       bool // it belongs to the machine: a smoke run leaves it out
	long           bool // it takes longer to measure than a smoke run has
	exact          bool // no slack, and no round may miss it: what must be nothing must be nothing on a busy machine
}

const (
	smokeSlack  = 3.0 // a smoke run is short, and its machine busy
	fallsShort  = "SHORT"
	notMeasured = "not measured"
)

// The targets of the scale part hold for this many locks and this TTL, which is also the idle time.
const (
	FullLocks = 100_000
	ScaleTTL  = 60 * time.Second
)

// Scale names the case of so many held locks.
func Scale(locks int, ttl time.Duration) string { return fmt.Sprintf("%d locks, TTL %v", locks, ttl) }

// A verdict compares one figure with its target.
type verdict struct {
	What   string `json:"what"`
	Target string `json:"target"`
	Got    string `json:"got"`
	OK     bool   `json:"ok"`
}

// targets returns the project's targets.
func targets() []target {
	one, many, most := Callers(1), Callers(64), Callers(512)
	near := func(what, in, who, over string, atMost bool, limit float64) target {
		return target{
			what: what, part: "latency", in: in, name: "µs/pair", who: who, over: over, atMost: atMost, limit: limit,
		}
	}
	all := []target{
		near("1 caller: time, × redsync's", one, peers.Redlock, peers.Redsync, true, 0.75),
		near("64 callers: throughput, × redsync's", many, peers.Redsync, peers.Redlock, false, 6),
		near("512 callers: throughput, × redsync's", most, peers.Redsync, peers.Redlock, false, 10),
		near("512 callers: throughput, × bsm/redislock's on one master", most, peers.Redislock, peers.Redlock, false, 1.8),
		near("64 callers: time over 9 masters, × over 5", many, peers.RedlockNine, peers.Redlock, true, 2),
		{
			what: "64 callers: allocations per lock + unlock", part: "latency", in: many, name: "allocs/pair",
			who: peers.Redlock, atMost: true, limit: 30, absolute: true,
		},
		{
			what: "64 callers: time with fencing, × without", part: "kinds", in: many, name: "µs/pair",
			who: peers.FencedMutex, over: peers.Mutex, atMost: true, limit: 1.5,
		},
	}
	for _, seconds := range []int{2, 5, 12} {
		frozen := func(what, name string, limit float64) target {
			return target{
				what: fmt.Sprintf("one of five frozen for %d s: %s", seconds, what), part: "faults",
				in: fmt.Sprintf("frozen for %ds", seconds), name: name, who: peers.Redlock, atMost: true, limit: limit,
			}
		}
		p99 := frozen("p99, × (1.5 × healthy + 1 ms)", "p99 by allowed", 1)
		longest := frozen("longest, ms", "longest ms", 250)
		left := frozen("keys left on it 2 s after it thawed", "keys left", 0)
		p99.long, longest.absolute, left.long, left.exact = seconds > 2, true, seconds > 2, true
		all = append(all, p99, longest, left)
	}
	for _, step := range []string{"Lock", "Unlock"} {
		for _, t := range []target{
			// 1 ms is a fortieth of the third round trip.
			{what: "1 caller: p50", in: one, name: " p50", limit: 1.05 + 1./40},
			{what: "256 callers: p50", in: Callers(256), name: " p50", limit: 1.25},
			{what: "256 callers: p99", in: Callers(256), name: " p99", limit: 1.5},
		} {
			t.what = "1/10/40/80/160 ms, " + t.what + " of " + step + ", × the third"
			t.part, t.in, t.name, t.who, t.atMost = "wan", FiveContinents+", "+t.in, step+t.name, peers.Redlock, true
			all = append(all, t)
		}
	}
	contended := func(what, in, who, over string, limit float64) target {
		return target{what: what, part: "contention", in: in, name: "locks/s", who: who, over: over, limit: limit}
	}
	alone, eight := Shape(1, 32), Shape(8, 4)
	scale := func(what, in, name string, limit float64) target {
		return target{what: what, part: "scale", in: in, name: name, who: peers.Redlock, atMost: true, limit: limit}
	}
	heap, idle := scale("held locks: bytes of heap each", "", "heap bytes/lock", 1024),
		scale("100,000 held locks, TTL 60 s: CPU seconds in 60 idle s", Scale(FullLocks, ScaleTTL), "idle CPU s", 9)
	goroutines, lost := scale("held locks: goroutines", "", "goroutines", 99),
		scale("held locks: lost over two TTLs", "", "lost", 0)
	heap.absolute, idle.absolute, goroutines.exact, lost.exact = true, true, true, true
	return append(all,
		contended("one name, 1 × 32: locks/s, × rueidislock's on one master", alone, peers.Redlock, peers.Rueidislock, 20),
		contended("one name, 1 × 32, no hand-over: locks/s, × rueidislock's on one master", alone, peers.RedlockNoHandOver,
			peers.Rueidislock, 0.8),
		contended("one name, 8 × 4: locks/s, × redsync's", eight, peers.Redlock, peers.Redsync, 20),
		contended("one name, 8 × 4, no hand-over: locks/s, × redsync's", eight, peers.RedlockNoHandOver, peers.Redsync, 1),
		target{
			what: "one name, 1 × 32: slowest/fastest goroutine", part: "contention", in: alone,
			name: "slowest/fastest goroutine", who: peers.Redlock, limit: 0.5,
		},
		target{
			what: "one name, 8 × 4: slowest/fastest process", part: "contention", in: eight, name: "slowest/fastest process",
			who: peers.Redlock, limit: 0.3, long: true,
		},
		target{
			what: "one name, 8 × 4: longest wait, ms", part: "contention", in: eight, name: "longest wait ms",
			who: peers.Redlock, atMost: true, limit: 1500, absolute: true,
		},
		target{
			what: "two goroutines of one process hold one name at once", part: "contention", name: "overlaps", atMost: true,
			exact: true,
		},
		target{
			what: "semaphore of 64, 16 callers in 4 processes: time, × a fenced mutex's on distinct names", part: "slots",
			in: FreeSlots, name: "locks/s", who: peers.FreeMutexes, over: peers.FreePermits, atMost: true, limit: 1.3,
		},
		target{
			what: "semaphore of 8, 64 callers for 10 ms each, no hand-over: permits/s, × a mutex's", part: "slots",
			in: FullSlots, name: "locks/s", who: peers.FewPermits, over: peers.RedlockNoHandOver, limit: 6,
		},
		target{
			what: "semaphore of 8, 64 callers for 10 ms each, no hand-over: slowest caller/mean", part: "slots",
			in: FullSlots, name: "slowest/mean goroutine", who: peers.FewPermits, limit: 1. / 3, long: true,
		},
		target{what: "more holders in one process than slots", part: "slots", name: "overlaps", atMost: true, exact: true},
		heap, goroutines, idle, lost,
		target{what: "share of redlock's pairs that failed, %", atMost: true, limit: 0.1, exact: true},
	)
}

// values returns the rounds that a target is about, or nil if they were not measured.
func (t target) values(r *Report) (all []float64) {
	switch {
	case t.part == "" && r.Pairs+r.Failed > 0:
		return []float64{100 * float64(r.Failed) / float64(r.Pairs+r.Failed)}
	case t.over != "":
		return ratios(r.Find(t.part, t.in, t.who, t.name), r.Find(t.part, t.in, t.over, t.name))
	}
	for _, f := range r.Figures {
		if f.Part == t.part && f.Name == t.name && (t.in == "" || f.Case == t.in) &&
			(f.Who == t.who || t.who == "" && peers.Ours(f.Who)) {
			all = append(all, f.Rounds...)
		}
	}
	return all
}

// judge compares a report with the targets of the parts that were asked for. A figure of theirs that was not measured
// falls short. In a smoke run ratios have slack, and absolute figures, and those that take longer to measure, are left
// out.
func judge(r *Report, smoke bool) (all []verdict) {
	for _, t := range targets() {
		asked := t.part == "" || len(r.Setup.Parts) == 0 || slices.Contains(r.Setup.Parts, t.part)
		if asked && (!smoke || !t.absolute && !t.long) {
			all = append(all, t.judge(t.values(r), smoke))
		}
	}
	return all
}

func (t target) judge(values []float64, smoke bool) verdict {
	limit, sign := t.limit, "≥ "
	if t.atMost {
		sign = "≤ "
	}
	if smoke && !t.exact {
		if t.atMost {
			limit *= smokeSlack
		} else {
			limit /= smokeSlack
		}
	}
	v := verdict{
		What: t.what, Target: sign + strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.3f", limit), "0"), "."),
		Got: notMeasured,
	}
	if len(values) == 0 {
		return v
	}
	got := spreadOf(values)
	v.Got, v.OK = brief(values), got.Median >= limit
	if t.atMost {
		v.OK = got.Median <= limit && (!t.exact || got.High <= limit)
	}
	return v
}

// describeShort lists the missed targets.
func describeShort(all []verdict) string {
	var list []string
	for _, v := range all {
		if !v.OK {
			list = append(list, fmt.Sprintf("%s is %s, wanted %s", v.What, v.Got, v.Target))
		}
	}
	return strings.Join(list, "; ")
}
