package testmain

import (
	"context"
	"flag"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// Each runs a subtest for each case, all of them in parallel.
func Each[C any](t *testing.T, cases map[string]C, test func(t *testing.T, c C)) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, c)
		})
	}
}

// Within returns a context that ends after d, or with the test.
func Within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// MostlyWait lets more tests run at once than there are processors, for tests that wait most of the time. It parses the
// flags, and changes nothing if -parallel is given.
func MostlyWait() {
	flag.Parse()
	if p := flag.Lookup("test.parallel"); p.Value.String() == p.DefValue {
		_ = p.Value.Set(strconv.Itoa(3 * runtime.GOMAXPROCS(0)))
	}
}
