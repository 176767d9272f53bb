package faults_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/faults"
)

var all = []string{faults.KillMaster, faults.PauseMaster, faults.KillClient, faults.FreezeClient}

func terms() faults.Terms {
	return faults.Terms{
		Duration: 40 * time.Second, Masters: 5, Clients: 3,
		Window: 7 * time.Second, TTL: time.Second, Faults: all,
	}
}

func TestTheSeedRepeatsTheSchedule(t *testing.T) {
	t.Parallel()
	assert.Equal(t, faults.Plan(7, terms()), faults.Plan(7, terms()))
	assert.NotEqual(t, faults.Plan(7, terms()), faults.Plan(8, terms()))
}

// votes returns which masters are without a vote at a time, by the steps alone.
func votes(steps []faults.Step, window, at time.Duration) (out []int) {
	for _, s := range steps {
		end := s.At + s.For
		if s.Fault == faults.KillMaster {
			end += window
		}
		if s.On == faults.Masters && s.At <= at && at < end {
			out = append(out, s.Targets...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestAPlanKeepsItsTerms(t *testing.T) {
	t.Parallel()
	for _, masters := range []int{3, 5, 7} {
		t.Run(fmt.Sprintf("%d masters", masters), func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(300) {
				terms := terms()
				terms.Masters = masters
				keeps(t, seed, terms)
			}
		})
	}
}

func keeps(t *testing.T, seed uint64, terms faults.Terms) {
	t.Helper()
	spare := (terms.Masters - 1) / 2
	steps := faults.Plan(seed, terms)
	seen := map[string]bool{}
	outages, last := 0, faults.Step{}
	for i, s := range steps {
		seen[s.Fault] = true
		require.Positive(t, s.At, "seed %d", seed)
		require.Positive(t, s.For, "seed %d", seed)
		require.LessOrEqual(t, s.At+s.For, terms.Duration, "seed %d: %v ends after the storm", seed, s)
		require.NotEmpty(t, s.Targets, "seed %d", seed)
		for _, other := range steps[:i] {
			if other.On == s.On && other.At+other.For > s.At {
				for _, target := range s.Targets {
					require.NotContains(t, other.Targets, target, "seed %d: %v hits a target of %v", seed, s, other)
				}
			}
		}
		switch {
		case s.On == faults.Clients:
			busy := 0
			for _, o := range steps {
				if o.On == faults.Clients && o.At <= s.At && s.At < o.At+o.For {
					busy += len(o.Targets)
				}
			}
			require.Less(t, busy, terms.Clients, "seed %d: no client left at %v", seed, s.At)
			if s.Fault == faults.FreezeClient {
				require.Greater(t, s.For, terms.TTL, "seed %d: frozen for less than a TTL", seed)
			}
		case s.Outage:
			outages++
			last = s
			require.Greater(t, len(s.Targets), spare, "seed %d: %v is no outage", seed, s)
		default:
			require.LessOrEqual(t, len(votes(steps[:i+1], terms.Window, s.At)), spare,
				"seed %d: %v leaves no quorum", seed, s)
		}
	}
	require.GreaterOrEqual(t, outages, 2, "seed %d: no outage before the last", seed)
	require.True(t, last.Fault == faults.KillMaster && last.At+last.For == terms.Duration,
		"seed %d: the storm ends with %v", seed, last)
	for _, f := range all {
		require.True(t, seen[f], "seed %d: no %s in %v", seed, f, terms.Duration)
	}
}

func TestWithOneMasterOnlyClientsAndOutagesAreLeft(t *testing.T) {
	t.Parallel()
	terms := terms()
	terms.Masters = 1
	for _, s := range faults.Plan(1, terms) {
		assert.True(t, s.On == faults.Clients || s.Outage, "%v", s)
	}
}

func TestAPlanUsesOnlyWhatIsAvailable(t *testing.T) {
	t.Parallel()
	terms := terms()
	terms.Faults = []string{faults.KillMaster}
	steps := faults.Plan(1, terms)
	require.NotEmpty(t, steps)
	for _, s := range steps {
		assert.Equal(t, faults.KillMaster, s.Fault)
	}
	terms.Faults = nil
	assert.Empty(t, faults.Plan(1, terms))
}
