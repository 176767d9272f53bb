package redisproc

import (
	"context"
	"errors"
	"strings"
)

// ForTLSTest starts servers, as [ForTest] does, that also speak TLS ([Server.TLSAddr]) with the certificate, key and
// authority in these files. A redis-server that was built without TLS is treated like a missing one.
func ForTLSTest(t TB, n int, cert, key, authority string, args ...string) []*Server {
	t.Helper()
	Need(t)
	args = append([]string{
		"--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", authority, "--tls-auth-clients", "no",
	}, args...)
	servers := make([]*Server, n)
	for i := range servers {
		s, err := startTLS(t.Context(), args)
		if err != nil && strings.Contains(err.Error(), "Bad directive") {
			SkipIf(t, errors.New("redisproc: this redis-server was built without TLS"))
		}
		if err != nil {
			t.Fatalf("start a server with TLS: %v", err)
			return nil
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Errorf("end a server: %v", err)
			}
		})
		servers[i] = s
	}
	return servers
}

func startTLS(ctx context.Context, args []string) (*Server, error) {
	return StartWith(ctx, func(string) (Options, error) { return Options{Args: args, TLS: true}, nil })
}

// TLSURLs returns the servers' rediss:// URLs.
func TLSURLs(servers []*Server) []string {
	urls := make([]string, len(servers))
	for i, s := range servers {
		urls[i] = "rediss://" + s.TLSAddr()
	}
	return urls
}
