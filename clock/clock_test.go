package clock_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/internal/testmain"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSleepEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, clock.Sleep(ctx, clock.System, time.Minute), context.DeadlineExceeded)
		assert.Equal(t, time.Second, time.Since(began))
		require.ErrorIs(t, clock.Sleep(ctx, clock.System, time.Minute), context.DeadlineExceeded, "an ended one: at once")
		require.ErrorIs(t, clock.Sleep(ctx, clock.System, 0), context.DeadlineExceeded)
		assert.Equal(t, time.Second, time.Since(began))
	})
}

func TestTheSystemsClockIsMonotonic(t *testing.T) {
	t.Parallel()
	assert.Contains(t, clock.System.Now().String(), " m=", "a step of the wall clock does not change the reading")
}

func TestSleepEndsWhenItsClockHasAdvanced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := simnet.NewClock()
		c.Freeze()
		began := time.Now()
		time.AfterFunc(time.Hour, c.Thaw)
		require.NoError(t, clock.Sleep(t.Context(), c, time.Minute))
		assert.Equal(t, time.Hour, time.Since(began))
		require.NoError(t, clock.Sleep(t.Context(), c, 30*time.Second))
		assert.Equal(t, time.Hour+30*time.Second, time.Since(began))
		require.NoError(t, clock.Sleep(t.Context(), c, 0))
		require.NoError(t, clock.Sleep(t.Context(), c, -time.Second))
		assert.Equal(t, time.Hour+30*time.Second, time.Since(began))
	})
}

func TestDriftIsAShareOfTheTTLAndALittleMore(t *testing.T) {
	t.Parallel()
	type testCase struct {
		drift clock.Drift
		ttl   time.Duration
		want  time.Duration
	}
	testmain.Each(t, map[string]testCase{
		"the page's budget":   {clock.DefaultDrift, 10 * time.Second, 102 * time.Millisecond},
		"no TTL":              {clock.DefaultDrift, 0, 2 * time.Millisecond},
		"nothing is budgeted": {clock.Drift{}, time.Minute, 0},
		"only a share":        {clock.Drift{Factor: 0.5}, time.Minute, 30 * time.Second},
		"only a little":       {clock.Drift{Least: time.Second}, time.Minute, time.Second},
		"a hundred days":      {clock.DefaultDrift, 2400 * time.Hour, 24*time.Hour + 2*time.Millisecond},
	}, func(t *testing.T, c testCase) {
		assert.InDelta(t, c.want, c.drift.Of(c.ttl), float64(time.Nanosecond))
	})
}

func TestTheBudgetCoversAFasterClock(t *testing.T) {
	t.Parallel()
	for _, ttl := range []time.Duration{time.Second, 10 * time.Second, time.Hour} {
		// The master's clock gains one percent on the client's: its TTL ends earlier by that.
		ends := time.Duration(math.Floor(float64(ttl) / 1.01))
		assert.LessOrEqual(t, ttl-clock.DefaultDrift.Of(ttl), ends, ttl.String())
	}
}

func TestSleepLeavesNoTimer(t *testing.T) {
	t.Parallel()
	s := &stopped{now: time.Now()}
	require.NoError(t, clock.Sleep(t.Context(), s, 0))
	assert.Empty(t, s.timers)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, clock.Sleep(ctx, s, time.Hour), context.Canceled)
	require.Len(t, s.timers, 1)
	assert.True(t, s.timers[0].stopped)
}

func TestOnlyASuspenderReportsSuspensions(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 5*time.Second, clock.Suspended(&stopped{}))
	assert.Zero(t, clock.Suspended(struct{ clock.Clock }{clock.System}))
}
