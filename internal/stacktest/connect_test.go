package stacktest_test

import (
	"context"
	"crypto/tls"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/internal/testcert"
)

// A call that waits says so within two seconds, although its first attempt takes a second to connect.
func TestAnOutageIsLoggedWhileConnecting(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		var log strings.Builder
		l := w.locker(t, "here", redlock.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		each(w.Masters(), func(m *simnet.Master) { m.BlackHole() })
		ctx, cancel := context.WithCancel(t.Context())
		out := locking(ctx, l, "x")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		cancel()
		require.Error(t, (<-out).err)
		require.NoError(t, l.Close())
		assert.Contains(t, log.String(), "waiting, since no majority of the masters answers")
	})
}

// startTLS starts servers with one certificate, and returns their URLs.
func startTLS(t *testing.T, ca *testcert.Authority, n int, c tls.Certificate) []string {
	t.Helper()
	cert, key, authority := ca.Files(c)
	return redisproc.TLSURLs(redisproc.ForTLSTest(t, n, cert, key, authority))
}

func TestATLSConfigurationOfALocker(t *testing.T) {
	t.Parallel()
	_, err := redlock.Open([]string{"rediss://10.0.0.1"}, redlock.WithTLSConfig(nil))
	require.ErrorContains(t, err, "redlock: TLS configuration nil")

	ca := testcert.New(t)
	config := ca.Trusting()
	option := redlock.WithTLSConfig(config)
	config.RootCAs = nil // it was copied
	urls := append(startTLS(t, ca, 2, ca.Valid()), redisproc.ForTest(t, 1)[0].URL())
	urls[1] = strings.Replace(urls[1], "rediss", "REDISS", 1)
	l, err := redlock.Open(urls, option, redlock.WithoutRestartGuard())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.Close()) })
	unlock(t, lock(t, l, "x"))
	nodes, err := l.Nodes(t.Context())
	require.NoError(t, err)
	for _, n := range nodes {
		assert.True(t, n.Reachable, "%v", n.Err)
	}
	assert.Empty(t, config.ServerName)
}
