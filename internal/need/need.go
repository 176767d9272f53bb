// Package need skips tests that lack something on this machine, or fails them where a skip is forbidden.
package need

import "os"

// These environment variables, set to 1, forbid the skips of tests that lack a tool.
const (
	Docker     = "REDLOCK_REQUIRE_DOCKER" // Docker, and the tools for black holes
	Redis      = "REDLOCK_REQUIRE_REDIS"  // redis-server, and the tools of single tests
	Prometheus = "REDLOCK_REQUIRE_PROMETHEUS"
)

// NoSkip reports whether a variable forbids skips.
func NoSkip(variable string) bool { return os.Getenv(variable) == "1" }

// TB is the part of testing.TB that [SkipIf] uses, so that programs that import this package do not import package
// testing.
type TB interface {
	Helper()
	Skip(args ...any)
	Fatalf(format string, args ...any)
}

// SkipIf skips the test if missing, which says what the test lacks, is not nil. If the variable forbids skips, it fails
// the test instead.
func SkipIf(t TB, variable string, missing error) {
	t.Helper()
	switch {
	case missing == nil:
	case NoSkip(variable):
		t.Fatalf("%v, and %s=1 allows no skip", missing, variable)
	default:
		t.Skip(missing)
	}
}
