package report

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/bench/internal/load"
	"github.com/redlock-go/redlock/bench/internal/peers"
)

func TestCheckPassesOnTheTarget(t *testing.T) {
	t.Parallel()
	all := judge(onTarget(), false)
	assert.Zero(t, CountShort(all), "%v", all)
	assert.Len(t, all, len(allTargets()))
	assert.Zero(t, CountShort(judge(onTarget(), true)))
}

func slowDown(r *Report, callers int, name string, times float64) {
	rounds := RowOf(r.Latency, callers, name).Rounds
	for i := range rounds {
		rounds[i].PairMicros *= times
	}
}

func crowd(r *Report, s Shape, name string) *ContentionRound {
	return &contentionOf(r.Contention, s, name).Rounds[0]
}

// The control: each figure a little beyond its target must be named, and nothing else.
func TestCheckNamesWhatFallsShort(t *testing.T) {
	t.Parallel()
	far := func(callers int) func(r *Report) *load.Figures {
		return func(r *Report) *load.Figures {
			return &r.wanProfile(FiveContinents).Row(callers, peers.Redlock).Rounds[0]
		}
	}
	spoilers := map[string]func(r *Report){
		"1 caller: time, × redsync's": func(r *Report) {
			slowDown(r, 1, peers.Redlock, 1.01)
		},
		"64 callers: throughput, × redsync's": func(r *Report) {
			slowDown(r, 64, peers.Redsync, 0.99)
		},
		"512 callers: throughput, × redsync's": func(r *Report) {
			slowDown(r, 512, peers.Redsync, 0.99)
		},
		"512 callers: throughput, × bsm/redislock's on one master": func(r *Report) {
			slowDown(r, 512, peers.Redislock, 0.99)
		},
		"512 callers: time, × the floor": func(r *Report) {
			slowDown(r, 512, peers.LowerBound, 0.99)
		},
		"64 callers: time over 9 masters, × over 5": func(r *Report) {
			slowDown(r, 64, peers.RedlockNine, 1.01)
		},
		"64 callers: time with fencing, × without": func(r *Report) {
			r.Kinds[1].Rounds[0].PairMicros *= 1.01
		},
		"64 callers: allocations per lock + unlock": func(r *Report) {
			eachRound(r, func(f *load.Figures) { f.Allocs++ })
		},
		"one of five frozen for 2 s: p99, × (1.5 × healthy + 1 ms)": func(r *Report) {
			r.faultNamed("frozen-2s").FaultP99 *= 1.01
		},
		"one of five frozen for 5 s: longest, ms": func(r *Report) {
			r.faultNamed("frozen-5s").Longest *= 1.01
		},
		"one of five frozen for 12 s: keys left on it 2 s after it thawed": func(r *Report) {
			r.faultNamed("frozen-12s").Left = 1
		},
		"share of redlock's pairs that failed, %": func(r *Report) {
			r.faultNamed("frozen-12s").Failed = 50
		},
		"1/10/40/80/160 ms, 1 caller: p50 of Lock, × (1.05 × the third + 1 ms)": func(r *Report) {
			far(1)(r).LockP50 *= 1.01
		},
		"1/10/40/80/160 ms, 1 caller: p50 of Unlock, × (1.05 × the third + 1 ms)": func(r *Report) {
			far(1)(r).UnlockP50 *= 1.01
		},
		"1/10/40/80/160 ms, 256 callers: p50 of Lock, × the third":   func(r *Report) { far(256)(r).LockP50 *= 1.01 },
		"1/10/40/80/160 ms, 256 callers: p50 of Unlock, × the third": func(r *Report) { far(256)(r).UnlockP50 *= 1.01 },
		"1/10/40/80/160 ms, 256 callers: p99 of Lock, × the third":   func(r *Report) { far(256)(r).LockP99 *= 1.01 },
		"1/10/40/80/160 ms, 256 callers: p99 of Unlock, × the third": func(r *Report) { far(256)(r).UnlockP99 *= 1.01 },
		"one name, 1 × 32: acquisitions/s, × rueidislock's on one master": func(r *Report) {
			crowd(r, oneProcess, peers.Redlock).PerSecond *= 0.99
		},
		"one name, 1 × 32: slowest/fastest goroutine": func(r *Report) {
			crowd(r, oneProcess, peers.Redlock).Goroutines *= 0.99
		},
		"one name, 1 × 32, no hand-over: acquisitions/s, × rueidislock's on one master": func(r *Report) {
			crowd(r, oneProcess, peers.RedlockNoHandOver).PerSecond *= 0.99
		},
		"one name, 8 × 4: acquisitions/s, × redsync's": func(r *Report) {
			crowd(r, eightProcesses, peers.Redlock).PerSecond *= 0.99
		},
		"one name, 8 × 4: slowest/fastest process": func(r *Report) {
			crowd(r, eightProcesses, peers.Redlock).Processes *= 0.99
		},
		"one name, 8 × 4: longest wait, ms": func(r *Report) {
			crowd(r, eightProcesses, peers.Redlock).Waits.Longest *= 1.01
		},
		"one name, 8 × 4, no hand-over: acquisitions/s, × redsync's": func(r *Report) {
			crowd(r, eightProcesses, peers.RedlockNoHandOver).PerSecond *= 0.99
		},
		"two goroutines of one process hold one name at once": func(r *Report) {
			crowd(r, eightProcesses, peers.Redlock).Overlaps = 1
		},
		"semaphore of 64, 16 callers in 4 processes: time, × a fenced mutex's on distinct names": func(r *Report) {
			contentionOf(r.Slots, FreeSlots, peers.FreePermits).Rounds[0].PerSecond *= 0.99
		},
		"semaphore of 8, 64 callers for 10 ms each, no hand-over: permits/s, × a mutex's": func(r *Report) {
			contentionOf(r.Slots, FullSlots, peers.FewPermits).Rounds[0].PerSecond *= 0.99
		},
		"semaphore of 8, 64 callers for 10 ms each, no hand-over: slowest caller/mean": func(r *Report) {
			contentionOf(r.Slots, FullSlots, peers.FewPermits).Rounds[0].Least *= 0.99
		},
		"more holders in one process than slots": func(r *Report) {
			contentionOf(r.Slots, FullSlots, peers.FewPermits).Rounds[0].Overlaps = 1
		},
		"held locks: bytes of heap each":                         func(r *Report) { r.Scale.Heap++ },
		"held locks: goroutines":                                 func(r *Report) { r.Scale.Goroutines++ },
		"100,000 held locks, TTL 60 s: CPU seconds in 60 idle s": func(r *Report) { r.Scale.CPU *= 1.01 },
		"held locks: lost over two TTLs":                         func(r *Report) { r.Scale.Lost = 1 },
	}
	for want, spoil := range spoilers {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			r := onTarget()
			spoil(r)
			all := judge(r, false)
			var missed []string
			for _, v := range all {
				if !v.OK {
					missed = append(missed, v.What)
				}
			}
			assert.Equal(t, []string{want}, missed)
			assert.Contains(t, describeShort(all), want)
		})
	}
}

func eachRound(r *Report, do func(*load.Figures)) {
	rounds := RowOf(r.Latency, 64, peers.Redlock).Rounds
	for i := range rounds {
		do(&rounds[i])
	}
}

func TestCheckFallsShortOnWhatWasNotMeasured(t *testing.T) {
	t.Parallel()
	for _, smoke := range []bool{false, true} {
		all := judge(&Report{}, smoke)
		for _, v := range all {
			assert.Equal(t, notMeasured, v.Got, v.What)
			assert.False(t, v.OK)
		}
		assert.Equal(t, len(all), CountShort(all), "none checked")
	}

	r := onTarget()
	r.Scale.Locks = 1000
	assert.Contains(
		t, describeShort(judge(r, false)), "CPU seconds in 60 idle s is not measured", "of fewer locks says nothing of many",
	)
}

func TestOnlyThePartsAskedForAreChecked(t *testing.T) {
	t.Parallel()
	r := onTarget()
	r.WAN, r.Scale, r.Contention, r.Slots, r.Faults, r.Kinds = nil, nil, nil, nil, nil, nil
	assert.Positive(t, CountShort(judge(r, false)))
	r.Setup.Parts = []string{"latency"}
	assert.Zero(t, CountShort(judge(r, false)))
	r.Setup.Parts = []string{"latency", "faults"}
	assert.Contains(
		t, describeShort(judge(r, false)), "frozen for 12 s: keys left on it 2 s after it thawed is not measured",
	)
}

func TestASmokeRunHasSlackOnRatiosOnly(t *testing.T) {
	t.Parallel()
	r := onTarget()
	slowDown(r, 1, peers.Redlock, 1.9)
	r.faultNamed("frozen-2s").FaultP99 *= 1.9
	r.Scale.Heap, r.faultNamed("frozen-2s").Longest = 9999, 999_999
	assert.Equal(t, 4, CountShort(judge(r, false)))
	assert.Zero(t, CountShort(judge(r, true)), "absolute figures belong to the machine")
	slowDown(r, 1, peers.Redlock, 1.7)
	assert.Equal(t, 1, CountShort(judge(r, true)))

	r = onTarget()
	r.faultNamed("frozen-2s").Left, r.Scale.Lost, crowd(r, oneProcess, peers.Redlock).Overlaps = 1, 1, 1
	assert.Equal(t, 3, CountShort(judge(r, true)), "what must be nothing must be nothing")
}

func TestASmokeRunFailsForEveryTarget(t *testing.T) {
	t.Parallel()
	for _, target := range allTargets() {
		bad := target
		bad.measure = func(*Report) (spread, bool) {
			if bad.atMost {
				return single(10*bad.limit + 1), true
			}
			return single(bad.limit / 10), true
		}
		assert.False(t, bad.judge(&Report{}, false).OK, bad.name)
		assert.False(t, bad.judge(&Report{}, true).OK, bad.name)
	}
}

func TestConcludeIsAnErrorWhenATargetIsMissed(t *testing.T) {
	t.Parallel()
	r := onTarget()
	require.NoError(t, Outputs{Check: true}.Finish(r, discard))

	slowDown(r, 512, peers.Redlock, 2)
	err := Outputs{Check: true}.Finish(r, discard)
	require.ErrorIs(t, err, errShort)
	require.ErrorContains(t, err, "512 callers: throughput, × redsync's is 5, wanted ≥ 10")
	r.Checks = nil
	require.NoError(t, Outputs{}.Finish(r, discard), "without -check it is only reported")

	broken := writer(func([]byte) (int, error) { return 0, errors.New("no space left") })
	require.ErrorContains(t, Outputs{JSON: true}.Finish(r, broken), "no space left")
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

var discard = writer(func(p []byte) (int, error) { return len(p), nil })
