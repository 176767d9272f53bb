package wire_test

import (
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/embedded"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/wire"
)

func TestTheZoneOfAURL(t *testing.T) {
	t.Parallel()
	for url, zone := range map[string]string{
		"redis://h:1":                              "",
		"redis://h:1?zone=":                        "",
		"redis://h:1?zone=eu-1a":                   "eu-1a",
		"rediss://me:p%40ss@h:1/3?db=3&zone=a%20b": "a b",
		"unix:///run/redis.sock?zone=here":         "here",
	} {
		n, err := open(url)
		require.NoError(t, err, url)
		assert.Equal(t, zone, n.Zone(), url)
		n.Close(time.Now())
	}
	_, err := open("redis://h:1?zone=a&zone=b")
	require.ErrorContains(t, err, "2 zones")
}

// A Connection executes commands and subscribes, over one network connection that ends with the node.
func TestAConnectionOfItsOwn(t *testing.T) {
	t.Parallel()
	server := redisproc.ForTest(t, 1)[0]
	opened, err := open(server.URL())
	require.NoError(t, err)
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1})
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	wrapped, err := wrap(client)
	require.NoError(t, err)
	ctx := t.Context()
	for name, n := range map[string]*wire.Node{"opened": opened, "wrapped": wrapped} {
		c := n.Connect()
		id, err := c.Do(ctx, "client", "id")
		require.NoError(t, err, name)
		again, err := c.Do(ctx, "client", "id")
		require.NoError(t, err, name)
		assert.Equal(t, id, again, "%s: one connection", name)
		missing, err := c.Do(ctx, "get", "x")
		require.NoError(t, err, name)
		assert.Nil(t, missing)
		answers := c.DoAll(ctx, [][]any{{"ping"}, {"incr"}, {"echo", "x"}})
		assert.Equal(t, "PONG", answers[0].Reply)
		assert.True(t, wire.IsReply(answers[1].Err), "%v", answers[1].Err)
		assert.Equal(t, "x", answers[2].Reply)
		assert.Equal(t, map[string]string{"opened": "127.0.0.1", "wrapped": ""}[name], c.Remote())
		c.Close()

		s := n.Connect()
		require.NoError(t, s.Subscribe(ctx, "redlock:x"), name)
		s.Close()
	}
	c := opened.Connect()
	_, err = c.Do(ctx, "ping")
	require.NoError(t, err)
	opened.Close(time.Now())
	require.Eventually(t, func() bool {
		_, err = c.Do(context.Background(), "ping")
		return err != nil
	}, 10*time.Second, time.Millisecond, "the connection ends with the node")
	assert.False(t, wire.IsReply(err))
	c.Close()
	wrapped.Close(time.Now())
}

// The same on a server in this process.
func TestAConnectionToAnEmbeddedServer(t *testing.T) {
	t.Parallel()
	m, err := embedded.Open()
	require.NoError(t, err)
	t.Cleanup(m.Close)
	n, err := open(m.URL())
	require.NoError(t, err)
	client := redis.NewClient(&redis.Options{Addr: m.Addr(), MaxRetries: -1, Protocol: 2})
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	wrapped, err := wrap(client)
	require.NoError(t, err)
	ctx := t.Context()
	for remote, n := range map[string]*wire.Node{"127.0.0.1": n, "": wrapped} {
		c := n.Connect()
		assert.Empty(t, c.Remote(), "the first command dials")
		missing, err := c.Do(ctx, "get", "x")
		require.NoError(t, err)
		assert.Nil(t, missing)
		answers := c.DoAll(ctx, [][]any{{"ping"}, {"incr"}, {"get", "x"}, {"echo", "x"}})
		assert.Equal(t, wire.Answer{Reply: "PONG"}, answers[0])
		assert.True(t, wire.IsReply(answers[1].Err), "%v", answers[1].Err)
		assert.Equal(t, wire.Answer{}, answers[2])
		assert.Equal(t, wire.Answer{Reply: "x"}, answers[3])
		assert.Equal(t, remote, c.Remote())
		c.Close()
		_, err = c.Do(ctx, "ping")
		require.Error(t, err)
		assert.False(t, wire.IsReply(err))
	}
	wrapped.Close(time.Now())

	s := n.Connect()
	require.NoError(t, s.Subscribe(ctx, "redlock:x"))
	open := n.Connect()
	_, err = open.Do(ctx, "ping")
	require.NoError(t, err)
	n.Close(time.Now())
	require.Eventually(t, func() bool {
		_, err = open.Do(context.Background(), "ping")
		return err != nil
	}, 10*time.Second, time.Millisecond, "the connection ends with the node")
	require.Error(t, n.Connect().Subscribe(context.Background(), "redlock:x"))
}

// go-redis does not set a handshake's error on the commands of a pipeline.
func TestEveryAnswerHasTheErrorOfTheHandshake(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	m.RequireAuth("right")
	client := redis.NewClient(&redis.Options{Addr: m.Addr(), MaxRetries: -1, Protocol: 2, Password: "wrong"})
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	wrapped, err := wrap(client)
	require.NoError(t, err)
	c := wrapped.Connect()
	for _, answer := range c.DoAll(t.Context(), [][]any{{"ping"}, {"get", "x"}}) {
		assert.ErrorContains(t, answer.Err, "WRONGPASS")
	}
	c.Close()
	wrapped.Close(time.Now())
}

// Arguments returns what runs on a master without the script.
func TestArgumentsOfAnOperation(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []any{"set", "k", "v"}, wire.Command("x", nil, "set", "k", "v").Arguments())
	s := wire.NewScript("return 1")
	assert.Equal(t, []any{"eval", "return 1", "1", "k", "7"}, s.Op("x", nil, []string{"k"}, 7).Arguments())
	assert.Equal(t, "12", s.Op("x", nil, make([]string, 12)).Arguments()[2])
}
