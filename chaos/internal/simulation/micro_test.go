package simulation_test

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

var repeats = flag.Int("repeats", 5, "how often each microScenario is played")

// TestMicroScenarios plays every micro-scenario with several seeds.
func TestMicroScenarios(t *testing.T) {
	t.Parallel()
	for _, name := range simulation.MicroScenarios() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, s := range (simulation.Control{Profile: name, Within: *repeats}).Schedules() {
				r := simulation.InBubble(s, simulation.Product())
				require.True(t, r.OK(), r.Report())
			}
		})
	}
}
