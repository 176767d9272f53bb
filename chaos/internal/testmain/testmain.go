// Package testmain has what the tests of several packages of the harness begin with.
package testmain

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"

	"github.com/redlock-go/redlock/chaos/internal/clients"
)

// asClient, in its environment, makes a test binary a client process of the harness.
const asClient = "REDLOCK_CHAOS_TEST_CLIENT"

// Run runs the tests and looks for goroutines that they leave. Of toxiproxy some may be left: see proxy.Proxy. A proxy
// that is not closed has other goroutines, and those are found.
func Run(m *testing.M) {
	if os.Getenv(asClient) != "" {
		if err := clients.RunClient(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	const toxiproxy = "github.com/Shopify/toxiproxy/v2"
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction(toxiproxy+"/toxics.(*ToxicStub).Run"),
		goleak.IgnoreAnyFunction(toxiproxy+".(*ToxicLink).read"))
}

// Client returns the command of a client process: a test binary whose TestMain calls Run.
func Client() *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	c := exec.Command(self)
	c.Env = append(os.Environ(), asClient+"=1")
	return c
}
