package simulation_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

func TestABatchStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	sum, err := simulation.Batch{From: 1, N: 10, Draw: simulation.Draw, Say: t.Logf}.Run(ctx)
	require.ErrorIs(t, err, context.Canceled)
	assert.Zero(t, sum.Schedules)
}

// worse is a play in which a checker finds something if there are two clients and the order is even.
func worse(s simulation.Schedule, order uint64) *simulation.Result {
	r := &simulation.Result{Schedule: s, Holds: 10}
	if len(s.Clients) >= 2 && order%2 == 0 {
		r.Found = []simulation.Found{{By: simulation.ByLoad, Finding: check.Finding{Text: "too much"}}}
	}
	return r
}

func TestABatchShrinksWhatItFinds(t *testing.T) {
	t.Parallel()
	sum, err := simulation.Batch{
		From: 1, N: 1, Draw: simulation.Draw, Say: t.Logf, Play: worse, Order: 1, Orders: 2,
		Replay: func(seed, order uint64) string { return fmt.Sprintf("seed %d order %d", seed, order) },
	}.Run(t.Context())
	require.NoError(t, err)
	require.Len(t, sum.Found, 1)
	f := sum.Found[0]
	assert.Equal(t, "seed 1 order 2", f.Replay)
	assert.Len(t, f.Minimal.Clients, 2)
	assert.Empty(t, f.Minimal.Plan)
	assert.Len(t, f.Minimal.Names, 1)
	assert.Contains(t, f.String(), "seed 1 in order 2, found by [load]")
	assert.Equal(t, "1 1 \n1 2 \n", sum.Hashes)
}

func TestWhatIsNoScheduleIsRefused(t *testing.T) {
	t.Parallel()
	_, err := simulation.Parse([]byte("[]"))
	assert.ErrorContains(t, err, "no schedule")
}
