package clock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/simnet"
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
