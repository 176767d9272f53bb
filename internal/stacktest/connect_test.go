package stacktest_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
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
	"github.com/redlock-go/redlock/node"
)

// distances are those at which docs/masters.md says that a lock works.
var distances = []struct {
	trip, ttl, timeout time.Duration // a timeout of 0 is the default
}{
	{40 * time.Millisecond, 2 * time.Second, 0},
	{120 * time.Millisecond, 10 * time.Second, 0},
	{250 * time.Millisecond, 10 * time.Second, 0},
	{100 * time.Millisecond, 10 * time.Second, 200 * time.Millisecond},
	{900 * time.Millisecond, time.Minute, 2 * time.Second},
}

// handshakes are how many round trips the handshake of TLS takes.
var handshakes = map[string]int{"plain": 0, "TLS 1.3": 1, "TLS 1.2": 2}

// far returns the nodes of n masters that are trip away, to which a handshake takes trips more.
func (w *world) far(t *testing.T, host string, n int, trip time.Duration, handshake int) []*node.Node {
	t.Helper()
	h := w.Host(host)
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := h.Dial(ctx, network, addr)
		time.Sleep(time.Duration(handshake) * trip)
		return conn, err
	}
	var masters []*node.Node
	for i, u := range w.URLs()[:n] {
		w.Master(i).Delay(trip/2, 0)
		m, err := node.Open(u, node.WithDialer(dial), node.WithClock(h.Clock()))
		require.NoError(t, err)
		masters = append(masters, m)
	}
	return masters
}

// The first attempt of a process has to connect, over TLS too, and to send scripts that the masters lack. It succeeds
// at every distance at which a later one does, for every kind of lock.
func TestTheFirstTryLockAtADistance(t *testing.T) {
	t.Parallel()
	for _, d := range distances {
		for how, handshake := range handshakes {
			for _, k := range kinds {
				for _, fenced := range []bool{false, true} {
					subWorld(t, fmt.Sprint(d.trip, " ", how, " ", k.name, " fenced ", fenced), 3, func(t *testing.T, w *world) {
						opts := []redlock.Option{redlock.WithTTL(d.ttl)}
						if d.timeout > 0 {
							opts = append(opts, redlock.WithNodeTimeout(d.timeout))
						}
						if fenced {
							opts = append(opts, redlock.WithFencing())
						}
						l := w.over(t, "here", w.far(t, "here", 3, d.trip, handshake), opts...)
						began := time.Now()
						lock, err := k.try(t.Context(), l)
						require.NoError(t, err)
						trips := handshake + 3
						if fenced || k.name != "mutex" {
							trips++ // for a script that the masters lack
						}
						assert.LessOrEqual(t, time.Since(began), time.Duration(trips)*d.trip)
						most := began.Add(d.ttl - d.ttl/100)
						assert.False(t, lock.Until().After(most), "connecting counts within the validity")
						require.NoError(t, lock.Unlock(t.Context()))
					})
				}
			}
		}
	}
}

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
