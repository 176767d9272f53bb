package redisproc

import (
	"os"
	"os/exec"
)

// EnvRequire names the environment variable that, set to 1, makes a missing redis-server a failure of the tests that
// need it.
const EnvRequire = "REDLOCK_REQUIRE_REDIS"

// A TB is what [Need] takes of a testing.TB, so that programs that import this package do not import package testing.
type TB interface {
	Helper()
	Skip(args ...any)
	Fatalf(format string, args ...any)
}

// Need skips the test with one line where there is no redis-server; with REDLOCK_REQUIRE_REDIS=1 it fails it instead.
func Need(t TB) {
	t.Helper()
	if _, err := exec.LookPath(Binary); err == nil {
		return
	}
	if os.Getenv(EnvRequire) == "1" {
		t.Fatalf("%v, and %s=1 asks for it", ErrNotInstalled, EnvRequire)
		return
	}
	t.Skip(ErrNotInstalled)
}
