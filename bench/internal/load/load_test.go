package load

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

func TestLoadMeasuresKnownCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{lock: 3 * ms, unlock: 2 * ms}
		s, err := Load{Callers: 4, Ramp: 50 * ms, Window: time.Second, Prefix: "x"}.Run(t.Context(), f)
		require.NoError(t, err)
		got, err := s.Figures()
		require.NoError(t, err)

		assert.InDelta(t, 1250, got.PairMicros, 10, "four callers end a pair every 5 ms")
		assert.InDelta(t, 5000, got.P50, 10)
		assert.InDelta(t, 3000, got.LockP99, 10)
		assert.InDelta(t, 2000, got.UnlockP99, 10)
		assert.Positive(t, got.Allocs)
		assert.Zero(t, got.Failed)
		assert.Empty(t, f.twice, "names are the callers' own")
	})
}

func TestLoadCountsFailedPairsApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{lock: ms, unlock: ms, fail: func(n int) error {
			if n%2 == 0 {
				return errors.New("every second\n\tpair")
			}
			return nil
		}}
		s, err := Load{Callers: 1, Ramp: 0, Window: 100 * ms}.Run(t.Context(), f)
		require.NoError(t, err)
		got, err := s.Figures()
		require.NoError(t, err)
		assert.InDelta(t, 25, got.Failed, 1)
		assert.InDelta(t, 25, got.Pairs, 1)
		assert.InDelta(t, 4000, got.PairMicros, 100, "a failed pair takes time and counts for nothing")
		assert.Equal(t, "every second pair", got.Failure)
	})
}

func TestLoadOnlyOfFailuresIsAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{lock: ms, fail: func(int) error { return errors.New("refused") }}
		s, err := Load{Callers: 2, Window: 20 * ms}.Run(t.Context(), f)
		require.NoError(t, err)
		_, err = s.Figures()
		assert.ErrorContains(t, err, "refused")
	})
}

// A pair that began in the window and is stuck at its end is what one looks for: it must not vanish.
func TestLoadKeepsThePairThatOutlivesTheWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{lock: ms, slow: map[int]time.Duration{8: time.Second}} // the ramp ends in the fifth or sixth pair
		s, err := Load{Callers: 1, Window: 10 * ms}.Run(t.Context(), f)
		require.NoError(t, err)
		assert.InDelta(t, 1001*ms, s.Pair.Max(), float64(2*ms))
		assert.InDelta(t, 10*ms, s.Elapsed, float64(ms))
	})
}

func TestLoadWaitsForSlowCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{lock: 300 * ms, unlock: 200 * ms}
		s, err := Load{Callers: 3, Ramp: ms, Window: ms}.Run(t.Context(), f)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, s.Pairs, int64(3))
	})
}

func TestLoadGivesUpOnAPairThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, err := Load{Callers: 2, Window: ms}.Run(t.Context(), hanging{})
		assert.ErrorContains(t, err, "longer than 30s")
	})
}

func TestLoadReturnsWhatOpeningTheWindowReturns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sick := errors.New("cannot freeze")
		l := Load{Callers: 2, Window: ms, OnOpen: func() error { return sick }}
		_, err := l.Run(t.Context(), &fake{lock: ms})
		assert.ErrorIs(t, err, sick)
	})
}

type hanging struct{}

func (hanging) Pair(ctx context.Context, _ string) (Timestamps, error) {
	<-ctx.Done()
	return Timestamps{Locked: time.Now()}, ctx.Err()
}

func (hanging) Close() error { return nil }

// The control of what an open loop is for: one stall of a second delays the hundred pairs that came due meanwhile. A
// closed loop sees one slow pair, and a 99th percentile that knows nothing of it.
func TestAnOpenLoopCountsFromWhenAPairWasDue(t *testing.T) {
	t.Parallel()
	p90 := func(rate float64) time.Duration {
		var got time.Duration
		synctest.Test(t, func(t *testing.T) {
			f := &fake{lock: ms, slow: map[int]time.Duration{50: time.Second}}
			s, err := Load{Callers: 1, Rate: rate, Window: 3 * time.Second}.Run(t.Context(), f)
			require.NoError(t, err)
			got = time.Duration(s.Pair.ValueAtPercentile(90))
			if rate > 0 {
				assert.InDelta(t, 300, s.Pair.TotalCount(), 2, "as many as were due")
			}
		})
		return got
	}
	assert.Less(t, p90(0), 2*ms)
	assert.Greater(t, p90(100), 500*ms)
}

func TestAnOpenLoopEndsWithItsWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		_, err := Load{Callers: 3, Rate: 0.01, Window: 200 * ms}.Run(t.Context(), &fake{lock: ms})
		require.NoError(t, err)
		assert.Less(t, time.Since(begun), time.Second, "not when the next pair would be due")
	})
}

func TestExtensionsAreMeasuredApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := Load{Callers: 2, Window: 100 * ms}.Run(t.Context(), ExtendingPairer{steps{2 * ms, 3 * ms, 5 * ms}})
		require.NoError(t, err)
		got, err := s.Figures()
		require.NoError(t, err)
		assert.InDelta(t, 2000, got.LockP50, 10)
		assert.InDelta(t, 3000, got.ExtendP99, 10)
		assert.InDelta(t, 5000, got.UnlockP50, 10)
		assert.InDelta(t, 10000, got.P50, 20)
	})
}

// steps is a taker whose steps take known times.
type steps struct{ acquire, extend, unlock time.Duration }

func (s steps) Acquire(context.Context, string) (HeldLock, error) {
	time.Sleep(s.acquire)
	return s, nil
}

func (s steps) Extend(context.Context) error {
	time.Sleep(s.extend)
	return nil
}

func (s steps) Unlock(context.Context) error {
	time.Sleep(s.unlock)
	return nil
}

func (steps) Close() error { return nil }
