package faults_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/aof"
	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/faults"
)

func TestAKilledMasterRefusesAndComesBackEmpty(t *testing.T) {
	t.Parallel()
	for _, p := range []aof.Loss{aof.Everything, aof.Nothing} {
		t.Run("appendfsync "+string(p), func(t *testing.T) {
			on(t, options{Masters: 1, loses: p}, func(t *testing.T, s *site) {
				c := s.client()
				s.set(c, "lock")
				s.inject(faults.KillMaster)
				require.Error(t, c.Ping(t.Context()).Err())
				require.ErrorIs(t, c.Ping(t.Context()).Err(), syscall.ECONNREFUSED)
				s.heal(faults.KillMaster)
				assert.Empty(t, s.keys())
				assert.Less(t, s.uptime(), soon)
			})
		})
	}
}

func TestAMasterThatSyncsAlwaysComesBackWithEverything(t *testing.T) {
	t.Parallel()
	on(t, options{Masters: 1, loses: aof.Nothing}, func(t *testing.T, s *site) {
		s.set(s.client(), "lock")
		s.inject(faults.KillMasterKept)
		s.heal(faults.KillMasterKept)
		assert.Equal(t, []string{"lock"}, s.keys())
		assert.InDelta(t, time.Hour, s.left("lock"), float64(soon))
	})
}

func TestAMasterThatSyncsEverySecondLosesTheLastOne(t *testing.T) {
	t.Parallel()
	on(t, options{Masters: 1, loses: aof.Tail}, func(t *testing.T, s *site) {
		c := s.client()
		second := func() int64 {
			now, err := c.Time(t.Context()).Result()
			require.NoError(t, err)
			return now.Unix()
		}
		s.set(c, "old")
		then := second()
		s.eventually("a second passes", func() bool { return second() > then+1 })
		s.set(c, "young")
		s.inject(faults.KillMasterTail)
		s.heal(faults.KillMasterTail)
		assert.Equal(t, []string{"old"}, s.keys())
		log, err := s.masters.Log(t.Context(), 0)
		require.NoError(t, err)
		assert.Contains(t, log, "Truncating the AOF", "its last record was torn")
	})
}

func TestWhatACrashLosesDependsOnHowMastersPersist(t *testing.T) {
	t.Parallel()
	want := map[aof.Loss][]string{
		aof.Everything: {faults.KillMasterKept, faults.KillMasterTail},
		aof.Nothing:    {faults.KillMasterTail},
		aof.Tail:       {faults.KillMasterKept},
	}
	for p, not := range want {
		t.Run("appendfsync "+string(p), func(t *testing.T) {
			t.Parallel()
			s := open(t, backend.Processes, options{Masters: 1, loses: p})
			var missing []string
			for _, f := range s.nemesis.Faults[:3] {
				if err := f.Available; err != nil {
					assert.ErrorContains(t, err, "appendfsync")
					missing = append(missing, f.Name)
				}
			}
			assert.Equal(t, not, missing)
		})
	}
}

func TestAPausedMasterIsSilentAndThenDoesWhatItWasAsked(t *testing.T) {
	t.Parallel()
	on(t, one, func(t *testing.T, s *site) {
		c := s.client().WithTimeout(answer)
		s.inject(faults.PauseMaster)
		begin := time.Now()
		require.Error(t, c.Set(t.Context(), "late", "1", time.Hour).Err())
		assert.GreaterOrEqual(t, time.Since(begin), answer, "silent, not refused")
		s.heal(faults.PauseMaster)
		s.eventually("the late command takes effect", func() bool { return len(s.keys()) == 1 })
	})
}
