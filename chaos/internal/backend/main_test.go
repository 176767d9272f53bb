package backend_test

import (
	"testing"

	"go.uber.org/goleak"
)

const toxiproxy = "github.com/Shopify/toxiproxy/v2"

// See proxy.Proxy for the goroutines of toxiproxy that may be left.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction(toxiproxy+"/toxics.(*ToxicStub).Run"),
		goleak.IgnoreAnyFunction(toxiproxy+".(*ToxicLink).read"))
}
