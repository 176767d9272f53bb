package simnet_test

import (
	"context"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// inBubble runs f in a bubble with a world of n masters.
func inBubble(t *testing.T, n int, f func(t *testing.T, w *simnet.Net)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		f(t, simnet.New(t, 1, n))
	})
}

type dialer func(context.Context, string, string) (net.Conn, error)

// dial returns a go-redis client as package node sets it up.
func dial(t *testing.T, m *simnet.Master, d dialer) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{
		Addr: m.Addr(), Dialer: d,
		Protocol: 2, PoolSize: 1, PipelinePoolSize: -1, MaxRetries: -1, DialerRetries: 1,
		DialTimeout: 300 * time.Millisecond, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second,
		ContextTimeoutEnabled: true, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// withClient runs f in a bubble with a master and a client of it.
func withClient(t *testing.T, f func(t *testing.T, w *simnet.Net, m *simnet.Master, c *redis.Client)) {
	t.Helper()
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, w *simnet.Net) {
		t.Helper()
		f(t, w, w.Master(0), dial(t, w.Master(0), w.Dial))
	})
}

// connected is withClient with a client that has a connection.
func connected(t *testing.T, f func(t *testing.T, w *simnet.Net, m *simnet.Master, c *redis.Client)) {
	t.Helper()
	withClient(t, func(t *testing.T, w *simnet.Net, m *simnet.Master, c *redis.Client) {
		t.Helper()
		require.NoError(t, c.Ping(t.Context()).Err())
		f(t, w, m, c)
	})
}

// writeSet writes SET key x to a connection.
func writeSet(t *testing.T, conn net.Conn, key string) {
	t.Helper()
	_, err := conn.Write([]byte("*3\r\n$3\r\nSET\r\n$1\r\n" + key + "\r\n$1\r\nx\r\n"))
	require.NoError(t, err)
}

var within = testmain.Within

func TestAForeignKeyWithoutATTLStays(t *testing.T) {
	withClient(t, func(t *testing.T, _ *simnet.Net, m *simnet.Master, _ *redis.Client) {
		m.Set("a", "foreign", 0)
		time.Sleep(time.Hour)
		assert.Equal(t, "foreign", m.Get("a"))
		m.Set("a", "foreign", time.Second)
		time.Sleep(time.Second)
		assert.Empty(t, m.Get("a"))
		m.Set("a", "foreign", time.Second)
		m.Set("a", "foreign", 0)
		time.Sleep(time.Hour)
		assert.Equal(t, "foreign", m.Get("a"), "setting it takes a TTL away, as Redis does")
	})
}

func TestWritesBlockWhenTheBufferIsFull(t *testing.T) {
	withClient(t, func(t *testing.T, w *simnet.Net, m *simnet.Master, _ *redis.Client) {
		conn, err := w.Dial(t.Context(), "tcp", m.Addr())
		require.NoError(t, err)
		defer func() { _ = conn.Close() }()
		m.Freeze()
		require.NoError(t, conn.SetWriteDeadline(time.Now().Add(time.Second)))
		line := []byte("*1\r\n$4\r\nPING\r\n")
		sent := 0
		for err == nil {
			var n int
			n, err = conn.Write(line)
			sent += n
		}
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		assert.GreaterOrEqual(t, sent, simnet.Buffer)
		assert.Less(t, sent, 2*simnet.Buffer)
		m.Thaw()
		_, err = io.ReadFull(conn, make([]byte, sent/len(line)*len("+PONG\r\n")))
		require.NoError(t, err)
	})
}

func TestCrashLosesEverything(t *testing.T) {
	withClient(t, func(t *testing.T, _ *simnet.Net, m *simnet.Master, c *redis.Client) {
		require.NoError(t, c.Set(t.Context(), "a", "x", 0).Err())
		require.NoError(t, c.ScriptLoad(t.Context(), "return 1").Err())
		before := m.RunID()
		assert.Contains(t, c.Info(t.Context(), "server").Val(), "run_id:"+before)
		assert.Contains(t, c.Info(t.Context(), "server").Val(), "uptime_in_seconds:86400")

		m.Crash()
		require.ErrorIs(t, c.Ping(t.Context()).Err(), syscall.ECONNRESET)
		require.ErrorIs(t, c.Ping(t.Context()).Err(), syscall.ECONNREFUSED)
		m.Restart()
		time.Sleep(2500 * time.Millisecond)
		require.NoError(t, c.Ping(within(t, 5*time.Second)).Err())
		assert.Empty(t, m.Keys())
		assert.NotEqual(t, before, m.RunID())
		info := c.Info(t.Context(), "server").Val()
		assert.Contains(t, info, "run_id:"+m.RunID())
		assert.Contains(t, info, "uptime_in_seconds:2\r\n")
		assert.NotContains(t, info, "role:")
		assert.Contains(t, c.Info(t.Context()).Val(), "role:master")
		assert.Equal(t, []bool{false}, c.ScriptExists(t.Context(), "e0e1f9fabfc9d4800c877a703b823ac0578ff8db").Val())
	})
}

func TestEvictedKeysAreGone(t *testing.T) {
	withClient(t, func(t *testing.T, _ *simnet.Net, m *simnet.Master, _ *redis.Client) {
		m.Set("count:a", "1", 0)
		m.Set("count:b", "2", time.Minute)
		m.Set("lock:a", "me", time.Minute)
		id := m.RunID()
		m.Evict("count:")
		assert.Equal(t, []string{"lock:a"}, m.Keys())
		assert.Equal(t, id, m.RunID(), "it is the same server")
	})
}

func TestCrashOfAFrozenMasterLosesWhatItHadNotRead(t *testing.T) {
	connected(t, func(t *testing.T, _ *simnet.Net, m *simnet.Master, c *redis.Client) {
		m.Freeze()
		require.Error(t, c.Set(within(t, time.Second), "a", "x", 0).Err())
		m.Restart()
		time.Sleep(time.Minute)
		assert.Empty(t, m.Keys())
		assert.Zero(t, m.Conns())
	})
}

func TestStoppedMasterKeepsItsData(t *testing.T) {
	withClient(t, func(t *testing.T, _ *simnet.Net, m *simnet.Master, _ *redis.Client) {
		m.Set("short", "x", time.Second)
		m.Set("long", "x", time.Minute)
		m.Stop()
		time.Sleep(2 * time.Second)
		m.Restart()
		assert.Equal(t, []string{"long"}, m.Keys())
		assert.Equal(t, 58*time.Second, m.TTL("long"))
	})
}

func TestPasswordGuardsInfoToo(t *testing.T) {
	withClient(t, func(t *testing.T, w *simnet.Net, m *simnet.Master, _ *redis.Client) {
		m.RequirePassword("secret")
		c := dial(t, m, w.Dial)
		require.ErrorContains(t, c.Info(t.Context(), "server").Err(), "NOAUTH")
		m.Restart()
		require.ErrorIs(t, c.Ping(t.Context()).Err(), syscall.ECONNRESET)
		require.ErrorContains(t, c.Get(t.Context(), "a").Err(), "NOAUTH")
	})
}

func TestMasterClock(t *testing.T) {
	withClient(t, func(t *testing.T, _ *simnet.Net, m *simnet.Master, c *redis.Client) {
		left := func() time.Duration { return c.PTTL(t.Context(), "a").Val() }
		m.Set("a", "x", 10*time.Second)
		m.Rate(2)
		time.Sleep(time.Second)
		assert.Equal(t, 8*time.Second, left())
		m.Rate(1)
		m.Jump(3 * time.Second)
		assert.Equal(t, 5*time.Second, left())
		m.Jump(-20 * time.Second)
		assert.Equal(t, 25*time.Second, left())
		time.Sleep(time.Second)
		assert.Equal(t, 24*time.Second, left())
		assert.Contains(t, c.Info(t.Context(), "server").Val(), "uptime_in_seconds:86386\r\n")
		m.Jump(24 * time.Second)
		assert.Empty(t, m.Keys())
		now := c.Time(t.Context()).Val()
		assert.WithinDuration(t, m.Now(), now, time.Microsecond)
	})
}

func TestTwoAddressesOfOneServer(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, w *simnet.Net) {
		w.Alias("10.0.0.9:6379", 0)
		conn, err := w.Dial(t.Context(), "tcp", "10.0.0.9:6379")
		require.NoError(t, err)
		_, err = conn.Write([]byte("SET a x\r\nQUIT\r\n"))
		require.NoError(t, err)
		answer, err := io.ReadAll(conn)
		require.NoError(t, err)
		assert.Equal(t, "+OK\r\n+OK\r\n", string(answer))
		assert.Equal(t, []string{"a"}, w.Master(0).Keys())
		require.NoError(t, conn.Close())

		_, err = w.Dial(t.Context(), "tcp", "10.9.9.9:6379")
		require.ErrorIs(t, err, syscall.EHOSTUNREACH)
	})
}

func TestFrozenHostNeitherReadsNorWrites(t *testing.T) {
	withClient(t, func(t *testing.T, w *simnet.Net, m *simnet.Master, _ *redis.Client) {
		h := w.Host("client")
		c := dial(t, m, h.Dial)
		require.NoError(t, c.Ping(t.Context()).Err())
		h.Freeze()
		start := time.Now()
		done := make(chan error)
		go func() { done <- c.Set(context.Background(), "a", "x", 0).Err() }()
		time.Sleep(5 * time.Second)
		assert.Empty(t, m.Keys())
		assert.Equal(t, start, h.Clock().Now())
		time.AfterFunc(0, h.Thaw)
		h.AwaitThaw()
		require.NoError(t, <-done)
		assert.Equal(t, 5*time.Second, time.Since(start))
		assert.Equal(t, []string{"a"}, m.Keys())
		assert.Equal(t, time.Now(), h.Clock().Now())
	})
}

type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Errorf(format string, _ ...any) { r.errors = append(r.errors, format) }

func TestConnectionsLeftOpenAreReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{TB: t}
		t.Cleanup(func() { assert.Len(t, r.errors, 1) })
		w := simnet.New(r, 1, 1)
		_, err := w.Dial(t.Context(), "tcp", w.Addr(0))
		require.NoError(t, err)
		conn, err := w.Dial(t.Context(), "tcp", w.Addr(0))
		require.NoError(t, err)
		assert.Equal(t, 2, w.Open())
		require.NoError(t, conn.Close())
		assert.Equal(t, 1, w.Open())
	})
}
