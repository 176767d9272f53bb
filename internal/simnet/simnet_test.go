package simnet_test

import (
	"context"
	"io"
	"net"
	"os"
	"sync"
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

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestAForeignKeyWithoutATTLStays(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, w *simnet.Net) {
		m := w.Master(0)
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

func TestDelayIsEachWay(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, w *simnet.Net) {
		m := w.Master(0)
		c := dial(t, m, w.Dial)
		require.NoError(t, c.Ping(t.Context()).Err())
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

func TestFrozenMasterExecutesLater(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, w *simnet.Net) {
		m := w.Master(0)
		c := dial(t, m, w.Dial)
		require.NoError(t, c.Ping(t.Context()).Err())
		m.Freeze()
		start := time.Now()
		set := redis.SetArgs{Mode: "NX", TTL: 2 * time.Second}
		err := c.SetArgs(within(t, 100*time.Millisecond), "a", "ghost", set).Err()
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		assert.Equal(t, 100*time.Millisecond, time.Since(start))
		// go-redis closed that connection; a new one is accepted, and not answered.
		require.ErrorIs(t, c.Ping(within(t, 100*time.Millisecond)).Err(), os.ErrDeadlineExceeded)
		require.NoError(t, c.Close())

		time.Sleep(time.Minute)
		assert.Empty(t, m.Keys())
		m.Thaw()
		synctest.Wait()
		assert.Equal(t, []string{"a"}, m.Keys(), "what lay in the buffer is executed")
		assert.Equal(t, 2*time.Second, m.TTL("a"), "and its TTL starts now")
		assert.Zero(t, m.Conns())
	})
}

func TestThawedMasterKeepsTheOrder(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, w *simnet.Net) {
		m := w.Master(0)
		c := dial(t, m, w.Dial)
		require.NoError(t, c.Ping(t.Context()).Err())
		m.Freeze()
		done := make(chan struct{})
		go func() {
			defer close(done)
			p := c.Pipeline()
			p.SetNX(context.Background(), "a", "me", time.Minute)
			p.Del(context.Background(), "a")
			p.Set(context.Background(), "b", "after", 0)
			_, err := p.Exec(context.Background())
			assert.NoError(t, err)
		}()
		time.Sleep(9 * time.Second)
		m.Thaw()
		<-done
		assert.Equal(t, []string{"b"}, m.Keys())
	})
}

func TestWritesBlockWhenTheBufferIsFull(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, w *simnet.Net) {
		m := w.Master(0)
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
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, w *simnet.Net) {
		m := w.Master(0)
		c := dial(t, m, w.Dial)
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
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, w *simnet.Net) {
		m := w.Master(0)
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
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, w *simnet.Net) {
		m := w.Master(0)
		c := dial(t, m, w.Dial)
		require.NoError(t, c.Ping(t.Context()).Err())
		m.Freeze()
		require.Error(t, c.Set(within(t, time.Second), "a", "x", 0).Err())
		m.Restart()
		time.Sleep(time.Minute)
		assert.Empty(t, m.Keys())
		assert.Zero(t, m.Conns())
	})
}

func TestStoppedMasterKeepsItsData(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, w *simnet.Net) {
		m := w.Master(0)
		m.Set("short", "x", time.Second)
		m.Set("long", "x", time.Minute)
		m.Stop()
		time.Sleep(2 * time.Second)
		m.Start()
		assert.Equal(t, []string{"long"}, m.Keys())
		assert.Equal(t, 58*time.Second, m.TTL("long"))
	})
}

func TestBlackHole(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, w *simnet.Net) {
		m := w.Master(0)
		c := dial(t, m, w.Dial)
		require.NoError(t, c.Ping(t.Context()).Err())
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
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, w *simnet.Net) {
		m := w.Master(0)
		m.Delay(50*time.Millisecond, 0)
		conn, err := w.Dial(t.Context(), "tcp", m.Addr())
		require.NoError(t, err)
		m.Freeze()
		for _, key := range []string{"a", "b"} {
			_, err = conn.Write([]byte("*3\r\n$3\r\nSET\r\n$1\r\n" + key + "\r\n$1\r\nx\r\n"))
			require.NoError(t, err)
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
				_, err = conn.Write([]byte("*3\r\n$3\r\nSET\r\n$1\r\n" + key + "\r\n$1\r\nx\r\n"))
				require.NoError(t, err)
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
				_, err = conn.Write([]byte("*3\r\n$3\r\nSET\r\n$1\r\n" + key + "\r\n$1\r\nx\r\n"))
				require.NoError(t, err)
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
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, w *simnet.Net) {
		m := w.Master(0)
		c := dial(t, m, w.Dial)
		require.NoError(t, c.Ping(t.Context()).Err())
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
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, w *simnet.Net) {
		m := w.Master(0)
		c := dial(t, m, w.Dial)
		require.NoError(t, c.Ping(t.Context()).Err())
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

func TestInjectedErrors(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, w *simnet.Net) {
		m := w.Master(0)
		c := dial(t, m, w.Dial)
		m.ReplyTimes(1, "LOADING Redis is loading the dataset in memory", "SET")
		require.EqualError(t, c.Set(t.Context(), "a", "x", 0).Err(), "LOADING Redis is loading the dataset in memory")
		require.NoError(t, c.Set(t.Context(), "a", "x", 0).Err())

		m.Reply("READONLY You can't write against a read only replica.", "SET", "DEL")
		m.Info("role", "slave")
		require.ErrorContains(t, c.Set(t.Context(), "a", "x", 0).Err(), "READONLY")
		require.NoError(t, c.Get(t.Context(), "a").Err())
		err := c.Eval(t.Context(), `return redis.call("DEL", KEYS[1])`, []string{"a"}).Err()
		require.Error(t, err)
		assert.Regexp(t, "^READONLY You can't", err.Error())
		assert.Contains(t, c.Info(t.Context()).Val(), "role:slave")
		m.Recover()
		require.NoError(t, c.Del(t.Context(), "a").Err())

		m.Reply("NOPERM this user has no permissions to run the 'publish' command", "PUBLISH")
		err = c.Eval(t.Context(), `redis.pcall("PUBLISH", "x", "y") return 7`, nil).Err()
		require.NoError(t, err)

		m.Heal()
		m.Info("run_id", "")
		assert.NotContains(t, c.Info(t.Context()).Val(), "run_id")
	})
}

func TestPasswordGuardsInfoToo(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, w *simnet.Net) {
		m := w.Master(0)
		m.RequirePassword("secret")
		c := dial(t, m, w.Dial)
		require.ErrorContains(t, c.Info(t.Context(), "server").Err(), "NOAUTH")
		m.Restart()
		require.ErrorIs(t, c.Ping(t.Context()).Err(), syscall.ECONNRESET)
		require.ErrorContains(t, c.Get(t.Context(), "a").Err(), "NOAUTH")
	})
}

func TestMasterClock(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, w *simnet.Net) {
		m := w.Master(0)
		c := dial(t, m, w.Dial)
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
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, w *simnet.Net) {
		m, h := w.Master(0), w.Host("client")
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

func TestScriptsAreKnownUntilTheyAreFlushed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := simnet.New(t, 1, 1)
		c := dial(t, w.Master(0), w.Dial)
		const text = "redis.call('SET', KEYS[1], ARGV[1]); return {redis.call('GET', KEYS[1]), " +
			"redis.pcall('NONSENSE')['err'] ~= nil}"
		script := redis.NewScript(text)
		ctx := t.Context()
		require.ErrorContains(t, script.EvalSha(ctx, c, []string{"k"}, "v").Err(), "NOSCRIPT")
		for range 2 {
			reply, err := script.Run(ctx, c, []string{"k"}, "v").Result()
			require.NoError(t, err)
			assert.Equal(t, []any{"v", int64(1)}, reply)
		}
		assert.Equal(t, []bool{true}, script.Exists(ctx, c).Val())
		assert.ErrorContains(t, c.Eval(ctx, "x = 1", nil).Err(), "global variable")
		assert.ErrorContains(t, c.Eval(ctx, "return y", nil).Err(), "global variable")
		assert.ErrorContains(t, c.Eval(ctx, "return redis.call('INCR', 'k')", nil).Err(), "not an integer")
		require.NoError(t, c.ScriptFlush(ctx).Err())
		assert.Equal(t, []bool{false}, script.Exists(ctx, c).Val())
		assert.ErrorContains(t, script.EvalSha(ctx, c, []string{"k"}, "v").Err(), "NOSCRIPT")
		require.NoError(t, c.ScriptLoad(ctx, text).Err())
		assert.NoError(t, script.EvalSha(ctx, c, []string{"k"}, "v").Err())
	})
}

// What string.match and string.find returned is remembered, as long as it is for the same text and pattern.
func TestScriptsMatchAgainAsTheyMatchedFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := simnet.New(t, 1, 1)
		c := dial(t, w.Master(0), w.Dial)
		const text = "local a, b = string.match(ARGV[1], ARGV[2]); return {tostring(a), tostring(b)}"
		for range 2 {
			for _, m := range []struct{ text, pattern, first, second string }{
				{"12:34", "^(%d+):?(%d*)$", "12", "34"},
				{"12", "^(%d+):?(%d*)$", "12", ""},
				{"none", "^(%d+):?(%d*)$", "nil", "nil"},
				{"12", "^(%d)%d*$", "1", "nil"},
				{"12", "%d*", "12", "nil"},
				{"12", "()2()", "2", "3"},
			} {
				reply, err := c.Eval(t.Context(), text, nil, m.text, m.pattern).StringSlice()
				require.NoError(t, err)
				assert.Equal(t, []string{m.first, m.second}, reply, "%q in %q", m.pattern, m.text)
			}
		}
		assert.Equal(t, "2", c.Eval(t.Context(), "return string.match('12', '%d', 2)", nil).Val(), "from the second one on")
		for range 2 {
			const find = "return {string.find('a12', '(%d)', 3) or 0, string.find('a12', '(%d)')}"
			reply, err := c.Eval(t.Context(), find, nil).Result()
			require.NoError(t, err)
			assert.Equal(t, []any{int64(3), int64(2), int64(2), "1"}, reply, "string.find")
			assert.Equal(t, int64(2), c.Eval(t.Context(), "return string.find('a.2', '.', 1, true)", nil).Val(), "plain")
		}
	})
}
