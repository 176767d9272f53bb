package main

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCheckPassesOnTheTarget(t *testing.T) {
	t.Parallel()
	all := judge(onTarget(), false)
	assert.Zero(t, short(all), "%v", all)
	assert.Len(t, all, len(allTargets()))
	assert.Zero(t, short(judge(onTarget(), true)))
}

func slowDown(r *report, callers int, name string, times float64) {
	rounds := rowOf(r.Latency, callers, name).Rounds
	for i := range rounds {
		rounds[i].PairMicros *= times
	}
}

func crowd(r *report, s shape, name string) *contentionRound {
	return &contentionOf(r.Contention, s, name).Rounds[0]
}

// The control: each figure a little beyond its target must be named, and nothing else.
func TestCheckNamesWhatFallsShort(t *testing.T) {
	t.Parallel()
	far := func(callers int) func(r *report) *figures {
		return func(r *report) *figures { return &r.wan(fiveContinents).row(callers, ours).Rounds[0] }
	}
	spoilers := map[string]func(r *report){
		"1 caller: time, × redsync's":                                             func(r *report) { slowDown(r, 1, ours, 1.01) },
		"64 callers: throughput, × redsync's":                                     func(r *report) { slowDown(r, 64, peer, 0.99) },
		"512 callers: throughput, × redsync's":                                    func(r *report) { slowDown(r, 512, peer, 0.99) },
		"512 callers: throughput, × bsm/redislock's on one master":                func(r *report) { slowDown(r, 512, singleMaster, 0.99) },
		"512 callers: time, × the floor":                                          func(r *report) { slowDown(r, 512, bottom, 0.99) },
		"64 callers: time over 9 masters, × over 5":                               func(r *report) { slowDown(r, 64, oursNine, 1.01) },
		"64 callers: time with fencing, × without":                                func(r *report) { r.Kinds[1].Rounds[0].PairMicros *= 1.01 },
		"64 callers: allocations per lock + unlock":                               func(r *report) { eachRound(r, func(f *figures) { f.Allocs++ }) },
		"one of five frozen for 2 s: p99, × (1.5 × healthy + 1 ms)":               func(r *report) { r.fault("frozen-2s").FaultP99 *= 1.01 },
		"one of five frozen for 5 s: longest, ms":                                 func(r *report) { r.fault("frozen-5s").Longest *= 1.01 },
		"one of five frozen for 12 s: keys left on it 2 s after it thawed":        func(r *report) { r.fault("frozen-12s").Left = 1 },
		"share of redlock's pairs that failed, %":                                 func(r *report) { r.fault("frozen-12s").Failed = 50 },
		"1/10/40/80/160 ms, 1 caller: p50 of Lock, × (1.05 × the third + 1 ms)":   func(r *report) { far(1)(r).LockP50 *= 1.01 },
		"1/10/40/80/160 ms, 1 caller: p50 of Unlock, × (1.05 × the third + 1 ms)": func(r *report) { far(1)(r).UnlockP50 *= 1.01 },
		"1/10/40/80/160 ms, 256 callers: p50 of Lock, × the third":                func(r *report) { far(256)(r).LockP50 *= 1.01 },
		"1/10/40/80/160 ms, 256 callers: p50 of Unlock, × the third":              func(r *report) { far(256)(r).UnlockP50 *= 1.01 },
		"1/10/40/80/160 ms, 256 callers: p99 of Lock, × the third":                func(r *report) { far(256)(r).LockP99 *= 1.01 },
		"1/10/40/80/160 ms, 256 callers: p99 of Unlock, × the third":              func(r *report) { far(256)(r).UnlockP99 *= 1.01 },
		"one name, 1 × 32: acquisitions/s, × rueidislock's on one master":         func(r *report) { crowd(r, oneProcess, ours).PerSecond *= 0.99 },
		"one name, 1 × 32: slowest/fastest goroutine":                             func(r *report) { crowd(r, oneProcess, ours).Goroutines *= 0.99 },
		"one name, 1 × 32, no hand-over: acquisitions/s, × rueidislock's on one master": func(r *report) {
			crowd(r, oneProcess, oursReleased).PerSecond *= 0.99
		},
		"one name, 8 × 4: acquisitions/s, × redsync's":               func(r *report) { crowd(r, eightProcesses, ours).PerSecond *= 0.99 },
		"one name, 8 × 4: slowest/fastest process":                   func(r *report) { crowd(r, eightProcesses, ours).Processes *= 0.99 },
		"one name, 8 × 4: longest wait, ms":                          func(r *report) { crowd(r, eightProcesses, ours).Waits.Longest *= 1.01 },
		"one name, 8 × 4, no hand-over: acquisitions/s, × redsync's": func(r *report) { crowd(r, eightProcesses, oursReleased).PerSecond *= 0.99 },
		"two goroutines of one process hold one name at once":        func(r *report) { crowd(r, eightProcesses, ours).Overlaps = 1 },
		"held locks: bytes of heap each":                             func(r *report) { r.Scale.Heap++ },
		"held locks: goroutines":                                     func(r *report) { r.Scale.Goroutines++ },
		"100,000 held locks, TTL 60 s: CPU seconds in 30 idle s":     func(r *report) { r.Scale.CPU *= 1.01 },
		"held locks: lost over two TTLs":                             func(r *report) { r.Scale.Lost = 1 },
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
			assert.Contains(t, names(all), want)
		})
	}
}

func eachRound(r *report, do func(*figures)) {
	rounds := rowOf(r.Latency, 64, ours).Rounds
	for i := range rounds {
		do(&rounds[i])
	}
}

func TestCheckFallsShortOnWhatWasNotMeasured(t *testing.T) {
	t.Parallel()
	for _, smoke := range []bool{false, true} {
		all := judge(&report{}, smoke)
		for _, v := range all {
			assert.Equal(t, notMeasured, v.Got, v.What)
			assert.False(t, v.OK)
		}
		assert.Equal(t, len(all), short(all), "nobody looked")
	}

	r := onTarget()
	r.Scale.Locks = 1000
	assert.Contains(t, names(judge(r, false)), "CPU seconds in 30 idle s is not measured", "of fewer locks says nothing of many")
}

func TestOnlyThePartsAskedForAreChecked(t *testing.T) {
	t.Parallel()
	r := onTarget()
	r.WAN, r.Scale, r.Contention, r.Faults, r.Kinds = nil, nil, nil, nil, nil
	assert.Positive(t, short(judge(r, false)))
	r.Setup.Parts = []string{"latency"}
	assert.Zero(t, short(judge(r, false)))
	r.Setup.Parts = []string{"latency", "faults"}
	assert.Contains(t, names(judge(r, false)), "frozen for 12 s: keys left on it 2 s after it thawed is not measured")

	parts := allParts()
	for _, target := range allTargets() {
		known := target.part == "" || slices.ContainsFunc(parts, func(p *part) bool { return p.name == target.part })
		assert.True(t, known, target.what)
	}
}

func TestASmokeRunHasSlackOnRatiosOnly(t *testing.T) {
	t.Parallel()
	r := onTarget()
	slowDown(r, 1, ours, 1.9)
	r.fault("frozen-2s").FaultP99 *= 1.9
	r.Scale.Heap, r.fault("frozen-2s").Longest = 9999, 999_999
	assert.Equal(t, 4, short(judge(r, false)))
	assert.Zero(t, short(judge(r, true)), "absolute figures belong to the machine")
	slowDown(r, 1, ours, 1.7)
	assert.Equal(t, 1, short(judge(r, true)))

	r = onTarget()
	r.fault("frozen-2s").Left, r.Scale.Lost, crowd(r, oneProcess, ours).Overlaps = 1, 1, 1
	assert.Equal(t, 3, short(judge(r, true)), "what must be nothing must be nothing")
}

func TestASmokeRunFailsForEveryTarget(t *testing.T) {
	t.Parallel()
	for _, target := range allTargets() {
		bad := target
		bad.measure = func(*report) (spread, bool) {
			if bad.most {
				return just(10*bad.limit + 1), true
			}
			return just(bad.limit / 10), true
		}
		assert.False(t, bad.judge(&report{}, false).OK, bad.what)
		assert.False(t, bad.judge(&report{}, true).OK, bad.what)
	}
}

func TestConcludeIsAnErrorWhenATargetIsMissed(t *testing.T) {
	t.Parallel()
	r := onTarget()
	require.NoError(t, conclude(&settings{check: true}, r, discard))

	slowDown(r, 512, ours, 2)
	err := conclude(&settings{check: true}, r, discard)
	require.ErrorIs(t, err, errShort)
	require.ErrorContains(t, err, "512 callers: throughput, × redsync's is 5, wanted ≥ 10")
	r.Checks = nil
	require.NoError(t, conclude(&settings{}, r, discard), "without -check it is only reported")

	broken := writer(func([]byte) (int, error) { return 0, errors.New("no space left") })
	require.ErrorContains(t, conclude(&settings{json: true}, r, broken), "no space left")
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

var discard = writer(func(p []byte) (int, error) { return len(p), nil })
