package redlock_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/node"
)

const day = 24 * time.Hour

func TestEveryDurationHasAnUpperBound(t *testing.T) {
	t.Parallel()
	window := redlock.WithRestartWindow(60 * day)
	for name, o := range map[string]struct {
		set   func(d time.Duration) redlock.Option
		bound time.Duration
		names string // how the error shows the bound
	}{
		"TTL":            {func(d time.Duration) redlock.Option { return redlock.WithTTL(d) }, 30 * day, "720h0m0s"},
		"max hold":       {func(d time.Duration) redlock.Option { return redlock.WithMaxHold(d) }, 30 * day, "720h0m0s"},
		"retry to":       {func(d time.Duration) redlock.Option { return redlock.WithRetry(1, d) }, time.Hour, "1h0m0s"},
		"retry":          {func(d time.Duration) redlock.Option { return redlock.WithRetry(d, d) }, time.Hour, "1h0m0s"},
		"node timeout":   {redlock.WithNodeTimeout, time.Hour, "1h0m0s"},
		"drift":          {func(d time.Duration) redlock.Option { return redlock.WithDrift(0, d) }, time.Hour, "1h0m0s"},
		"restart window": {redlock.WithRestartWindow, 60 * day, "1440h0m0s"},
	} {
		open := func(d time.Duration) error {
			opts := []redlock.Option{redlock.WithTTL(3 * time.Hour), window, o.set(d)}
			l, err := redlock.Open([]string{"redis://10.0.0.1:6379"}, opts...)
			if err == nil {
				require.NoError(t, l.Close())
			}
			return err
		}
		require.NoError(t, open(o.bound), name)
		for _, d := range []time.Duration{o.bound + 1, math.MaxInt64} {
			err := open(d)
			require.Error(t, err, "%s %v", name, d)
			assert.ErrorContains(t, err, name)
			assert.ErrorContains(t, err, d.String())
			assert.ErrorContains(t, err, o.names)
		}
		for _, d := range []time.Duration{-1, math.MinInt64} {
			require.Error(t, open(d), "%s %v", name, d)
		}
	}
	for _, factor := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -0.1, 1} {
		_, err := redlock.Open([]string{"redis://10.0.0.1:6379"}, redlock.WithDrift(factor, 0))
		require.ErrorContains(t, err, "drift factor")
	}
}

func TestALockWithTheLargestRetryWaits(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		w.foreign("x", 0)
		_, err := l.Lock(within(t, time.Minute), "x", redlock.WithRetry(time.Hour, time.Hour))
		require.ErrorIs(t, err, redlock.ErrHeld)
		_, err = l.Lock(within(t, time.Minute), "x", redlock.WithRetry(math.MaxInt64, math.MaxInt64))
		require.ErrorContains(t, err, "1h0m0s")
	})
}

func TestDowngradeAfterCloseSaysSo(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		held, err := l.RW("x").TryLock(t.Context())
		require.NoError(t, err)
		spent, err := l.RW("y").TryLock(t.Context())
		require.NoError(t, err)
		unlock(t, spent)
		require.NoError(t, l.Close())
		for _, lk := range []*redlock.Lock{held, spent} {
			require.ErrorIs(t, lk.Downgrade(t.Context()), redlock.ErrClosed)
		}
	})
}

func FuzzOptions(f *testing.F) {
	f.Add(int64(10*time.Second), int64(0), int64(time.Millisecond), int64(time.Second), int64(0), 0.01, int64(time.Millisecond), int64(0))
	most := int64(math.MaxInt64)
	f.Add(most, most, most, most, most, math.MaxFloat64, most, most)
	f.Add(int64(30*day), int64(30*day), int64(time.Hour), int64(time.Hour), int64(time.Hour), 0.9, int64(time.Hour), int64(60*day))
	f.Fuzz(func(t *testing.T, ttl, hold, least, longest, timeout int64, factor float64, drift, window int64) {
		opts := []redlock.Option{
			redlock.WithTTL(time.Duration(ttl)), redlock.WithMaxHold(time.Duration(hold)),
			redlock.WithRetry(time.Duration(least), time.Duration(longest)), redlock.WithDrift(factor, time.Duration(drift)),
		}
		if timeout != 0 {
			opts = append(opts, redlock.WithNodeTimeout(time.Duration(timeout)))
		}
		if window != 0 {
			opts = append(opts, redlock.WithRestartWindow(time.Duration(window)))
		}
		synctest.Test(t, func(t *testing.T) {
			w := simnet.New(t, 1, 1)
			m, err := node.Open(w.Master(0).URL(), node.WithDialer(w.Dial))
			require.NoError(t, err)
			l, err := redlock.New([]*node.Node{m}, opts...)
			if err != nil {
				return
			}
			defer l.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			if lk, err := l.TryLock(ctx, "x"); err == nil {
				assert.False(t, lk.Until().Before(time.Now()))
				_ = lk.Unlock(ctx)
			}
		})
	})
}
