package simulation_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/broken"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
	"github.com/redlock-go/redlock/internal/simnet"
)

func TestASeedFixesItsSchedule(t *testing.T) {
	t.Parallel()
	profiles := make(map[string]int)
	drawn := make(map[string]int)
	locks := make(map[string]int)
	for seed := range uint64(500) {
		s := simulation.Draw(seed)
		require.Equal(t, s, simulation.Draw(seed))
		profiles[s.Profile]++
		for _, step := range s.Plan {
			drawn[step.Fault]++
		}
		assert.Contains(t, []int{3, 5}, s.Masters)
		assert.GreaterOrEqual(t, len(s.Clients), 2)
		assert.LessOrEqual(t, len(s.Clients), 5)
		assert.Greater(t, s.Window(), s.MaxTTL(), "the window covers every TTL")
		for _, k := range s.Kinds {
			locks[k]++
		}
	}
	assert.Len(t, locks, len(kinds.Names()), "every kind of lock is drawn: %v", locks)
	assert.Len(t, profiles, 15)
	assert.Len(t, drawn, 17, "every fault is drawn: %v", drawn)
	assert.NotEqual(t, simulation.Draw(1), simulation.Draw(8), "other seeds give other schedules")
}

// TestClientsTurnBetweenNames checks that some Lockers wait for two names in turn, and that some retry only after more
// than the second for which a writer leaves its intent.
func TestClientsTurnBetweenNames(t *testing.T) {
	t.Parallel()
	var inTurn, intents int
	for seed := range uint64(1000) {
		s := simulation.Draw(seed)
		long := false
		for _, c := range s.Clients {
			long = long || c.RetryMax > time.Second
			if c.InTurn {
				assert.Equal(t, []string{"a", "b"}, s.Names, "seed %d", seed)
				assert.GreaterOrEqual(t, c.Workers, 2, "seed %d", seed)
				inTurn++
			}
		}
		if long && slices.Contains(s.Kinds, kinds.Writer) && slices.Contains(s.Kinds, kinds.Reader) {
			intents++
		}
	}
	assert.Greater(t, inTurn, 50)
	assert.Greater(t, intents, 100)
}

func TestFaultsOfOneThingDoNotOverlap(t *testing.T) {
	t.Parallel()
	for seed := range uint64(330) {
		s := simulation.Draw(seed)
		if s.Profile == "rolling restarts" || s.Profile == "total loss" {
			continue // waves may overlap
		}
		busy := make(map[string]time.Duration)
		for _, step := range s.Plan {
			if step.Fault == simulation.SetTimeOfDay {
				continue // at any time
			}
			server := slices.Contains([]string{
				faults.PauseMaster, faults.KillMaster, simulation.RestartMaster, simulation.RefuseConnections,
				simulation.RefuseWrites, faults.FlushScripts, simulation.EvictCounters, simulation.SetClock,
			}, step.Fault)
			lane := fmt.Sprint(step.On, step.Targets, step.Paths, server)
			assert.GreaterOrEqual(t, step.At, busy[lane], "seed %d, %v", seed, step)
			assert.GreaterOrEqual(t, step.For, time.Duration(0))
			busy[lane] = step.Until()
		}
	}
}

func TestAMinorityIsNeverMore(t *testing.T) {
	t.Parallel()
	for _, profile := range []string{"minority", "evicted counters"} {
		most := 0
		for n := range uint64(22) {
			s := simulation.Of(profile, n+1)
			hurt := make(map[int]bool)
			for _, step := range s.Plan {
				if step.On == faults.Masters && step.Paths == nil { // a path is one client's
					hurt[step.Targets[0]] = true
				}
			}
			assert.LessOrEqual(t, len(hurt), s.Masters/2)
			most = max(most, len(hurt))
		}
		assert.Equal(t, 2, most, profile)
	}
}

// TestClocksDifferAsFarAsTheyMay checks the limits within which fencing tokens stay in order. Two clocks differ by less
// than a restart window if counters are lost, by any amount if none is lost, and not at all if one is lost unnoticed.
func TestClocksDifferAsFarAsTheyMay(t *testing.T) {
	t.Parallel()
	apart := 0
	for seed := range uint64(330) {
		s := simulation.Draw(seed)
		lost, unnoticed := false, false
		for _, step := range s.Plan {
			lost = lost || step.Fault == faults.KillMaster || step.Fault == simulation.RestartMaster
			unnoticed = unnoticed || step.Fault == simulation.EvictCounters
		}
		for _, c := range s.Clients {
			if c.Skew != 0 {
				apart++
			}
			switch {
			case unnoticed:
				assert.Zero(t, c.Skew, "seed %d", seed)
				assert.InDelta(t, 1, c.Rate, 0, "seed %d", seed)
			case lost:
				assert.Less(t, c.Skew.Abs(), s.Window()/2, "seed %d", seed)
			}
		}
	}
	assert.Greater(t, apart, 500)
}

// TestAClientsClockRunsAsTheFaultSays checks that a client's clock, which runs twice as fast as it should, returns to
// this rate after the fault and keeps the difference that it has accumulated.
func TestAClientsClockRunsAsTheFaultSays(t *testing.T) {
	t.Parallel()
	const second, gain = time.Second, 5 * time.Millisecond
	s := simulation.Schedule{
		Masters: 1, Rates: []float64{1}, Names: []string{"a"}, Storm: 5 * second,
		Clients: []simulation.Client{
			{Name: "c0", TTL: second, Timeout: second / 10, Rate: 2, RetryMin: second / 100, RetryMax: second},
		},
		Plan: []faults.Step{
			{Fault: faults.DriftClient, On: faults.Clients, Targets: []int{0}, At: second, For: 2 * second},
		},
	}
	var host *simnet.Host
	var begin, shown time.Time
	r := run(t, s, func(w *simnet.Net, h *simnet.Host, s simulation.Schedule, c simulation.Client) (kinds.Locker, error) {
		host, begin, shown = h, time.Now(), h.Clock().Now()
		return simulation.Product(broken.Lock{})(w, h, s, c)
	})
	require.True(t, r.OK(), r.Report())
	for shows, at := range map[time.Duration]time.Duration{
		2 * second: second, 4*second + gain: 2 * second, 6*second + 2*gain: 3 * second, 8*second + 2*gain: 4 * second,
	} {
		assert.WithinDuration(
			t, begin.Add(at), host.Clock().World(shown.Add(shows)), time.Microsecond, "it shows %v", shows,
		)
	}
}

func TestALockerThatCannotBeOpenedIsAProblem(t *testing.T) {
	t.Parallel()
	r := run(t, simulation.Draw(1), func(
		*simnet.Net, *simnet.Host, simulation.Schedule, simulation.Client,
	) (kinds.Locker, error) {
		return nil, assert.AnError
	})
	assert.False(t, r.OK())
	assert.Contains(t, r.Report(), assert.AnError.Error())
	assert.Contains(t, r.Report(), "seed 1 ")
}
