package link_test

import (
	"context"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/embedded"
	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/replyerr"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/internal/testnet"
	"github.com/redlock-go/redlock/node"
)

// A Connection executes commands and subscribes, over one network connection that ends with the node.
func TestAConnectionOfItsOwn(t *testing.T) {
	t.Parallel()
	testmain.Each(t, map[string]func(t *testing.T) (url string){
		"a server": func(t *testing.T) string { t.Helper(); return redisproc.ForTest(t, 1)[0].URL() },
		"a server in this process": func(t *testing.T) string {
			t.Helper()
			m, err := embedded.Open("")
			require.NoError(t, err)
			t.Cleanup(m.Close)
			return m.URL()
		},
	}, func(t *testing.T, start func(t *testing.T) string) {
		url, ctx := start(t), t.Context()
		over := func(protocol int) *link.Master {
			options, err := redis.ParseURL(url)
			require.NoError(t, err)
			options.MaxRetries, options.Protocol = -1, protocol
			return wrapped(t, client(t, options))
		}
		node, end := context.WithCancel(ctx)
		open := opened(t, url)
		for _, m := range []*link.Master{open, over(2), over(3)} {
			c := m.Connect(node)
			assert.Empty(t, c.Remote(), "the first command dials")
			_, err := c.Do(ctx, "client", "setname", "me")
			require.NoError(t, err)
			called, err := c.Do(ctx, "client", "getname")
			require.NoError(t, err)
			assert.Equal(t, "me", called, "one connection")
			missing, err := c.Do(ctx, "get", "x")
			require.NoError(t, err)
			assert.Nil(t, missing)
			answers := c.DoAll(ctx, [][]any{
				{"ping"}, {"incr"}, {"get", "x"}, {"echo", "x"}, {"hset", "h", "a", "b"}, {"hgetall", "h"},
			})
			assert.Equal(t, link.Answer{Reply: "PONG"}, answers[0])
			assert.True(t, replyerr.Is(answers[1].Err), "%v", answers[1].Err)
			assert.Equal(t, link.Answer{}, answers[2])
			assert.Equal(t, link.Answer{Reply: "x"}, answers[3])
			assert.Equal(t, link.Answer{Reply: []any{"a", "b"}}, answers[5], "in protocol 3 it is a map")
			if m == open {
				assert.Equal(t, "127.0.0.1", c.Remote())
			} else {
				assert.Empty(t, c.Remote())
			}
			c.Close()
			_, err = c.Do(ctx, "ping")
			require.Error(t, err)
			assert.False(t, replyerr.Is(err))

			s := m.Connect(node)
			require.NoError(t, s.Subscribe(ctx, "redlock:x"))
			s.Close()
		}
		c := open.Connect(node)
		_, err := c.Do(ctx, "ping")
		require.NoError(t, err)
		end()
		require.Eventually(t, func() bool {
			_, err = c.Do(context.Background(), "ping")
			return err != nil
		}, 10*time.Second, time.Millisecond, "the connection ends with its context")
		assert.False(t, replyerr.Is(err))
		require.Error(t, open.Connect(node).Subscribe(context.Background(), "redlock:x"))
	})
}

// go-redis does not set a handshake's error on the commands of a pipeline.
func TestEveryAnswerHasTheErrorOfTheHandshake(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	m.RequireAuth("right")
	o := &redis.Options{Addr: m.Addr(), MaxRetries: -1, Protocol: 2, Password: "wrong"}
	c := wrapped(t, client(t, o)).Connect(t.Context())
	for _, answer := range c.DoAll(t.Context(), [][]any{{"ping"}, {"get", "x"}}) {
		assert.ErrorContains(t, answer.Err, "WRONGPASS")
	}
	c.Close()
}

// The wait for each reply is bounded, not the wait for all.
func TestAConnectionWaitsForEachReply(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := &testnet.Scripted{Answer: func([]string) (string, bool) {
			time.Sleep(2 * time.Second)
			return "+OK\r\n", false
		}}
		c := opened(t, "redis://10.9.9.9", node.WithDialer(srv.Dial)).Connect(t.Context())
		defer c.Close()
		for _, answer := range c.DoAll(t.Context(), [][]any{{"a"}, {"b"}, {"c"}}) {
			assert.Equal(t, link.Answer{Reply: "OK"}, answer)
		}
	})
}

func TestASubscriptionThatIsRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, s *simnet.Master, m *link.Master) {
		s.Reply("NOPERM this user has no permissions to access the channel", "SUBSCRIBE")
		c := m.Connect(t.Context())
		defer c.Close()
		err := c.Subscribe(t.Context(), "a")
		require.ErrorContains(t, err, "NOPERM")
		assert.True(t, replyerr.Is(err))
	})
}

func TestABrokenConnectionOfItsOwnIsNotReplaced(t *testing.T) {
	inBubble(t, func(t *testing.T, s *simnet.Master, m *link.Master) {
		c := m.Connect(t.Context())
		defer c.Close()
		_, err := c.Do(t.Context(), "ping")
		require.NoError(t, err)
		s.Reset()
		for range 2 {
			_, err = c.Do(t.Context(), "ping")
			require.Error(t, err)
		}
		s.Refuse()
		refused := m.Connect(t.Context())
		defer refused.Close()
		_, err = refused.Do(t.Context(), "ping")
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
	})
}
