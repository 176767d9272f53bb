package load

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = time.Millisecond

// fake is a Locker of known behavior.
type fake struct {
	lock, extend, unlock time.Duration
	fail                 func(pair int64) error
	slow                 map[int64]time.Duration // pairs that take longer

	pairs atomic.Int64
	held  sync.Map
	twice atomic.Int64 // names that two callers held at once
}

func (f *fake) Acquire(ctx context.Context, name string) (HeldLock, error) {
	n := f.pairs.Add(1)
	if _, taken := f.held.LoadOrStore(name, true); taken {
		f.twice.Add(1)
	}
	err := Sleep(ctx, f.lock+f.slow[n])
	if err == nil && f.fail != nil {
		err = f.fail(n)
	}
	if err != nil {
		f.held.Delete(name)
		return nil, err
	}
	return fakeLock{f, name}, nil
}

func (*fake) Close() error { return nil }

type fakeLock struct {
	*fake
	name string
}

func (l fakeLock) Extend(context.Context) error { time.Sleep(l.extend); return nil }

func (l fakeLock) Unlock(context.Context) error {
	time.Sleep(l.unlock)
	l.held.Delete(l.name)
	return nil
}

func run(t *testing.T, l Load, f Locker) (got map[string]float64, pairs, failed int, s *Sample) {
	t.Helper()
	s, err := l.Run(t.Context(), f)
	require.NoError(t, err)
	values, pairs, failed, err := s.Values()
	require.NoError(t, err)
	got = map[string]float64{}
	for _, v := range values {
		got[v.Name] = v.V
	}
	return got, pairs, failed, s
}

func TestLoadMeasuresKnownCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{lock: 3 * ms, unlock: 2 * ms}
		got, _, failed, _ := run(t, Load{Callers: 4, Ramp: 50 * ms, Window: time.Second, Prefix: "x"}, f)
		assert.InDelta(t, 1250, got["µs/pair"], 10, "four callers end a pair every 5 ms")
		assert.InDelta(t, 5000, got["p50 µs"], 10)
		assert.InDelta(t, 3000, got["Lock p99"], 10)
		assert.InDelta(t, 2000, got["Unlock p99"], 10)
		assert.NotContains(t, got, "Extend p50")
		assert.Positive(t, got["allocs/pair"])
		assert.Zero(t, failed)
		assert.Zero(t, f.twice.Load(), "names are the callers' own")
	})
}

func TestExtensionsAreMeasuredApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{lock: 2 * ms, extend: 3 * ms, unlock: 5 * ms}
		got, _, _, _ := run(t, Load{Callers: 2, Window: 100 * ms, Extend: true}, f)
		assert.InDelta(t, 2000, got["Lock p50"], 10)
		assert.InDelta(t, 3000, got["Extend p99"], 10)
		assert.InDelta(t, 5000, got["Unlock p50"], 10)
		assert.InDelta(t, 10000, got["p50 µs"], 20)
	})
}

func TestLoadCountsFailedPairsApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{lock: ms, unlock: ms, fail: func(n int64) error {
			if n%2 == 0 {
				return errors.New("every second\n\tpair")
			}
			return nil
		}}
		got, pairs, failed, s := run(t, Load{Callers: 1, Window: 99 * ms}, f)
		assert.InDelta(t, 33, failed, 1)
		assert.InDelta(t, 33, pairs, 1)
		assert.InDelta(t, 3000, got["µs/pair"], 100, "a failed pair takes time and counts for nothing")
		assert.Equal(t, "every second pair", s.Reason())
	})
}

func TestLoadOnlyOfFailuresIsAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := Load{Callers: 2, Window: 20 * ms}.Run(t.Context(),
			&fake{lock: ms, fail: func(int64) error { return errors.New("refused") }})
		require.NoError(t, err)
		_, _, _, err = s.Values()
		assert.ErrorContains(t, err, "refused")
	})
}

// A pair that began in the window and is stuck at its end is what one looks for: it must not vanish.
func TestLoadKeepsThePairThatOutlivesTheWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{lock: ms, slow: map[int64]time.Duration{8: time.Second}} // the ramp ends in the fifth or sixth pair
		_, _, _, s := run(t, Load{Callers: 1, Window: 10 * ms}, f)
		times, pairs, _ := s.Between(s.From, s.To)
		assert.Positive(t, pairs)
		assert.InDelta(t, 1001*ms, times.Longest, float64(2*ms))
		assert.InDelta(t, 10*ms, s.To-s.From, float64(ms))
		times, _, _ = s.Between(0, s.From)
		assert.Less(t, times.Longest, 2*ms, "it did not begin before")
	})
}

func TestLoadWaitsForSlowCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, pairs, _, _ := run(t, Load{Callers: 3, Ramp: ms, Window: ms}, &fake{lock: 300 * ms, unlock: 200 * ms})
		assert.GreaterOrEqual(t, pairs, 3)
	})
}

func TestLoadGivesUpOnAPairThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		_, err := Load{Callers: 2, Window: ms}.Run(t.Context(), &fake{lock: time.Hour})
		assert.ErrorContains(t, err, "longer than 30s")
		assert.Less(t, time.Since(begun), time.Hour, "it is canceled")
	})
}

// Ten thousand waits of zero and one of a second: most by count are zero, but nearly all the time is that one.
func TestHalfOfWaitingIsWeighedByTime(t *testing.T) {
	t.Parallel()
	waits := []time.Duration{time.Second}
	for range 10_000 {
		waits = append(waits, 10*time.Microsecond)
	}
	got := PercentilesOf(waits)
	assert.Equal(t, Percentiles{10 * time.Microsecond, 10 * time.Microsecond, time.Second}, got)
	assert.Equal(t, time.Second, HalfOfWaiting(waits))
	assert.Equal(t, ms, HalfOfWaiting([]time.Duration{ms, ms, ms}))
	assert.Zero(t, HalfOfWaiting(nil))
	assert.Zero(t, PercentilesOf(nil))
}

func TestFairnessIsTheSlowestsShare(t *testing.T) {
	t.Parallel()
	for want, got := range map[[2]float64][]int64{{1, 1}: {5, 5, 5}, {0.25, 0.5}: {8, 4, 2, 2}, {0, 0}: {0, 9}} {
		byLargest, byMean := Fairness(got)
		assert.InDelta(t, want[0], byLargest, 1e-9, "%v", got)
		assert.InDelta(t, want[1], byMean, 1e-9, "%v", got)
	}
	none, mean := Fairness([]int64{0, 0})
	assert.Zero(t, none+mean, "no caller got anything")
}
