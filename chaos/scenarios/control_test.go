package scenarios_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redlock-go/redlock/chaos/scenarios"
	"github.com/redlock-go/redlock/chaos/traffic"
)

// asClient makes this test binary a client process of the harness.
const asClient = "REDLOCK_CHAOS_TEST_CLIENT"

func TestMain(m *testing.M) {
	if os.Getenv(asClient) != "" {
		if err := traffic.RunClient(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func client(t *testing.T) func() *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return func() *exec.Cmd {
		c := exec.Command(self)
		c.Env = append(os.Environ(), asClient+"=1")
		return c
	}
}

func TestEveryCheckerCatchesTheNaiveLock(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	m.ClockTTL(true)
	o := scenarios.Options{
		Clients: 3, Seed: 1, Dir: t.TempDir(), Client: client(t), Say: t.Logf, Duration: time.Second,
	}
	caught, err := scenarios.Control(t.Context(), o, "redis://"+m.Addr())
	require.NoError(t, err)
	var by []string
	for _, c := range caught {
		assert.True(t, c.Caught, "%v", c)
		by = append(by, c.Checker)
	}
	assert.Equal(t, []string{"exclusion", "liveness", "residue"}, by)
}

func TestAControlWithoutItsMasterIsNoControl(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	addr := m.Addr()
	m.Close()
	o := scenarios.Options{Clients: 2, Seed: 1, Dir: t.TempDir(), Client: client(t), Say: t.Logf}
	_, err := scenarios.Control(t.Context(), o, "redis://"+addr)
	require.ErrorContains(t, err, "the control did not run")
}

func TestOptionsOutOfBoundsAreRefused(t *testing.T) {
	t.Parallel()
	o := scenarios.Options{Backend: "clouds", Duration: time.Second, Clients: 1}
	err := o.Check()
	require.ErrorContains(t, err, "duration 1s: a storm takes at least 20s")
	require.ErrorContains(t, err, "clients 1: it takes at least 2")
	require.ErrorContains(t, err, `no backend is called "clouds"`)
	o = scenarios.Options{Backend: "processes", Duration: scenarios.LeastDuration, Clients: 2}
	require.NoError(t, o.Check())
}
