package simulation_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

func ExampleMany() {
	sum, err := simulation.Many(context.Background(), 10, 4, func(string, ...any) {})
	fmt.Println(sum.Schedules, len(sum.Found), sum.Holds > 20, len(sum.Profiles), err)
	// Output: 4 0 true 4 <nil>
}

func TestManyStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	sum, err := simulation.Many(ctx, 1, 10, func(string, ...any) {})
	require.ErrorIs(t, err, context.Canceled)
	assert.Zero(t, sum.Schedules)
}

// TestAViolationIsShrunk checks that Shrink shortens a storm of restarts and removes faults from it. What remains is
// chance, since a violation does not show in every run: a storm whose last fault must remain is not shortened.
func TestAViolationIsShrunk(t *testing.T) {
	t.Parallel()
	control := controlNamed(t, "restart guard off")
	for _, s := range control.Schedules() {
		if len(s.Plan) < 4 || len(s.Plan) > 12 { // enough to leave something out, and few enough to be quick
			continue
		}
		early := func(step faults.Step) bool { return step.Fault == faults.KillMaster && step.Until() < s.Storm/2 }
		if !slices.ContainsFunc(s.Plan, early) { // otherwise the storm may not get shorter
			continue
		}
		if often, _ := simulation.Shows(t.Context(), s, control.Open, control.By, 4); often < 3 {
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute) // it takes seconds on an idle machine
		defer cancel()
		small := simulation.Shrink(ctx, s, control.Open, control.By, 5)
		if small.Storm == s.Storm {
			continue
		}
		t.Logf("from %v\nto %v%s", s, small, small.JSON())
		assert.LessOrEqual(t, len(small.Clients), len(s.Clients))
		assert.Less(t, len(small.Plan), len(s.Plan))
		assert.NotEmpty(t, small.Plan)
		assert.Less(t, small.Storm, s.Storm)
		times, _ := simulation.Shows(t.Context(), small, control.Open, control.By, 20)
		assert.Positive(t, times, "what is shown still shows it")
		times, _ = simulation.Shows(t.Context(), small, simulation.Product(), control.By, 10)
		assert.Zero(t, times, "and with the rule it does not")

		pinned, err := simulation.Parse([]byte(small.JSON()))
		require.NoError(t, err)
		assert.Equal(t, small, pinned)
		return
	}
	t.Fatal("no violation was caught in a storm that could be shortened")
}

func TestWhatIsNoScheduleIsRefused(t *testing.T) {
	t.Parallel()
	_, err := simulation.Parse([]byte("[]"))
	assert.ErrorContains(t, err, "no schedule")
}

func controlNamed(t *testing.T, name string) simulation.Control {
	t.Helper()
	all := simulation.Controls()
	i := slices.IndexFunc(all, func(c simulation.Control) bool { return c.Name == name })
	require.GreaterOrEqual(t, i, 0, name)
	return all[i]
}
