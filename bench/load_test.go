package main

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
		s, err := load{callers: 4, ramp: 50 * ms, window: time.Second, prefix: "x"}.run(t.Context(), f)
		require.NoError(t, err)
		got, err := s.figures()
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
		s, err := load{callers: 1, ramp: 0, window: 100 * ms}.run(t.Context(), f)
		require.NoError(t, err)
		got, err := s.figures()
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
		s, err := load{callers: 2, window: 20 * ms}.run(t.Context(), f)
		require.NoError(t, err)
		_, err = s.figures()
		assert.ErrorContains(t, err, "refused")
	})
}

// A pair that began in the window and is stuck at its end is what one looks for: it must not vanish.
func TestLoadKeepsThePairThatOutlivesTheWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{lock: ms, slow: map[int]time.Duration{8: time.Second}} // the ramp ends in the fifth or sixth pair
		s, err := load{callers: 1, window: 10 * ms}.run(t.Context(), f)
		require.NoError(t, err)
		assert.InDelta(t, 1001*ms, s.pair.Max(), float64(2*ms))
		assert.InDelta(t, 10*ms, s.elapsed, float64(ms))
	})
}

func TestLoadWaitsForSlowCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{lock: 300 * ms, unlock: 200 * ms}
		s, err := load{callers: 3, ramp: ms, window: ms}.run(t.Context(), f)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, s.pairs, int64(3))
	})
}

func TestLoadGivesUpOnAPairThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, err := load{callers: 2, window: ms}.run(t.Context(), hanging{})
		assert.ErrorContains(t, err, "longer than 30s")
	})
}

func TestLoadReturnsWhatOpeningTheWindowReturns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sick := errors.New("cannot freeze")
		l := load{callers: 2, window: ms, opened: func() error { return sick }}
		_, err := l.run(t.Context(), &fake{lock: ms})
		assert.ErrorIs(t, err, sick)
	})
}

type hanging struct{}

func (hanging) Pair(ctx context.Context, _ string) (time.Time, error) {
	<-ctx.Done()
	return time.Now(), ctx.Err()
}

func (hanging) Close() error { return nil }
