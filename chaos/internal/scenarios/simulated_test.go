package scenarios_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/exact"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/scenarios"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

// The plan decides what a fault hits, and when.
func TestAScheduleHasAPlan(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios.All() {
		for seed := range uint64(5) {
			schedule := s.Schedule(seed)
			assert.Equal(t, schedule, s.Schedule(seed), "a seed fixes it")
			assert.Equal(t, len(s.Faults) > 0, len(schedule.Plan) > 0, s.Name)
			for _, step := range schedule.Plan {
				assert.Contains(t, s.Faults, step.Fault)
				assert.LessOrEqual(t, step.At+step.For, schedule.Storm)
			}
		}
	}
}

func TestAScheduleHasTheTrafficOfItsScenario(t *testing.T) {
	t.Parallel()
	s := named(t, "fenced")
	had := map[string]bool{}
	for seed := range uint64(len(s.Groups)) {
		schedule := s.Schedule(seed)
		assert.Equal(t, s.Window(), schedule.Window())
		assert.Len(t, schedule.Clients, s.Clients)
		for _, g := range schedule.Groups {
			had[g.Names[0]] = true
			assert.Equal(t, g.Names[0] != "unfenced-over", g.Fencing)
		}
	}
	for _, g := range s.Groups {
		assert.True(t, had[g.Names[0]], "every group has its turn, also %s", g.Names)
	}
}

func TestScenariosInVirtualTime(t *testing.T) {
	t.Parallel()
	const schedules = 3
	tests := map[string]struct {
		scenario string
		lock     string // "": ours
		promises scenarios.Promises
		faults   []string
		wrong    string // "": as promised
	}{
		"a clock that jumps breaks exclusion, as the table says": {scenario: "only-clock-forward"},
		"who forgets all breaks it too":                          {scenario: "only-flush-all"},
		"what is said to break it must do so": {
			scenario: "only-clock-forward", faults: []string{faults.FlushScripts},
			wrong: "exclusion is said not to be promised, and was not seen broken",
		},
		"what is promised all the same must hold": {
			scenario: "only-clock-forward", promises: scenarios.Promises{check.ByExclusion: scenarios.Kept},
			wrong: "exclusion: in ",
		},
		"counters that are evicted":    {scenario: "only-evict-locks"},
		"counters that are older":      {scenario: "only-kill-master-tail"},
		"killed clients":               {scenario: "only-kill-client-holding"},
		"clocks of clients that drift": {scenario: "only-drift-client"},

		"majority less one":    {scenario: "only-silent-link", lock: "majority less one", wrong: "exclusion: in "},
		"counters without end": {scenario: "fenced", lock: "counters that never expire", wrong: "residue: in "},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := named(t, tt.scenario)
			s.Lock = tt.lock
			if tt.promises != nil {
				s.Promises = tt.promises
			}
			if tt.faults != nil {
				s.Faults = tt.faults
			}
			o := scenarios.Options{
				Seed: 1, Order: 1, Schedules: schedules, Dir: t.TempDir(), Say: t.Logf,
				Playing:   func(lock string) (simulation.Play, error) { return exact.Start(t).Playing(lock), nil },
				ReplayOne: func(scenario string, seed, _ uint64) string { return fmt.Sprint(scenario, " ", seed) },
			}
			v, err := scenarios.PlayVirtually(t.Context(), s, o)
			require.NoError(t, err)
			if tt.wrong == "" {
				assert.Empty(t, v.Wrong(), v.Shown)
				assert.True(t, v.Good())
			} else {
				assert.Contains(t, strings.Join(v.Wrong(), "\n"), tt.wrong)
			}
			assert.Equal(t, schedules, v.Schedules)
			text, err := os.ReadFile(filepath.Join(o.Dir, "verdict.txt"))
			require.NoError(t, err)
			assert.Contains(t, string(text), fmt.Sprintf("%d schedules from seed 1", schedules))
		})
	}
}

// The control of drift-client: clocks of clients that lose as much as no budget allows break exclusion, and no judge
// excuses it.
func TestAClientThatDriftsTooFarIsCaughtInVirtualTime(t *testing.T) {
	t.Parallel()
	s := named(t, "only-drift-client")
	for name, tt := range map[string]struct {
		rate   float64 // 0: as it is
		caught bool
	}{"within the budget": {0, false}, "far too slow": {0.5, true}, "far too fast": {1.5, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sum, err := simulation.Batch{
				From: 1, N: 4, Play: exact.Start(t).Playing(""), Order: 1, Say: t.Logf,
				Draw: func(seed uint64) simulation.Schedule {
					drawn := s.Schedule(seed)
					require.NotEmpty(t, drawn.Plan)
					for i := range drawn.Clients {
						if tt.rate > 0 {
							drawn.Clients[i].Rate = tt.rate - faults.DriftOf(i)
						}
					}
					return drawn
				},
			}.Run(t.Context())
			require.NoError(t, err)
			assert.Equal(t, tt.caught, slices.ContainsFunc(sum.Found, func(f simulation.Finding) bool {
				return slices.Contains(f.By, check.ByExclusion)
			}), "%+v", sum.ByChecker)
			if !tt.caught {
				assert.Empty(t, sum.Found)
			}
		})
	}
}
