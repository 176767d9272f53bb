package simulation_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

// TestEveryHolderHasVotesThatCount compares what holders relied on with the rules of model/exclusion.pml.
func TestEveryHolderHasVotesThatCount(t *testing.T) {
	t.Parallel()
	claims := 0
	for _, profile := range modeled {
		for _, s := range (simulation.Control{Profile: profile, Within: 2 * *replays}).Schedules() {
			r := played(t, s.FencedMutexes(), "")
			require.True(t, r.OK(), r.Report())
			for _, name := range s.Names {
				n, unjustified := r.Claims(name)
				assert.Empty(t, unjustified, "%s, seed %d", profile, s.Seed)
				claims += n
			}
		}
	}
	assert.Greater(t, claims, 100)
	t.Logf("%d claims", claims)
}

// TestAHolderWithoutVotesIsFound removes a rule from the lock, and a holder must rely on votes that do not count.
func TestAHolderWithoutVotesIsFound(t *testing.T) {
	t.Parallel()
	for name, profile := range map[string]string{
		"majority less one":                  "calm",
		"no drift budget":                    "far away",
		"elapsed not subtracted":             "far away",
		"restart guard off":                  "rolling restarts",
		"restored key counted in the window": "rolling restarts",
		"healing counted at once":            "rolling restarts",
		"keepalive that ignores votes":       "storm",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const within = 50
			for n, s := range (simulation.Control{Profile: profile, Within: within}).Schedules() {
				r := played(t, s.FencedMutexes(), name)
				for _, name := range s.Names {
					if _, unjustified := r.Claims(name); len(unjustified) > 0 {
						t.Logf("schedule %d, seed %d: %s", n, s.Seed, unjustified[0])
						return
					}
				}
			}
			t.Errorf("none of %d schedules has a claim without votes", within)
		})
	}
}
