package simnet_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/simnet"
)

func TestAKilledHostSendsNoMoreAndItsConnectionsEnd(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, w *simnet.Net) {
		m, h := w.Master(0), w.Host("victim")
		c := dial(t, m, h.Dial)
		require.NoError(t, c.Set(t.Context(), "a", "before", 0).Err())
		m.DelayWay(simnet.ToMaster, 10*time.Millisecond, 0)
		answers := make(chan error, 2)
		set := func(value string) { answers <- c.Set(within(t, time.Second), "a", value, 0).Err() }
		go set("on its way")
		time.Sleep(time.Millisecond)
		h.Kill()
		go set("after")
		h.Thaw()
		time.Sleep(time.Second)
		assert.Equal(t, "on its way", m.Get("a"), "a kernel sends what it was given")
		assert.Zero(t, m.Conns())
		assert.True(t, h.Frozen(), "the dead do not thaw")
		h.Drain()
		require.Error(t, <-answers)
		require.Error(t, <-answers)
		_, err := h.Dial(t.Context(), "tcp", m.Addr())
		require.ErrorContains(t, err, "network is down")
		assert.Equal(t, "on its way", m.Get("a"))
	})
}

// A box in between resets the connections of somebody who is dead, and what he wrote while he was frozen is never sent.
func TestTheConnectionsOfAHostThatWasKilledWhileItWasFrozenEnd(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, w *simnet.Net) {
		m, h := w.Master(0), w.Host("victim")
		c := dial(t, m, h.Dial)
		require.NoError(t, c.Set(t.Context(), "a", "before", 0).Err())
		h.Freeze()
		answer := make(chan error, 1)
		go func() { answer <- c.Set(within(t, time.Second), "a", "frozen", 0).Err() }()
		time.Sleep(time.Millisecond)
		m.BlackHole()
		h.Kill()
		m.Reset()
		m.Link.Heal()
		time.Sleep(time.Second)
		assert.Zero(t, m.Conns())
		assert.Equal(t, "before", m.Get("a"))
		h.Drain()
		require.Error(t, <-answer)
	})
}

func TestAnImageBringsTheDataBack(t *testing.T) {
	t.Parallel()
	inBubble(t, 2, func(t *testing.T, w *simnet.Net) {
		m := w.Master(0)
		c := dial(t, m, w.Dial)
		ctx := t.Context()
		require.NoError(t, c.Set(ctx, "text", "1", 3*time.Second).Err())
		require.NoError(t, c.ZAdd(ctx, "set", redis.Z{Score: 2, Member: "m"}).Err())
		require.NoError(t, c.HSet(ctx, "hash", "f", "v").Err())
		require.NoError(t, c.Set(ctx, "brief", "x", time.Second).Err())
		image := m.Image()
		require.NoError(t, c.Set(ctx, "text", "2", 0).Err())
		require.NoError(t, c.Set(ctx, "later", "x", 0).Err())
		time.Sleep(2 * time.Second)
		for _, to := range w.Masters() {
			to.Load(image)
			assert.Equal(t, []string{"hash", "set", "text"}, to.Keys())
			assert.Equal(t, "1", to.Get("text"))
			assert.Equal(t, time.Second, to.TTL("text"))
			assert.Zero(t, to.TTL("set"))
		}
		score, err := c.ZScore(ctx, "set", "m").Result()
		require.NoError(t, err)
		assert.InDelta(t, 2, score, 0)
		assert.Equal(t, "v", c.HGet(ctx, "hash", "f").Val())
	})
}

func TestPathsThatAreBadInOneWayOnly(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, w *simnet.Net) {
		m := w.Master(0)
		c := dial(t, m, w.Dial)
		require.NoError(t, c.Ping(t.Context()).Err())
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
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, w *simnet.Net) {
		m := w.Master(0)
		c := dial(t, m, w.Dial)
		require.NoError(t, c.Ping(t.Context()).Err())
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
