package redisproc

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"

	"github.com/redlock-go/redlock/internal/need"
)

// A TB is the part of testing.TB that [ForTest] uses, so that programs that import this package do not import package
// testing.
type TB interface {
	need.TB
	Errorf(format string, args ...any)
	Context() context.Context
	Cleanup(f func())
}

// Need skips the test if there is no redis-server. Where [need.Redis] forbids skips, it fails the test instead.
func Need(t need.TB) {
	t.Helper()
	if _, err := exec.LookPath(Binary); err != nil {
		need.SkipIf(t, need.Redis, ErrNotInstalled)
	}
}

// ForTest starts servers, as [StartN] does, that end with the test. It needs a redis-server, as [Need] does.
func ForTest(t TB, n int, args ...string) []*Server {
	t.Helper()
	Need(t)
	servers, err := StartN(t.Context(), n, args...)
	if err != nil && strings.Contains(err.Error(), "Bad directive") && slices.Contains(args, "--tls-cert-file") {
		need.SkipIf(t, need.Redis, errors.New("redisproc: this redis-server was built without TLS"))
	}
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

// ForTLSTest starts servers, as [ForTest] does, that also speak TLS ([Server.TLSAddr]) with the certificate, key and
// authority in these files. A redis-server that was built without TLS is treated like a missing one.
func ForTLSTest(t TB, n int, cert, key, authority string, args ...string) []*Server {
	t.Helper()
	return ForTest(t, n, append([]string{
		"--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", authority, "--tls-auth-clients", "no",
	}, args...)...)
}

// URLs returns the servers' URLs.
func URLs(servers []*Server) []string {
	urls := make([]string, len(servers))
	for i, s := range servers {
		urls[i] = s.URL()
	}
	return urls
}

// TLSURLs returns the servers' rediss:// URLs.
func TLSURLs(servers []*Server) []string {
	urls := make([]string, len(servers))
	for i, s := range servers {
		urls[i] = "rediss://" + s.TLSAddr()
	}
	return urls
}
