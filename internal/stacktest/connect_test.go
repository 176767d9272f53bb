package stacktest_test

import (
	"context"
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
	"github.com/redlock-go/redlock/internal/simnet"
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

// A question that changes nothing has the time to connect, too.
func TestTheFirstQuestionAtADistance(t *testing.T) {
	t.Parallel()
	for _, d := range distances {
		for how, handshake := range handshakes {
			subWorld(t, fmt.Sprint(d.trip, " ", how), 3, func(t *testing.T, w *world) {
				opts := []redlock.Option{redlock.WithTTL(d.ttl)}
				if d.timeout > 0 {
					opts = append(opts, redlock.WithNodeTimeout(d.timeout))
				}
				l := w.over(t, "here", w.far(t, "here", 3, d.trip, handshake), opts...)
				rows, err := l.Nodes(t.Context())
				require.NoError(t, err)
				for _, row := range rows {
					require.NoError(t, row.Err)
				}
				l = w.over(t, "there", w.far(t, "there", 3, d.trip, handshake), opts...)
				state, err := l.Inspect(t.Context(), "x")
				require.NoError(t, err)
				assert.Empty(t, state.Holders)
			})
		}
	}
}

// An attempt that cannot connect ends after a second, or after two and a half node timeouts if these are longer, and
// within half of the validity. It says what failed. The next attempt does not wait for these masters.
func TestTheFirstTryLockOverMastersThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ ttl, timeout, most time.Duration }{
		{10 * time.Second, 0, 1250 * time.Millisecond},
		{time.Minute, 2 * time.Second, 5 * time.Second},
		{time.Second, 0, 500 * time.Millisecond},
	} {
		for how, fault := range map[string]func(w *world){
			"cut off": func(w *world) {
				for _, m := range w.Masters() {
					m.BlackHole()
				}
			},
			"frozen": func(w *world) {
				each(w.Masters(), (*simnet.Master).Freeze)
			},
		} {
			subWorld(t, fmt.Sprint(c.ttl, " ", how), 3, func(t *testing.T, w *world) {
				opts := []redlock.Option{redlock.WithTTL(c.ttl)}
				if c.timeout > 0 {
					opts = append(opts, redlock.WithNodeTimeout(c.timeout))
				}
				l := w.locker(t, "here", opts...)
				fault(w)
				began := time.Now()
				_, err := l.TryLock(t.Context(), "x")
				require.ErrorIs(t, err, redlock.ErrNoQuorum)
				assert.LessOrEqual(t, time.Since(began), c.most)
				for _, failed := range redlock.NodeErrors(err) {
					require.ErrorIs(t, failed.Err, node.ErrTimeout)
					assert.Contains(t, failed.Err.Error(), "connecting: ")
				}
				began = time.Now()
				_, err = l.TryLock(t.Context(), "x")
				require.ErrorIs(t, err, redlock.ErrNoQuorum)
				assert.Zero(t, time.Since(began))
			})
		}
	}
}

// A node timeout above a second bounds connecting, so that a master that accepts connections long before it answers
// can vote.
func TestTheNodeTimeoutBoundsConnecting(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "here", redlock.WithTTL(5*time.Minute), redlock.WithNodeTimeout(20*time.Second))
		each(w.Masters(), (*simnet.Master).Freeze)
		time.AfterFunc(15*time.Second, func() {
			each(w.Masters(), (*simnet.Master).Thaw)
		})
		began := time.Now()
		unlock(t, lock(t, l, "x"))
		assert.Equal(t, 15*time.Second, time.Since(began))
	})
}

// Close does not wait for a connection that nothing needs any more.
func TestCloseEndsConnecting(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "here", redlock.WithTTL(time.Hour), redlock.WithNodeTimeout(20*time.Minute))
		each(w.Masters(), (*simnet.Master).Freeze)
		out := inBackground(func() (*redlock.Lock, error) { return l.TryLock(t.Context(), "x") })
		time.Sleep(time.Minute)
		waiting(t, out)
		began := time.Now()
		require.NoError(t, l.Close())
		assert.Zero(t, time.Since(began))
		synctest.Wait()
		require.ErrorIs(t, (<-out).err, redlock.ErrClosed)
	})
}

// A call that waits says so within two seconds, although its first attempt takes a second to connect.
func TestAnOutageIsLoggedWhileConnecting(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		var log strings.Builder
		l := w.locker(t, "here", redlock.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		for _, m := range w.Masters() {
			m.BlackHole()
		}
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
