package faults_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/faults"
)

var modes = []faults.Mode{faults.Minority, faults.Majority, faults.Everything}

var few = []string{faults.KillMaster, faults.PauseMaster, faults.KillClient, faults.FreezeClient}

func terms() faults.Terms {
	return faults.Terms{
		Duration: 40 * time.Second, Masters: 5, Clients: 3,
		Window: 7 * time.Second, TTL: time.Second, Faults: few,
	}
}

// wide is all faults that there are.
func wide(mode faults.Mode) faults.Terms {
	terms := terms()
	terms.Mode, terms.Duration, terms.Faults = mode, 4*time.Minute, nil
	for _, t := range faults.Catalog() {
		terms.Faults = append(terms.Faults, t.Name)
	}
	return terms
}

func TestEveryModeKeepsItsTerms(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(15) {
				plan := faults.Plan(seed, wide(mode))
				keeps(t, wide(mode), plan)
				assert.Equal(t, plan, faults.Plan(seed, wide(mode)), "the seed repeats it")
				assert.NotEqual(t, plan, faults.Plan(seed+1, wide(mode)))
			}
		})
	}
}

// A minority has outages before the last one, too, and each fault occurs.
func TestAMinorityKeepsItsTerms(t *testing.T) {
	t.Parallel()
	for _, masters := range []int{3, 5, 7} {
		t.Run(fmt.Sprintf("%d masters", masters), func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(300) {
				terms := terms()
				terms.Masters = masters
				steps := faults.Plan(seed, terms)
				terms.Mode = faults.Minority // the default
				keeps(t, terms, steps)
				seen, outages := map[string]bool{}, 0
				for _, s := range steps {
					seen[s.Fault] = true
					if s.Outage {
						outages++
					}
				}
				require.Len(t, seen, len(few), "seed %d", seed)
				require.GreaterOrEqual(t, outages, 2, "seed %d: no outage before the last", seed)
			}
		})
	}
}

// keeps checks a plan. It ends with an outage by a kill.
func keeps(t *testing.T, terms faults.Terms, steps []faults.Step) {
	t.Helper()
	for i, s := range steps {
		fits(t, terms, steps[:i], s)
	}
	ends := func(s faults.Step) bool {
		return s.Outage && s.Fault == faults.KillMaster && s.Until() == terms.Duration
	}
	require.True(t, slices.ContainsFunc(steps, ends), "the storm ends otherwise: %v", steps)
}

// fits checks one step, given those before it.
func fits(t *testing.T, terms faults.Terms, before []faults.Step, s faults.Step) {
	t.Helper()
	traits, ok := faults.Lookup(s.Fault)
	require.True(t, ok, s.Fault)
	require.Positive(t, s.At)
	require.Equal(t, traits.Instant, s.For == 0, "%v", s)
	require.LessOrEqual(t, s.Until(), terms.Duration, "%v ends after the storm", s)
	require.NotEmpty(t, s.Targets)
	require.True(t, !traits.Outlasts || s.For > terms.TTL, "%v is shorter than a TTL", s)
	require.True(t, !traits.NeedsPeer || len(s.Targets) < terms.Masters, "%v", s)
	busy := len(s.Targets)
	for _, other := range before {
		if other.On == s.On && other.Until() > s.At {
			busy += len(other.Targets)
			for _, target := range s.Targets {
				require.NotContains(t, other.Targets, target, "%v hits a target of %v", s, other)
			}
		}
	}
	if s.On == faults.Clients {
		require.Less(t, busy, terms.Clients, "no client left at %v", s.At)
		return
	}
	spare := (terms.Masters - 1) / 2
	require.Equal(t, s.Outage, len(s.Targets) > spare, "%v", s)
	already := harmed(t, before, terms.Window, s.At)
	switch terms.Mode {
	case faults.Minority:
		all := slices.Compact(slices.Sorted(slices.Values(append(already, s.Targets...))))
		require.True(t, s.Outage || len(all) <= spare, "%v leaves no quorum to %v", s, already)
		require.True(t, !s.Outage || traits.Breaks == "", "%v", s)
	case faults.Majority:
		require.Greater(t, len(s.Targets), spare, "%v", s)
		require.True(t, s.Until() == terms.Duration || len(already) == 0, "%v while %v cannot vote", s, already)
	case faults.Everything:
	}
}

// harmed returns which masters are without a vote at a time, or may have forgotten one, by the traits of what hit them.
func harmed(t *testing.T, steps []faults.Step, window, at time.Duration) (out []int) {
	t.Helper()
	for _, s := range steps {
		traits, ok := faults.Lookup(s.Fault)
		require.True(t, ok, s.Fault)
		end := s.Until()
		if traits.Restarts || traits.Breaks != "" {
			end += window
		}
		if s.On == faults.Masters && s.At <= at && at <= end {
			out = append(out, s.Targets...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestEveryModeHasEveryFaultThatSuitsIt(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			terms := wide(mode)
			terms.Duration = 20 * time.Minute
			seen := map[string]bool{}
			most := 0
			for _, s := range faults.Plan(3, terms) {
				seen[s.Fault] = true
				if s.On == faults.Masters {
					most = max(most, len(s.Targets))
				}
			}
			for _, f := range faults.Catalog() {
				assert.True(t, seen[f.Name], "no %s", f.Name)
			}
			assert.Equal(t, terms.Masters, most, "all of them at once, sometimes")
		})
	}
}

func TestEveryFaultCanBeMadeAndIsInTheREADME(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	var all, made []string
	for _, f := range faults.Catalog() {
		all = append(all, f.Name)
		assert.NotEmpty(t, f.About, f.Name)
		assert.Contains(t, string(text), fmt.Sprintf("| `%s` | %s | %s |\n", f.Name, f.About, f.Breaks))
	}
	assert.Len(t, slices.Compact(slices.Sorted(slices.Values(all))), len(all), "each name is there once")
	for _, f := range faults.Of(newWorld(), clients{}) {
		made = append(made, f.Name)
	}
	assert.Equal(t, all, made)
}

func TestAPlanUsesOnlyWhatIsAvailable(t *testing.T) {
	t.Parallel()
	terms := terms()
	terms.Masters = 1
	for _, s := range faults.Plan(1, terms) {
		assert.True(t, s.On == faults.Clients || s.Outage, "%v hits the only master", s)
	}
	terms.Masters, terms.Faults = 5, []string{faults.KillMaster}
	steps := faults.Plan(1, terms)
	require.NotEmpty(t, steps)
	for _, s := range steps {
		assert.Equal(t, faults.KillMaster, s.Fault)
	}
	terms.Faults = nil
	assert.Empty(t, faults.Plan(1, terms))
}
