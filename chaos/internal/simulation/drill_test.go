package simulation_test

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

var drillings = flag.Int("drillings", 5, "how often each drill is played")

// TestDrills plays every drill with several seeds.
func TestDrills(t *testing.T) {
	t.Parallel()
	for _, name := range simulation.Drills() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, s := range (simulation.Control{Profile: name, Within: *drillings}).Schedules() {
				r := simulation.InBubble(s, simulation.Product())
				require.True(t, r.OK(), r.Report())
			}
		})
	}
}
