package testmain

import (
	"flag"
	"runtime"
	"strconv"
	"testing"
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

// MostlyWait lets more tests run at once than there are processors, for tests that wait most of the time. It parses the
// flags, and changes nothing if -parallel is given.
func MostlyWait() {
	flag.Parse()
	if p := flag.Lookup("test.parallel"); p.Value.String() == p.DefValue {
		_ = p.Value.Set(strconv.Itoa(3 * runtime.GOMAXPROCS(0)))
	}
}
