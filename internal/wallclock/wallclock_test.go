package wallclock_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/need"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/wallclock"
)

// near is how far from its true value a time may be read on a busy machine.
const near = 3 * time.Second

func TestAJumpMovesTimeAndEveryTTL(t *testing.T) {
	t.Parallel()
	redisproc.Need(t)
	need.SkipIf(t, need.Redis, wallclock.Available())
	ctx := t.Context()
	lib := filepath.Join(t.TempDir(), "wallclock.so")
	require.NoError(t, wallclock.Build(ctx, lib))
	clock, err := wallclock.New(t.TempDir())
	require.NoError(t, err)
	s, err := redisproc.StartWith(ctx, redisproc.Options{
		Env: []string{"LD_PRELOAD=" + lib, wallclock.EnvFile + "=" + clock.File()},
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	c := redis.NewClient(&redis.Options{Addr: s.Addr()})
	t.Cleanup(func() { assert.NoError(t, c.Close()) })

	ahead := func() time.Duration {
		now, err := c.Time(ctx).Result()
		require.NoError(t, err)
		return time.Until(now)
	}
	left := func(key string) time.Duration {
		d, err := c.PTTL(ctx, key).Result()
		require.NoError(t, err)
		return d
	}
	assert.InDelta(t, 0, ahead(), float64(near))
	require.NoError(t, c.Set(ctx, "k", 1, time.Hour).Err())

	require.NoError(t, clock.Jump(50*time.Minute))
	assert.InDelta(t, 50*time.Minute, ahead(), float64(near))
	assert.InDelta(t, 10*time.Minute, left("k"), float64(near))

	require.NoError(t, clock.Jump(-80*time.Minute))
	assert.InDelta(t, -30*time.Minute, ahead(), float64(near))
	assert.InDelta(t, 90*time.Minute, left("k"), float64(near))

	require.NoError(t, clock.Run(600)) // ten minutes a second
	require.Eventually(t, func() bool { return ahead() > 0 }, 30*time.Second, 10*time.Millisecond)
	require.NoError(t, clock.Run(0))
	stopped := clock.Offset()
	assert.Positive(t, stopped, "what it gained, it keeps")
	assert.InDelta(t, stopped, ahead(), float64(near))
}
