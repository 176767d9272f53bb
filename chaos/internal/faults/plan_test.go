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

// wide is all faults that there are.
func wide() faults.Terms {
	terms := terms()
	terms.Duration = 4 * time.Minute
	terms.Faults = nil
	for _, t := range faults.Catalog() {
		terms.Faults = append(terms.Faults, t.Name)
	}
	return terms
}

// harmed returns which masters are without a vote at a time, or may have forgotten one, by the traits of what hit them.
func harmed(t *testing.T, steps []faults.Step, window, at time.Duration) (out []int) {
	t.Helper()
	for _, s := range steps {
		traits, ok := faults.Lookup(s.Fault)
		require.True(t, ok, s.Fault)
		end := s.At + s.For
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

func TestEveryModeKeepsToItsNumbers(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(15) {
				terms := wide()
				terms.Mode = mode
				steps := faults.Plan(seed, terms)
				assert.Equal(t, steps, faults.Plan(seed, terms))
				for i, s := range steps {
					inMode(t, terms, steps[:i], s)
				}
			}
		})
	}
}

// inMode checks one step, given those before it.
func inMode(t *testing.T, terms faults.Terms, before []faults.Step, s faults.Step) {
	t.Helper()
	traits, _ := faults.Lookup(s.Fault)
	require.Equal(t, traits.Instant, s.For == 0, "%v", s)
	require.True(t, !traits.Outlasts || s.For > terms.TTL, "%v", s)
	require.True(t, !traits.NeedsPeer || len(s.Targets) < terms.Masters, "%v", s)
	for _, other := range before {
		for _, target := range s.Targets {
			require.False(t, other.On == s.On && other.At+other.For > s.At && slices.Contains(other.Targets, target),
				"%v hits a target of %v", s, other)
		}
	}
	if s.On == faults.Clients {
		return
	}
	spare := (terms.Masters - 1) / 2
	last := s.At+s.For == terms.Duration
	already := harmed(t, before, terms.Window, s.At)
	switch terms.Mode {
	case faults.Minority:
		all := slices.Compact(slices.Sorted(slices.Values(append(already, s.Targets...))))
		require.True(t, s.Outage || len(all) <= spare, "%v leaves no quorum to %v", s, already)
		require.True(t, !s.Outage || traits.Breaks == "", "%v", s)
	case faults.Majority:
		require.Greater(t, len(s.Targets), spare, "%v", s)
		require.True(t, last || len(already) == 0, "%v while %v cannot vote", s, already)
	case faults.Everything:
	}
}

func TestEveryModeHasEveryFaultThatSuitsIt(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			terms := wide()
			terms.Mode, terms.Duration = mode, 20*time.Minute
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

func TestEveryFaultSaysWhatItIs(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, f := range faults.Catalog() {
		assert.NotEmpty(t, f.About, f.Name)
		assert.NotContains(t, f.About, "\n", f.Name)
		assert.False(t, seen[f.Name], "%s is there twice", f.Name)
		seen[f.Name] = true
	}
	w, c := newWorld(), clients{}
	var made []string
	for _, f := range faults.Of(w, c) {
		made = append(made, f.Name)
	}
	assert.Len(t, made, len(seen))
	for name := range seen {
		assert.Contains(t, made, name)
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

func TestTheREADMEListsEveryFault(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	for _, f := range faults.Catalog() {
		assert.Contains(t, string(text), fmt.Sprintf("| `%s` | %s | %s |\n", f.Name, f.About, f.Breaks))
	}
}
