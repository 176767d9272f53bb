package simnet_test

import (
	"context"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/simnet"
)

func TestDelayIsEachWay(t *testing.T) {
	connected(t, func(t *testing.T, w *simnet.Net, m *simnet.Master, c *redis.Client) {
		m.Delay(20*time.Millisecond, 0)
		w.Host("client").To(0).Delay(5*time.Millisecond, 10*time.Millisecond)
		for range 20 {
			start := time.Now()
			require.NoError(t, c.Ping(t.Context()).Err())
			assert.GreaterOrEqual(t, time.Since(start), 50*time.Millisecond)
			assert.Less(t, time.Since(start), 70*time.Millisecond)
		}
	})
}

func TestBlackHole(t *testing.T) {
	connected(t, func(t *testing.T, w *simnet.Net, m *simnet.Master, c *redis.Client) {
		m.BlackHole()
		require.ErrorIs(t, c.Set(within(t, time.Second), "a", "x", 0).Err(), os.ErrDeadlineExceeded)

		start := time.Now()
		_, err := w.Dial(within(t, 3*time.Second), "tcp", m.Addr())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 3*time.Second, time.Since(start))
		_, err = w.Dial(t.Context(), "tcp", m.Addr())
		require.ErrorIs(t, err, syscall.ETIMEDOUT)

		assert.Empty(t, m.Keys())
		m.Heal()
		synctest.Wait()
		assert.Equal(t, []string{"a"}, m.Keys(), "what the kernel still held arrives")
		require.NoError(t, c.Ping(within(t, 5*time.Second)).Err())
	})
}

func TestOneWayCutLosesTheAnswerOnly(t *testing.T) {
	t.Parallel()
	inBubble(t, 2, func(t *testing.T, w *simnet.Net) {
		m, h := w.Master(0), w.Host("far")
		c, other := dial(t, m, h.Dial), dial(t, m, w.Dial)
		require.NoError(t, c.Ping(t.Context()).Err())
		h.To(0).Cut(simnet.FromMaster)
		require.ErrorIs(t, c.Set(within(t, time.Second), "a", "x", 0).Err(), os.ErrDeadlineExceeded)
		assert.Equal(t, []string{"a"}, m.Keys())
		require.NoError(t, other.Ping(t.Context()).Err(), "other hosts are not cut off")
		require.NoError(t, dial(t, w.Master(1), h.Dial).Ping(t.Context()).Err(), "nor other masters")
	})
}

func TestResetLosesWhatIsOnTheWay(t *testing.T) {
	withClient(t, func(t *testing.T, w *simnet.Net, m *simnet.Master, _ *redis.Client) {
		m.Delay(50*time.Millisecond, 0)
		conn, err := w.Dial(t.Context(), "tcp", m.Addr())
		require.NoError(t, err)
		m.Freeze()
		for _, key := range []string{"a", "b"} {
			writeSet(t, conn, key)
			time.Sleep(40 * time.Millisecond)
		}
		m.Reset()
		_, err = conn.Read(make([]byte, 1))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		_, err = conn.Write([]byte("x"))
		require.ErrorIs(t, err, syscall.EPIPE)
		require.NoError(t, conn.Close())
		m.Thaw()
		time.Sleep(time.Second)
		assert.Equal(t, []string{"a"}, m.Keys())
		assert.Zero(t, m.Conns())
	})
}

func TestCloseDiscardsWhatWasNotSentIfAsked(t *testing.T) {
	t.Parallel()
	for discards, kept := range map[bool][]string{false: {"a", "b"}, true: {"a"}} {
		inBubble(t, 1, func(t *testing.T, w *simnet.Net) {
			m := w.Master(0)
			conn, err := w.Dial(t.Context(), "tcp", m.Addr())
			require.NoError(t, err)
			if discards {
				require.NoError(t, conn.(interface{ SetLinger(int) error }).SetLinger(0))
			}
			m.Freeze()
			for _, key := range []string{"a", "b"} {
				writeSet(t, conn, key)
				m.BlackHole()
			}
			require.NoError(t, conn.Close())
			m.Heal()
			time.Sleep(time.Second)
			assert.Equal(t, kept, m.Keys())
			assert.Zero(t, m.Conns())
		})
	}
}

func TestAProxyDeliversWhatTheClientWouldDiscard(t *testing.T) {
	t.Parallel()
	for healed, arrives := range map[time.Duration]time.Duration{
		100 * time.Millisecond: 200 * time.Millisecond,
		time.Second:            1400 * time.Millisecond,
		5 * time.Second:        6200 * time.Millisecond,
		10 * time.Minute:       204600*time.Millisecond + 4*2*time.Minute, // at most two minutes apart
	} {
		inBubble(t, 1, func(t *testing.T, w *simnet.Net) {
			m := w.Master(0)
			m.Proxy()
			conn, err := w.Dial(t.Context(), "tcp", m.Addr())
			require.NoError(t, err)
			require.NoError(t, conn.(interface{ SetLinger(int) error }).SetLinger(0))
			m.BlackHole()
			for _, key := range []string{"a", "b"} {
				writeSet(t, conn, key)
			}
			require.NoError(t, conn.Close())
			time.Sleep(healed)
			m.Heal()
			time.Sleep(arrives - healed - time.Millisecond)
			assert.Empty(t, m.Keys(), "healed after %v", healed)
			time.Sleep(time.Millisecond)
			synctest.Wait()
			assert.Equal(t, []string{"a", "b"}, m.Keys(), "healed after %v", healed)
			assert.Zero(t, m.Conns())
		})
	}
}

func TestRefusedMasterKeepsItsConnections(t *testing.T) {
	connected(t, func(t *testing.T, w *simnet.Net, m *simnet.Master, c *redis.Client) {
		m.Refuse()
		require.NoError(t, c.Ping(t.Context()).Err())
		start := time.Now()
		require.ErrorIs(t, dial(t, m, w.Dial).Ping(t.Context()).Err(), syscall.ECONNREFUSED)
		assert.Zero(t, time.Since(start))
		m.Accept()
		require.NoError(t, dial(t, m, w.Dial).Ping(t.Context()).Err())
	})
}

func TestLossDelaysEverythingBehindIt(t *testing.T) {
	connected(t, func(t *testing.T, _ *simnet.Net, m *simnet.Master, c *redis.Client) {
		m.Loss(0.3)
		slow := 0
		for range 100 {
			start := time.Now()
			require.NoError(t, c.Ping(t.Context()).Err())
			if time.Since(start) >= 200*time.Millisecond {
				slow++
			}
		}
		assert.InDelta(t, 51, slow, 20)
	})
}

func TestAfterALossTheNextRetransmissionArrives(t *testing.T) {
	t.Parallel()
	inBubble(t, 50, func(t *testing.T, w *simnet.Net) { // each master draws other losses
		var all sync.WaitGroup
		start := time.Now()
		for _, m := range w.Masters() {
			c, err := w.Dial(t.Context(), "tcp", m.Addr())
			require.NoError(t, err)
			m.Loss(0.8)
			all.Go(func() {
				defer c.Close()
				_, err := c.Write([]byte("*1\r\n$4\r\nPING\r\n"))
				assert.NoError(t, err)
				_, err = c.Read(make([]byte, 100))
				assert.NoError(t, err)
				assert.LessOrEqual(t, time.Since(start), 1800*time.Millisecond, "the answer")
			})
			all.Go(func() {
				c, err := w.Dial(t.Context(), "tcp", m.Addr())
				if assert.NoError(t, err) {
					assert.NoError(t, c.Close())
				}
				assert.LessOrEqual(t, time.Since(start), 1400*time.Millisecond, "the connection")
			})
		}
		time.Sleep(time.Second)
		for _, m := range w.Masters() {
			m.Loss(0)
		}
		all.Wait()
	})
}

func TestPathsThatAreBadInOneWayOnly(t *testing.T) {
	connected(t, func(t *testing.T, w *simnet.Net, m *simnet.Master, c *redis.Client) {
		var done time.Time
		w.Watch(func(e simnet.Event) { done = e.At })
		ping := func() (there, back time.Duration) {
			start := time.Now()
			assert.NoError(t, c.Ping(within(t, 5*time.Second)).Err())
			return done.Sub(start), time.Since(done)
		}
		m.DelayWay(simnet.FromMaster, 300*time.Millisecond, 0)
		there, back := ping()
		assert.Zero(t, there)
		assert.Equal(t, 300*time.Millisecond, back)
		m.Link.Heal()

		m.Trickle(simnet.ToMaster, 4, 10*time.Millisecond) // *1 $4 ping are 14 bytes: four pieces, three gaps
		there, back = ping()
		assert.Equal(t, 30*time.Millisecond, there)
		assert.Zero(t, back)
		m.Link.Heal()
		there, back = ping()
		assert.Zero(t, there+back)
	})
}

func TestConnectionsThatAreResetOrClosed(t *testing.T) {
	connected(t, func(t *testing.T, w *simnet.Net, m *simnet.Master, c *redis.Client) {
		m.ResetAtWrite()
		require.Error(t, c.Set(t.Context(), "a", "x", 0).Err())
		assert.Empty(t, m.Keys(), "it never arrived")
		conn, err := w.Dial(context.Background(), "tcp", m.Addr())
		require.NoError(t, err, "connections are accepted")
		require.NoError(t, conn.Close())
		m.Link.Heal()
		require.NoError(t, c.Ping(t.Context()).Err())

		time.Sleep(time.Millisecond) // the master sees the end of the others
		assert.Equal(t, 1, m.Conns())
		m.Disconnect()
		time.Sleep(time.Millisecond)
		assert.Zero(t, m.Conns())
		require.NoError(t, dial(t, m, w.Dial).Ping(t.Context()).Err(), "new ones are welcome")
	})
}
