package simnet_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/simnet"
)

func TestAKilledHostSendsNoMoreAndItsConnectionsEnd(t *testing.T) {
	withClient(t, func(t *testing.T, w *simnet.Net, m *simnet.Master, _ *redis.Client) {
		h := w.Host("victim")
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
	withClient(t, func(t *testing.T, w *simnet.Net, m *simnet.Master, _ *redis.Client) {
		h := w.Host("victim")
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
