package simulation_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redlock-go/redlock/chaos/internal/broken"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

var (
	schedules = flag.Int("schedules", ordinary, "how many schedules to run")
	seed      = flag.Uint64("seed", 1, "the first seed; 0 draws one")
)

func TestMain(m *testing.M) {
	logging.Disable()
	debug.SetGCPercent(400) // every script starts an interpreter
	goleak.VerifyTestMain(m)
}

// run runs one schedule in its own bubble.
func run(t *testing.T, s simulation.Schedule, open simulation.Open) (r *simulation.Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		r = simulation.Run(t, s, open)
	})
	return r
}

// TestSchedules runs random schedules. Each must keep every promise: no two holders at the same time, no late
// notification of a loss, no keys left behind, and locks for all clients after the faults.
func TestSchedules(t *testing.T) {
	first := *seed
	if first == 0 {
		first = rand.Uint64N(1_000_000_000) + 1
	}
	fmt.Fprintf(os.Stderr, "simulation: %d schedules from seed %d, natively\n", *schedules, first)
	sum, err := simulation.Batch{
		From: first, N: *schedules, Draw: simulation.Draw,
		Play: func(s simulation.Schedule, _ uint64) *simulation.Result {
			return simulation.InBubble(s, simulation.Product(broken.Lock{}))
		},
		Say: func(format string, args ...any) { fmt.Fprintf(os.Stderr, "simulation: "+format+"\n", args...) },
	}.Run(t.Context())
	require.NoError(t, err)
	for _, f := range sum.Found {
		t.Error(f)
	}
	t.Logf("%d schedules from seed %d in %v: %v of virtual time, %d holds, %d commands",
		sum.Schedules, first, sum.Wall.Round(time.Millisecond), sum.Virtual.Round(time.Second), sum.Holds,
		sum.Commands)
}

// The guest of exact runs, which is compiled for wasip1, is to import neither.
func TestTheSimulationImportsNeitherDockerNorAProxy(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}}", ".")
	cmd.Env = append(cmd.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	deps := strings.Fields(string(out))
	assert.Contains(t, deps, "github.com/redlock-go/redlock/internal/simnet")
	for _, d := range deps {
		for _, not := range []string{"testcontainers", "docker", "moby", "toxiproxy", "redisbox"} {
			assert.NotContains(t, d, not)
		}
	}
}
