package link_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/node"
)

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
