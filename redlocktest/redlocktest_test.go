package redlocktest_test

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/memnet"
	"github.com/redlock-go/redlock/internal/resp"
	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/redlocktest"
)

const patience = 5 * time.Second

func TestMain(m *testing.M) { testmain.Run(m) }

func connect(t *testing.T, m *redlocktest.Master) *redis.Client {
	t.Helper()
	opts, err := redis.ParseURL(m.URL())
	require.NoError(t, err)
	opts.MaxRetries, opts.DialerRetries = -1, 1
	opts.ContextTimeoutEnabled = true
	opts.Dialer = dial
	opts.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	c := redis.NewClient(opts)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// dial reaches masters of both kinds.
func dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if dial := memnet.Find(addr); dial != nil {
		return dial(ctx, network, addr)
	}
	return new(net.Dialer).DialContext(ctx, network, addr)
}

type start = func(testing.TB, int) []*redlocktest.Master

// onBoth is a parallel test with masters behind sockets, and in a bubble with masters in virtual time.
func onBoth(t *testing.T, f func(t *testing.T, start start)) {
	t.Helper()
	t.Parallel()
	t.Run("sockets", func(t *testing.T) {
		t.Parallel()
		f(t, redlocktest.Start)
	})
	t.Run("virtual", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) { f(t, redlocktest.StartVirtual) })
	})
}

func ping(t *testing.T, c *redis.Client, d time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	return c.Ping(ctx).Err()
}

func uptimeAndID(t *testing.T, c *redis.Client) (up, id string) {
	t.Helper()
	text, err := c.Info(t.Context(), "server").Result()
	require.NoError(t, err)
	info := resp.ParseInfo(text)
	return info["uptime_in_seconds"], info["run_id"]
}

func TestMastersAreSeparateAndMayVoteAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, start start) {
		masters := start(t, 3)
		require.Len(t, masters, 3)
		ids := map[string]bool{}
		for i, m := range masters {
			c := connect(t, m)
			won, err := c.SetNX(t.Context(), "name", "token", time.Minute).Result()
			require.NoError(t, err)
			assert.True(t, won, "master %d", i)
			up, id := uptimeAndID(t, c)
			seconds, err := strconv.Atoi(up)
			require.NoError(t, err)
			assert.InDelta(t, 2592000, seconds, 60)
			ids[id] = true
			assert.Equal(t, m.URL(), redlocktest.URLs(masters)[i])
		}
		assert.Len(t, ids, 3)
	})
}

func TestStopAndStart(t *testing.T) {
	onBoth(t, func(t *testing.T, start start) {
		m := start(t, 1)[0]
		c := connect(t, m)
		require.NoError(t, c.Set(t.Context(), "name", "token", 0).Err())
		_, before := uptimeAndID(t, c)

		m.Stop()
		require.Error(t, ping(t, c, patience), "the connection has ended")
		require.ErrorContains(t, ping(t, connect(t, m), patience), "refused")

		m.Start()
		require.Eventually(t, func() bool { return ping(t, c, patience) == nil }, patience, time.Millisecond)
		assert.Zero(t, c.DBSize(t.Context()).Val())
		require.NoError(t, c.Set(t.Context(), "name", "token", 0).Err())
		m.Start() // a running master
		assert.EqualValues(t, 1, c.DBSize(t.Context()).Val())
		up, after := uptimeAndID(t, c)
		assert.Len(t, up, 1, "young again")
		assert.NotEqual(t, before, after)
	})
}

func TestFreezeAndThaw(t *testing.T) {
	onBoth(t, func(t *testing.T, start start) {
		m := start(t, 1)[0]
		c := connect(t, m)
		require.NoError(t, ping(t, c, patience))
		// Commands that touch no data are not executed either.
		commands := [][]any{{"INFO"}, {"TIME"}, {"PUBLISH", "news", "x"}, {"EVAL", "return 1", 0}}
		clients := make([]*redis.Client, len(commands))
		for i := range clients {
			clients[i] = connect(t, m)
			require.NoError(t, ping(t, clients[i], patience))
		}

		m.Freeze()
		answers := make(chan error, len(commands))
		for i, command := range commands {
			go func() { answers <- clients[i].Do(t.Context(), command...).Err() }()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // enough to send it on a busy machine
		defer cancel()
		var silence net.Error
		require.ErrorAs(t, c.Set(ctx, "ghost", "token", time.Minute).Err(), &silence)
		assert.True(t, silence.Timeout())
		require.ErrorAs(t, ping(t, c, 100*time.Millisecond), &silence, "on a new connection")
		assert.True(t, silence.Timeout())
		require.Empty(t, answers)

		thawed := time.Now()
		m.Thaw()
		require.NoError(t, ping(t, c, patience))
		executed := func() bool { return c.Exists(t.Context(), "ghost").Val() == 1 }
		require.Eventually(t, executed, patience, time.Millisecond, "although its sender has left")
		left := c.PTTL(t.Context(), "ghost").Val() + time.Since(thawed)
		assert.Greater(t, left, time.Minute-10*time.Millisecond, "the TTL begins at the execution")
		for range commands {
			require.NoError(t, <-answers)
		}
	})
}

func TestWipe(t *testing.T) {
	onBoth(t, func(t *testing.T, start start) {
		m := start(t, 1)[0]
		c := connect(t, m)
		require.NoError(t, c.Set(t.Context(), "name", "token", 0).Err())
		_, before := uptimeAndID(t, c)

		m.Wipe()

		assert.Zero(t, c.DBSize(t.Context()).Val())
		require.NoError(t, c.Set(t.Context(), "name", "token", 0).Err())
		m.Freeze()
		set := make(chan error, 1)
		go func() { set <- c.Set(t.Context(), "new", "token", 0).Err() }()
		time.Sleep(100 * time.Millisecond) // most likely it is sent now
		m.Wipe()                           // takes effect as it thaws, before what was sent
		m.Thaw()
		require.NoError(t, <-set)
		assert.Equal(t, []string{"new"}, c.Keys(t.Context(), "*").Val())
		m.Freeze()
		m.Thaw()
		assert.EqualValues(t, 1, c.DBSize(t.Context()).Val(), "it is wiped once")
		up, after := uptimeAndID(t, c)
		assert.Equal(t, before, after)
		assert.Len(t, up, len("2592000"), "no restart, which a guard would see")
	})
}

// fails runs f with a testing.TB that only remembers why it failed.
func fails(t *testing.T, f func(testing.TB)) string {
	t.Helper()
	rec := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(rec)
	}()
	<-done
	return rec.why
}

type recorder struct {
	testing.TB
	why string
}

func (r *recorder) Errorf(format string, args ...any) { r.why = fmt.Sprintf(format, args...) }

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func TestWhatFailsTheTest(t *testing.T) {
	t.Parallel()
	type testCase struct {
		mistake func(testing.TB)
		why     string
	}
	cases := map[string]testCase{
		"no masters":     {func(tb testing.TB) { redlocktest.Start(tb, 0) }, "redlocktest: embedded: 0 masters"},
		"an even number": {func(tb testing.TB) { redlocktest.NewLocker(tb, 2) }, "redlocktest: "},
		"a bad option": {
			func(tb testing.TB) { redlocktest.NewLocker(tb, 3, redlock.WithTTL(-time.Second)) }, "TTL -1s",
		},
		"a refusal of two lines": {func(tb testing.TB) { redlocktest.Start(tb, 1)[0].Refuse("ERR\r\n+OK") }, "one line"},
		"no bubble":              {func(tb testing.TB) { redlocktest.StartVirtual(tb, 3) }, "synctest.Test"},
	}
	for name, tc := range cases {
		assert.Contains(t, fails(t, tc.mistake), tc.why, name)
	}
	synctest.Test(t, func(t *testing.T) {
		assert.Contains(t, fails(t, func(tb testing.TB) { redlocktest.StartVirtual(tb, 0) }), "0 masters")
	})
}

func TestMastersEndWithTheirTest(t *testing.T) {
	t.Parallel()
	var all []*redlocktest.Master
	leave := func(t *testing.T, start start) {
		t.Helper()
		m := start(t, 3)
		m[1].Freeze()
		m[2].Stop()
		all = append(all, m...)
	}
	t.Run("sockets", func(t *testing.T) { leave(t, redlocktest.Start) })
	synctest.Test(t, func(t *testing.T) { leave(t, redlocktest.StartVirtual) })
	for _, m := range all {
		require.ErrorContains(t, ping(t, connect(t, m), patience), "refused")
		for _, change := range []func(){
			m.Stop, m.Start, m.Freeze, m.Thaw, m.Wipe, func() { m.Slow(1) }, func() { m.Refuse("ERR") },
			func() { m.Hold("name", 0) }, func() { m.Release("name") },
		} {
			change() // no master, nothing to do, and no failure of a test that has passed
		}
		require.ErrorContains(t, ping(t, connect(t, m), patience), "refused")
	}
	_, err := open(t, all[3:]).TryLock(t.Context(), "name")
	require.ErrorIs(t, err, redlock.ErrNoQuorum)
}
