package faults_test

import (
	"math"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/faults"
)

// near is how far from its true value a time may be read on a busy machine.
const near = float64(faults.Jump / 4)

// ahead returns by how much the clock of master 0 is ahead of this machine's: by the answer that was quickest to come.
func (s *site) ahead() time.Duration {
	s.t.Helper()
	best := time.Duration(math.MinInt64)
	for range 20 {
		now, err := s.inspector[0].Time(s.t.Context()).Result()
		require.NoError(s.t, err)
		best = max(best, time.Until(now))
	}
	return best
}

func TestAClockThatJumpsForwardEndsLocksEarly(t *testing.T) {
	t.Parallel()
	on(t, one, func(t *testing.T, s *site) {
		c := s.client()
		s.set(c, "lock")
		require.NoError(t, c.Set(t.Context(), "short", "1", faults.Jump).Err())
		s.inject(faults.ClockForward)
		assert.InDelta(t, faults.Jump, s.ahead(), near)
		assert.InDelta(t, time.Hour-faults.Jump, s.left("lock"), near)
		assert.Equal(t, []string{"lock"}, s.keys(), "the other one has ended")
		require.NoError(t, c.Set(t.Context(), "short", "1", faults.Jump).Err())
		assert.InDelta(t, faults.Jump, s.left("short"), near, "a new lock has its whole TTL")
		s.inject(faults.KillMaster)
		s.heal(faults.KillMaster)
		assert.InDelta(t, faults.Jump, s.ahead(), near, "a restart changes nothing about it")
		assert.InDelta(t, 0, s.uptime(), near)
		s.inject(faults.ClockForward)
		assert.InDelta(t, faults.Jump, s.uptime(), near, "the uptime that it reports moves too")
	})
}

func TestAClockThatJumpsBackKeepsLocksAliveAndEndsOthersEarly(t *testing.T) {
	t.Parallel()
	on(t, one, func(t *testing.T, s *site) {
		c := s.client()
		s.set(c, "before")
		s.inject(faults.ClockBack)
		assert.InDelta(t, -faults.Jump, s.ahead(), near)
		assert.InDelta(t, time.Hour+faults.Jump, s.left("before"), near)
		assert.Negative(t, s.uptime(), "the uptime of a young master is nonsense")
		s.set(c, "during")
		s.heal(faults.ClockBack)
		assert.InDelta(t, 0, s.ahead(), near)
		assert.InDelta(t, time.Hour, s.left("before"), near)
		assert.InDelta(t, time.Hour-faults.Jump, s.left("during"), near)
		s.heal(faults.ClockBack)
		assert.InDelta(t, 0, s.ahead(), near, "a second heal does nothing")
	})
}

// One gains half a second a second, the other less than a hundredth of it.
func TestAClockThatRunsFastGainsUntilItIsHealed(t *testing.T) {
	t.Parallel()
	for fault, gain := range map[string]time.Duration{
		faults.ClockFast: time.Second, faults.ClockDrift: 10 * time.Millisecond,
	} {
		t.Run(fault, func(t *testing.T) {
			on(t, one, func(t *testing.T, s *site) {
				begin, before := time.Now(), s.ahead()
				s.inject(fault)
				s.eventually("it gains", func() bool { return s.ahead()-before > gain })
				assert.Greater(t, time.Since(begin), time.Second)
				s.heal(fault)
				healed := s.ahead()
				require.ErrorIs(t, s.client().BLPop(t.Context(), answer/2, "never").Err(), redis.Nil, "time passes")
				assert.InDelta(t, healed, s.ahead(), float64(answer/5), "what it gained, it keeps; it gains no more")
			})
		})
	}
}
