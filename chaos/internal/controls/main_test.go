package controls_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redlock-go/redlock/chaos/internal/clients"
	"github.com/redlock-go/redlock/chaos/internal/controls"
)

// asClient is the environment variable that makes this test binary a client process of the harness.
const asClient = "REDLOCK_CHAOS_TEST_CLIENT"

const toxiproxy = "github.com/Shopify/toxiproxy/v2"

func TestMain(m *testing.M) {
	if os.Getenv(asClient) != "" {
		if err := clients.RunClient(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction(toxiproxy+"/toxics.(*ToxicStub).Run"),
		goleak.IgnoreAnyFunction(toxiproxy+".(*ToxicLink).read"))
}

func options(t *testing.T) controls.Options {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return controls.Options{
		Dir: t.TempDir(), Seed: 1, Say: t.Logf,
		Runner: clients.Processes{Command: func() *exec.Cmd {
			c := exec.Command(self)
			c.Env = append(os.Environ(), asClient+"=1")
			return c
		}},
	}
}
