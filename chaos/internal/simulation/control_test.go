package simulation_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/exact"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

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
