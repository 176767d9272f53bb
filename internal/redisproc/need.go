package redisproc

import (
	"context"
	"os"
	"os/exec"
)

// EnvRequire names the environment variable that, set to 1, makes a missing redis-server, or what else [SkipIf] misses,
// a failure of the tests that need it.
const EnvRequire = "REDLOCK_REQUIRE_REDIS"

// A TB is the part of testing.TB that [Need] and [ForTest] use, so that programs that import this package do not import
// package testing.
type TB interface {
	Helper()
	Skip(args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Context() context.Context
	Cleanup(f func())
}

// Need skips the test with one line if there is no redis-server. With REDLOCK_REQUIRE_REDIS=1 it fails the test
// instead.
func Need(t TB) {
	t.Helper()
	if _, err := exec.LookPath(Binary); err != nil {
		SkipIf(t, ErrNotInstalled)
	}
}

// SkipIf skips the test if missing, which says what a test on real servers lacks, is not nil. With
// REDLOCK_REQUIRE_REDIS=1 it fails the test instead.
func SkipIf(t TB, missing error) {
	t.Helper()
	switch {
	case missing == nil:
	case os.Getenv(EnvRequire) == "1":
		t.Fatalf("%v, and %s=1 asks for it", missing, EnvRequire)
	default:
		t.Skip(missing)
	}
}

// ForTest starts servers, as [StartN] does, that end with the test. It needs a redis-server, as [Need] does.
func ForTest(t TB, n int, args ...string) []*Server {
	t.Helper()
	Need(t)
	servers, err := StartN(t.Context(), n, args...)
	if err != nil {
		t.Fatalf("start %d servers: %v", n, err)
	}
	t.Cleanup(func() {
		if err := CloseAll(servers); err != nil {
			t.Errorf("end the servers: %v", err)
		}
	})
	return servers
}

// URLs returns the servers' URLs.
func URLs(servers []*Server) []string {
	urls := make([]string, len(servers))
	for i, s := range servers {
		urls[i] = s.URL()
	}
	return urls
}
