package redlocktest_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/redlocktest"
)

func TestASlowMasterAnswersLate(t *testing.T) {
	onBoth(t, func(t *testing.T, start start) {
		const late = 100 * time.Millisecond
		m := start(t, 1)[0]
		c := connect(t, m)
		took := func(c *redis.Client) time.Duration {
			began := time.Now()
			assert.NoError(t, ping(t, c, patience))
			return time.Since(began)
		}
		took(c)

		m.Slow(late)
		assert.GreaterOrEqual(t, took(c), late)
		assert.GreaterOrEqual(t, took(connect(t, m)), late, "on a new connection")
		m.Stop()
		m.Start()
		c = connect(t, m)
		assert.GreaterOrEqual(t, took(c), late, "after a restart")

		// A busy machine may delay answers, too.
		together := func() bool {
			began := time.Now()
			_, err := c.Pipelined(t.Context(), func(p redis.Pipeliner) error {
				for i := range 20 {
					p.Set(t.Context(), "key", i, 0)
				}
				return nil
			})
			assert.NoError(t, err)
			took := time.Since(began)
			assert.GreaterOrEqual(t, took, late)
			return took < 10*late
		}
		require.Eventually(t, together, patience, look, "20 commands at once")

		m.Slow(0)
		took(c)
		require.Eventually(t, func() bool { return took(c) < late }, patience, look)
	})
}

func TestNothingOvertakesWhatIsLate(t *testing.T) {
	onBoth(t, func(t *testing.T, start start) {
		m := start(t, 1)[0]
		conn, err := dial(t.Context(), "tcp", strings.TrimPrefix(m.URL(), "redis://"))
		require.NoError(t, err)
		defer conn.Close()
		m.Slow(200 * time.Millisecond)
		_, err = conn.Write([]byte("*2\r\n$4\r\nPING\r\n$5\r\nfirst\r\n"))
		require.NoError(t, err)
		time.Sleep(50 * time.Millisecond) // it is answered meanwhile; if not, the test shows nothing
		m.Slow(0)
		_, err = conn.Write([]byte("*2\r\n$4\r\nPING\r\n$6\r\nsecond\r\n"))
		require.NoError(t, err)
		const both = "$5\r\nfirst\r\n$6\r\nsecond\r\n"
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
		answer := make([]byte, len(both))
		_, err = io.ReadFull(conn, answer)
		require.NoError(t, err)
		assert.Equal(t, both, string(answer))
	})
}

func TestASlowMasterExecutesInTime(t *testing.T) {
	onBoth(t, func(t *testing.T, start start) {
		masters := start(t, 3)
		locker := open(t, masters, redlock.WithTTL(time.Minute), redlock.WithNodeTimeout(2*time.Second))
		lock, err := locker.Lock(t.Context(), "name")
		require.NoError(t, err)
		require.Eventually(t, func() bool { return votes(t, locker) == 3 }, patience, look)
		require.NoError(t, lock.Unlock(t.Context()))

		masters[0].Slow(4 * time.Second)
		masters[1].Slow(4 * time.Second)
		_, err = locker.TryLock(t.Context(), "name")
		require.ErrorIs(t, err, redlock.ErrNoQuorum)
		masters[1].Slow(0)
		ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
		defer cancel()
		require.NoError(t, locker.Do(ctx, "name", nothing))
	})
}

func TestARefusalIsTheAnswerToEverything(t *testing.T) {
	onBoth(t, func(t *testing.T, start start) {
		const text = "OOM command not allowed"
		m := start(t, 1)[0]
		c := connect(t, m)
		ctx := t.Context()
		script := redis.NewScript(`return redis.call("SET", KEYS[1], "x")`)
		require.NoError(t, script.Load(ctx, c).Err())

		m.Refuse("LOADING soon")
		m.Refuse(text)
		for what, err := range map[string]error{
			"a write":          c.Set(ctx, "key", "x", 0).Err(),
			"a read":           c.Get(ctx, "key").Err(),
			"a script":         script.EvalSha(ctx, c, []string{"key"}).Err(),
			"INFO":             c.Info(ctx).Err(),
			"a new connection": connect(t, m).Ping(ctx).Err(),
		} {
			assert.ErrorContains(t, err, text, what)
		}
		m.Stop()
		m.Start()
		c = connect(t, m)
		require.ErrorContains(t, ping(t, c, patience), text, "it outlasts a restart")

		m.Hold("held", time.Minute)
		m.Refuse("")
		require.NoError(t, ping(t, c, patience))
		assert.Equal(t, []string{"held"}, c.Keys(ctx, "*").Val(), "no command was executed; Hold is none")
	})
}

func TestAWrongPasswordEndsTheWaiting(t *testing.T) {
	onBoth(t, func(t *testing.T, start start) {
		masters := start(t, 3)
		connected, fresh := open(t, masters), open(t, masters)
		require.NoError(t, connected.Do(t.Context(), "another", nothing))
		for _, m := range masters[:2] {
			m.Refuse("WRONGPASS invalid username-password pair")
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		for name, locker := range map[string]*redlock.Locker{"connected": connected, "fresh": fresh} {
			_, err := locker.Lock(ctx, "name")
			require.ErrorIs(t, err, redlock.ErrNoQuorum, name)
			require.ErrorContains(t, err, "WRONGPASS", name)
			require.NoError(t, ctx.Err(), "%s: Lock does not wait for a person", name)
		}
		for _, m := range masters {
			m.Refuse("")
		}
		locks := func() bool { return fresh.Do(ctx, "name", nothing) == nil }
		require.Eventually(t, locks, patience, look, "the failure is remembered for a moment")
	})
}

func TestAnotherClientHoldsTheName(t *testing.T) {
	onBoth(t, func(t *testing.T, start start) {
		const ttl = 3 * time.Second
		masters := start(t, 3)
		locker := open(t, masters, redlock.WithNodeTimeout(2*time.Second))
		masters[0].Hold("name", ttl)
		lock, err := locker.TryLock(t.Context(), "name")
		require.NoError(t, err, "a minority is not enough")
		require.NoError(t, lock.Unlock(t.Context()))

		began := time.Now()
		masters[1].Hold("name", ttl)
		masters[0].Hold("name", ttl)
		_, err = locker.TryLock(t.Context(), "name")
		require.ErrorIs(t, err, redlock.ErrHeld)
		holding, err := locker.Inspect(t.Context(), "name")
		require.NoError(t, err)
		require.Len(t, holding.Holders, 1)
		assert.Equal(t, 2, holding.Holders[0].Votes, "one holder")
		assert.Contains(t, holding.Holders[0].Token, "somebody else:")

		lock, err = locker.Lock(t.Context(), "name")
		require.NoError(t, err)
		assert.GreaterOrEqual(t, time.Since(began), ttl)
		require.NoError(t, lock.Unlock(t.Context()))
	})
}

func TestAReleaseWakesTheWaiters(t *testing.T) {
	onBoth(t, func(t *testing.T, start start) {
		masters := start(t, 3)
		locker := open(t, masters, redlock.WithRetry(time.Minute, time.Minute))
		for _, m := range masters {
			m.Hold("name", 0)
			assert.EqualValues(t, -1, connect(t, m).PTTL(t.Context(), "name").Val(), "without an end")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
		defer cancel()
		got := make(chan error, 1)
		go func() { got <- locker.Do(ctx, "name", nothing) }()
		listens := func(m *redlocktest.Master) bool {
			return connect(t, m).PubSubNumSub(ctx, "redlock:name").Val()["redlock:name"] == 1
		}
		for _, m := range masters {
			require.Eventually(t, func() bool { return listens(m) }, patience, look)
		}
		require.Empty(t, got)
		masters[0].Release("name")
		masters[1].Release("name")
		require.NoError(t, <-got)
	})
}

func TestHoldTakesTheNameFromItsHolder(t *testing.T) {
	onBoth(t, func(t *testing.T, start start) {
		masters := start(t, 3)
		locker := open(t, masters, redlock.WithTTL(time.Minute), redlock.WithNodeTimeout(5*time.Second),
			redlock.WithoutKeepalive())
		for kind, lock := range map[string]func(context.Context, string) (*redlock.Lock, error){
			"mutex":  func(ctx context.Context, name string) (*redlock.Lock, error) { return locker.Lock(ctx, name) },
			"reader": func(ctx context.Context, name string) (*redlock.Lock, error) { return locker.RW(name).RLock(ctx) },
			"owner": func(ctx context.Context, name string) (*redlock.Lock, error) {
				return locker.Reentrant(name, "me").Lock(ctx)
			},
		} {
			lock, err := lock(t.Context(), kind)
			require.NoError(t, err, kind)
			for _, m := range masters {
				m.Hold(kind, time.Minute)
			}
			require.ErrorIs(t, lock.Extend(t.Context()), redlock.ErrLost, kind)
			_, err = locker.TryLock(t.Context(), kind)
			require.ErrorIs(t, err, redlock.ErrHeld, kind)
		}
	})
}

func TestAFrozenMasterHoldsAndReleasesAsItThaws(t *testing.T) {
	onBoth(t, func(t *testing.T, start start) {
		m := start(t, 1)[0]
		c := connect(t, m)
		require.NoError(t, c.Set(t.Context(), "old", "x", 0).Err())

		m.Freeze()
		m.Hold("new", time.Minute)
		m.Release("old")
		time.Sleep(50 * time.Millisecond) // not part of the TTL
		thawed := time.Now()
		m.Thaw()
		left := c.PTTL(t.Context(), "new").Val() + time.Since(thawed)
		assert.Greater(t, left, time.Minute-10*time.Millisecond)
		assert.Zero(t, c.Exists(t.Context(), "old").Val())

		m.Freeze()
		m.Hold("lost", time.Minute)
		m.Stop()
		m.Hold("lost too", time.Minute)
		m.Start()
		require.Eventually(t, func() bool { return ping(t, c, patience) == nil }, patience, time.Millisecond)
		m.Freeze()
		m.Thaw()
		assert.Zero(t, c.DBSize(t.Context()).Val(), "it was stopped")
	})
}
