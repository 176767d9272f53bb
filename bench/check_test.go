package main

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCheckPassesOnTheTarget(t *testing.T) {
	t.Parallel()
	all := judge(onTarget(), noSlack)
	assert.Zero(t, short(all), "%v", all)
	assert.Len(t, all, 7)
}

// The control: each figure a little below its target must be named, and nothing else.
func TestCheckNamesWhatFallsShort(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[string]func(r *report){
		"1 caller: time, × redsync's":          func(r *report) { slower(r, 1, 1.01) },
		"64 callers: throughput, × redsync's":  func(r *report) { slower(r, 64, 1.01) },
		"512 callers: throughput, × redsync's": func(r *report) { slower(r, 512, 1.01) },
		"share of redlock's pairs that failed": func(r *report) { r.row(64, ours).Rounds[1].Failed = 50 },
		"one master frozen: p99 of Lock, × healthy": func(r *report) {
			each(r, func(c *frozenCycle) { c.Frozen.LockP99 *= 1.01 })
		},
		"one master frozen: p99 of Unlock, × healthy": func(r *report) {
			each(r, func(c *frozenCycle) { c.Frozen.UnlockP99 *= 1.01 })
		},
		"keys left on it 2 s after it thawed": func(r *report) { r.Frozen.Cycles[1].Left = 1 },
		"one master frozen":                   func(r *report) { r.Frozen = nil },
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			r := onTarget()
			spoil(r)
			all := judge(r, noSlack)
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

func TestCheckFallsShortOnWhatWasNotMeasured(t *testing.T) {
	t.Parallel()
	all := judge(&report{}, smokeSlack)
	assert.Equal(t, len(all), short(all))
	for _, v := range all {
		assert.Equal(t, "not measured", v.Got, v.What)
	}

	without := onTarget()
	without.Latency = rows(map[string]map[int][]float64{ours: {1: {1, 1, 1}, 64: {1, 1, 1}, 512: {1, 1, 1}}})
	assert.Equal(t, 3, short(judge(without, noSlack)), "no redsync to compare with")
}

func TestSlackLoosensRatiosOnly(t *testing.T) {
	t.Parallel()
	r := onTarget()
	for _, callers := range []int{1, 64, 512} {
		slower(r, callers, 1.4)
	}
	each(r, func(c *frozenCycle) { c.Frozen.LockP99, c.Frozen.UnlockP99 = 400, 400 })
	assert.Equal(t, 5, short(judge(r, noSlack)))
	assert.Zero(t, short(judge(r, smokeSlack)))

	r.Frozen.Cycles[0].Left = 1
	r.row(1, ours).Rounds[0].Failed = 100
	assert.Equal(t, 2, short(judge(r, smokeSlack)), "a leftover and failures have no slack")
}

func TestConcludeIsAnErrorWhenATargetIsMissed(t *testing.T) {
	t.Parallel()
	r := onTarget()
	require.NoError(t, conclude(&settings{check: true}, r, discard))

	slower(r, 512, 2)
	err := conclude(&settings{check: true}, r, discard)
	require.ErrorIs(t, err, errShort)
	require.ErrorContains(t, err, "512 callers: throughput, × redsync's is 3.00, wanted ≥ 6.00")
	r.Checks = nil
	require.NoError(t, conclude(&settings{}, r, discard), "without -check it is only reported")
	require.NoError(t, conclude(&settings{check: true, smoke: true}, onTarget(), discard))

	broken := writer(func([]byte) (int, error) { return 0, errors.New("no space left") })
	require.ErrorContains(t, conclude(&settings{json: true}, r, broken), "no space left")
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

var discard = writer(func(p []byte) (int, error) { return len(p), nil })

func slower(r *report, callers int, times float64) {
	rounds := r.row(callers, ours).Rounds
	for i := range rounds {
		rounds[i].PairMicros *= times
	}
}

func each(r *report, do func(*frozenCycle)) {
	for i := range r.Frozen.Cycles {
		do(&r.Frozen.Cycles[i])
	}
}
