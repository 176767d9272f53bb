package simulation_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/broken"
	"github.com/redlock-go/redlock/chaos/internal/exact"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

// TestAFaultOfAPathHitsOneClient shows it for faults of package faults and for those of virtual time: while all masters
// have the fault, the client whose paths have it acquires nothing, and the other one does.
func TestAFaultOfAPathHitsOneClient(t *testing.T) {
	t.Parallel()
	const second = time.Second
	client := simulation.Client{
		TTL: second, Timeout: second / 10, Workers: 1, Rate: 1, RetryMin: second / 100, RetryMax: second / 10, Wait: second,
		Stay: second / 10, Rest: second / 100,
	}
	for name, step := range map[string]faults.Step{
		faults.BlackHole:     {},
		simulation.SlowPath:  {Severity: faults.Severity{Delay: second}},
		simulation.LossyPath: {Severity: faults.Severity{Loss: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, paths := range [][]int{{0}, {1}, nil} {
				step.Fault, step.On, step.Targets, step.Paths = name, faults.Masters, []int{0, 1, 2}, paths
				step.At, step.For = second, 3*second
				s := simulation.Schedule{
					Masters: 3, Rates: []float64{1, 1, 1}, Names: []string{"a"}, Kinds: []string{kinds.Mutex},
					Storm: 5 * second, Clients: []simulation.Client{client, client},
					Plan: []faults.Step{step},
				}
				s.Clients[0].Name, s.Clients[1].Name = "x", "y"
				r := run(t, s, simulation.Product(broken.Lock{}))
				require.True(t, r.OK(), r.Report())
				for i, c := range s.Clients {
					holds := slices.ContainsFunc(r.Events, func(e history.Event) bool {
						return e.Kind == history.Acquired && e.Client == c.Name && e.T > 2*second && e.T < 4*second
					})
					hit := paths == nil || slices.Contains(paths, i)
					assert.Equal(t, !hit, holds, "the paths of %v, and client %d", paths, i)
				}
			}
		})
	}
}

// TestOverlapsWhereExclusionIsNotPromised checks that two holders overlap under faults for which exclusion is not
// promised, and that all other promises still hold.
func TestOverlapsWhereExclusionIsNotPromised(t *testing.T) {
	t.Parallel()
	for name, profile := range map[string]string{
		"the masters' clocks jump": "clock jumps", "all masters forget": "all forgotten",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play := exact.Start(t).Playing("")
			for n := range uint64(30) {
				r := play(simulation.Of(profile, n+1), 1)
				require.True(t, r.OK(), r.Report())
				if len(r.Found) > 0 { // excused
					t.Logf("two holders in seed %d: %v", r.Schedule.Seed, r.Found[0])
					return
				}
			}
			t.Error("30 schedules went by in which all locks excluded each other: the fault does not bite")
		})
	}
}
