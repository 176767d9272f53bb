package link_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/internal/testnet"
	"github.com/redlock-go/redlock/node"
)

// guarded is the restart window of these tests.
const guarded = 10 * time.Second

func set(name string) []any { return []any{"set", name, "me", "nx"} }

// trusted returns why a grant of the server that answered last does not count; nil if it does.
func trusted(l link.Link, window time.Duration) error { return l.Server().Trusted(window, time.Now()) }

// A client that repeats SET NX by itself takes its own key for another client's.
func TestAWrappedClientRepeatsNothing(t *testing.T) {
	t.Parallel()
	for what, adjust := range map[string]func(*redis.Options){
		"by default":                 func(o *redis.Options) { o.MaxRetries = 0 },
		"retries":                    func(o *redis.Options) { o.MaxRetries = 1 },
		"fewer than none":            func(o *redis.Options) { o.MaxRetries = -2 },
		"none, and no read timeout":  func(o *redis.Options) { o.ReadTimeout = -1 },
		"none, and no deadline":      func(o *redis.Options) { o.ReadTimeout, o.WriteTimeout = -2, -2 },
		"retries, no timeout at all": func(o *redis.Options) { o.MaxRetries, o.ReadTimeout, o.WriteTimeout = 3, -1, -1 },
	} {
		t.Run(what, func(t *testing.T) {
			inBubbleWrapped(t, adjust, func(t *testing.T, m *simnet.Master, c *redis.Client) {
				before := *c.Options()
				l := dial(t, wrapped(t, c))
				require.Equal(t, link.Reply{Value: "OK"}, send(l, set("warm"))[0])
				m.HangUp(func(args []string) bool { return strings.EqualFold(args[0], "SET") })
				assert.Equal(t, link.InDoubt, send(l, set("a"))[0].Result)
				time.Sleep(time.Minute)
				assert.Equal(t, 2, m.Count("SET"))
				m.HangUp(nil)
				assert.Equal(t, before.MaxRetries, c.Options().MaxRetries, "other users of the client have what they set")
				assert.Equal(t, before.ReadTimeout, c.Options().ReadTimeout)
				assert.Equal(t, before.WriteTimeout, c.Options().WriteTimeout)
				assert.Equal(t, link.Reply{Value: "OK"}, verified(t, l, set("b")...))
				m.Freeze()
				began := time.Now()
				assert.Equal(t, link.InDoubt, send(l, set("c"))[0].Result)
				assert.LessOrEqual(t, time.Since(began), 3*time.Second+100*time.Millisecond, "there is a ReadTimeout")
				m.Thaw()
			})
		})
	}
}

// The server process is replaced, and the wrapped client does not notice.
func TestAWrappedClientNoticesARestart(t *testing.T) {
	inBubbleWrapped(t, nil, func(t *testing.T, m *simnet.Master, c *redis.Client) {
		l := dial(t, wrapped(t, c))
		require.Equal(t, link.Reply{Value: "OK"}, send(l, set("a"))[0])
		require.NoError(t, trusted(l, guarded))
		assert.Equal(t, m.RunID(), l.Server().RunID)
		m.Info("uptime_in_seconds", "86400")
		m.Restart()
		began := time.Now()
		for time.Since(began) <= guarded {
			_ = c.Ping(t.Context()).Err() // the client's owner uses it, so it has a new connection
			if r := send(l, []any{"get", "b"})[0]; r.Result == link.Answered {
				require.Error(t, trusted(l, guarded), "%v after the restart", time.Since(began))
			}
			time.Sleep(200 * time.Millisecond)
		}
		time.Sleep(time.Second)
		require.Equal(t, link.Reply{Value: "OK"}, send(l, set("b"))[0])
		assert.NoError(t, trusted(l, guarded))
	})
}

func TestAWrappedClientThatCannotConnect(t *testing.T) {
	inBubbleWrapped(t, nil, func(t *testing.T, m *simnet.Master, c *redis.Client) {
		master := wrapped(t, c)
		m.Refuse()
		require.ErrorIs(t, refused(t, master), syscall.ECONNREFUSED)
		m.Accept()
		time.Sleep(2 * time.Second) // the pool tries again once a second
		require.NoError(t, refused(t, master))
		m.RequirePassword("secret")
		err := refused(t, master)
		assert.True(t, node.Permanent(err), "%v", err)
	})
}

// The password is changed while the client runs. go-redis returns the refusal of the handshake, but leaves the commands
// of the batch without an error, as if they had been answered.
func TestARefusedHandshakeIsNoReply(t *testing.T) {
	inBubbleWrapped(t, func(o *redis.Options) {
		o.Password = "old"
		o.ConnMaxIdleTime = time.Second
	}, func(t *testing.T, m *simnet.Master, c *redis.Client) {
		m.RequirePassword("old")
		l := dial(t, wrapped(t, c))
		require.Equal(t, link.Reply{Value: "OK"}, send(l, set("warm"))[0])
		m.RequirePassword("new")
		for range 2 {
			time.Sleep(10 * time.Second) // so that the next batch needs a new connection
			for _, r := range send(l, set("a"), []any{"get", "a"}) {
				assert.Equal(t, link.NotSent, r.Result)
				assert.True(t, node.Permanent(r.Err), "%v", r.Err)
			}
		}
		assert.Equal(t, 1, m.Count("SET"))
	})
}

func TestAClusterThatCannotBeReached(t *testing.T) {
	t.Parallel()
	unused, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, unused.Close())
	c := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: []string{unused.Addr().String()}, MaxRetries: -1, MaxRedirects: -1, DialerRetries: 1, ReadTimeout: time.Second,
		DialTimeout: time.Second,
	})
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	err = refused(t, wrapped(t, c))
	require.Error(t, err)
	assert.False(t, node.Permanent(err), "%v", err)
}

// go-redis hides what a server answered to its first command, such as that it has too many clients.
func TestAServerThatHangsUpOnAWrappedClient(t *testing.T) {
	t.Parallel()
	err := refused(t, wrapped(t, client(t, &redis.Options{Addr: said(t, ""), MaxRetries: -1})))
	require.ErrorContains(t, err, "without an answer")
	require.ErrorContains(t, err, "maxclients")
	assert.NotContains(t, err.Error(), "EOF")
	assert.True(t, link.HungUp(err))
}

// An INFO that fails for another reason than the user's rights may be allowed.
func TestAWrappedClientWithoutAnAnswerToINFO(t *testing.T) {
	t.Parallel()
	for reply, forbidden := range map[string]bool{
		"NOPERM this user has no permissions to run the 'info' command": true,
		"LOADING Redis is loading the dataset in memory":                false,
	} {
		t.Run(reply, func(t *testing.T) {
			inBubbleWrapped(t, nil, func(t *testing.T, m *simnet.Master, c *redis.Client) {
				m.Reply(reply, "INFO")
				l := dial(t, wrapped(t, c))
				require.Equal(t, link.Reply{Value: "OK"}, send(l, set("a"))[0])
				err := trusted(l, guarded)
				require.ErrorContains(t, err, reply)
				assert.Equal(t, forbidden, errors.As(err, new(*node.IdentityError)))
				assert.Equal(t, forbidden, node.Permanent(err))
				m.Recover()
				send(l, set("b"))
				assert.NoError(t, trusted(l, guarded))
			})
		})
	}
}

// The server of a wrapped client that does not answer PING with PONG is not Redis.
func TestAWrappedServerThatIsNotRedis(t *testing.T) {
	t.Parallel()
	srv := &testnet.Scripted{Answer: func([]string) (string, bool) { return "+OK\r\n", false }}
	c := testnet.Client(t, "10.9.9.9:6379", srv.Dial, nil)
	require.ErrorIs(t, refused(t, wrapped(t, c)), node.ErrNotRedis)
}

func TestTheUserOfAMaster(t *testing.T) {
	t.Parallel()
	credentials := func(context.Context) (user, password string, err error) { return "", "", nil }
	of := func(o redis.Options) *link.Master { return wrapped(t, client(t, &o)) }
	for want, masters := range map[string][]*link.Master{
		"default": {opened(t, "redis://10.0.0.1"), opened(t, "redis://:pw@10.0.0.1"), of(redis.Options{})},
		"me":      {opened(t, "redis://me:pw@10.0.0.1"), of(redis.Options{Username: "me", Password: "pw"})},
		"": {
			opened(t, "redis://10.0.0.1", node.WithCredentials(credentials)),
			of(redis.Options{CredentialsProviderContext: credentials}),
		},
	} {
		for i, m := range masters {
			assert.Equal(t, want, m.User, i)
			assert.False(t, m.Clustered)
		}
	}
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"10.0.0.1:1"}})
	t.Cleanup(func() { _ = cluster.Close() })
	assert.True(t, wrapped(t, cluster).Clustered)
}

// The server closed all idle connections in the pool of a wrapped client. go-redis cannot check those of a simulated
// network, just as it cannot check TLS connections.
func TestIdleConnectionsOfAWrappedClientThatWereClosedCostNoCall(t *testing.T) {
	t.Parallel()
	for name, adjust := range map[string]func(*redis.Options){
		"a stack":                nil,
		"a queue":                func(o *redis.Options) { o.PoolFIFO = true },
		"a pool for pipelines":   func(o *redis.Options) { o.PipelinePoolSize = 5 },
		"a queue for pipelines":  func(o *redis.Options) { o.PipelinePoolSize, o.PoolFIFO = 5, true },
		"a pool for one command": func(o *redis.Options) { o.PoolSize = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			inBubbleWrapped(t, adjust, func(t *testing.T, m *simnet.Master, c *redis.Client) {
				m.Delay(time.Millisecond, 0)
				l := dial(t, wrapped(t, c))
				for range 3 {
					fill(t, c)
					time.Sleep(5 * time.Second)
					m.Reset()
					time.Sleep(5 * time.Second)
					for range 5 { // in turn, over whatever connections the pool has
						assert.Equal(t, link.Reply{Value: "PONG"}, verified(t, l, "ping"))
					}
				}
			})
		})
	}
}

// pipelined sends a command over a connection for pipelines.
func pipelined(ctx context.Context, c *redis.Client) error {
	p := c.Pipeline()
	p.Echo(ctx, "x")
	_, err := p.Exec(ctx)
	return err
}

// fill makes a client's pools open as many connections as they may.
func fill(t *testing.T, c *redis.Client) {
	t.Helper()
	all := func(n int, ping func() error) {
		done := make(chan error, n)
		for range n {
			go func() { done <- ping() }()
		}
		for range n {
			<-done
		}
	}
	for range 2 { // the first time the pools drop what has ended
		all(c.Options().PoolSize, func() error { return c.Ping(t.Context()).Err() })
		all(max(c.Options().PoolSize, c.Options().PipelinePoolSize), func() error { return pipelined(t.Context(), c) })
	}
	assert.EqualValues(t, c.Options().PoolSize, c.PoolStats().IdleConns)
}

// Whatever idle connections there are, the PING of the first call is one of them, and works.
func TestHowManyPINGsTheFirstCallOfAWrappedClientCosts(t *testing.T) {
	t.Parallel()
	for _, pipelines := range []int{-1, 3} { // the size of their pool
		for name, use := range map[string]func(ctx context.Context, c *redis.Client) error{
			"no connection": func(context.Context, *redis.Client) error { return nil },
			"an idle one for commands": func(ctx context.Context, c *redis.Client) error {
				return c.Set(ctx, "x", "x", 0).Err()
			},
			"an idle one for pipelines": pipelined,
		} {
			t.Run(fmt.Sprint(name, pipelines), func(t *testing.T) {
				inBubbleWrapped(t, func(o *redis.Options) { o.PipelinePoolSize = pipelines },
					func(t *testing.T, m *simnet.Master, client *redis.Client) {
						require.NoError(t, use(t.Context(), client))
						l := dial(t, wrapped(t, client))
						for range 10 {
							require.Equal(t, link.Answered, verified(t, l, set("a")...).Result)
							time.Sleep(900 * time.Millisecond)
						}
						assert.Equal(t, 1, m.Count("PING"), "a client that is in use is not verified")
					})
			})
		}
	}
}

// The PING over an idle connection finds a silent server before the first call is sent.
func TestAWrappedClientThatWasSilentBeforeItsFirstCall(t *testing.T) {
	t.Parallel()
	for pipelines, use := range map[int]func(ctx context.Context, c *redis.Client) error{
		-1: func(ctx context.Context, c *redis.Client) error { return c.Ping(ctx).Err() },
		3:  pipelined,
	} {
		t.Run(fmt.Sprint(pipelines), func(t *testing.T) {
			inBubbleWrapped(t, func(o *redis.Options) { o.PipelinePoolSize = pipelines },
				func(t *testing.T, m *simnet.Master, c *redis.Client) {
					require.NoError(t, use(t.Context(), c))
					m.Freeze()
					began := time.Now()
					require.ErrorIs(t, refused(t, wrapped(t, c)), node.ErrTimeout)
					assert.Equal(t, time.Second, time.Since(began), "the client's ReadTimeout")
					m.Thaw()
				})
		})
	}
}
