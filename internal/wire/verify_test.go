package wire_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

// opaque is the connection of a tunnel: its socket cannot be checked, and it supports no deadlines.
type opaque struct{ net.Conn }

var errNoDeadline = errors.New("deadlines are not supported")

func (opaque) SetDeadline(time.Time) error      { return errNoDeadline }
func (opaque) SetReadDeadline(time.Time) error  { return errNoDeadline }
func (opaque) SetWriteDeadline(time.Time) error { return errNoDeadline }

// tunnel dials connections that are opaque.
func tunnel(dial node.Dialer) node.Dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return opaque{c}, nil
	}
}

// inTunnel is inBubble through a tunnel.
func inTunnel(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := simnet.New(t, 1, 1)
		f(t, newRig(t, w, w.Master(0).URL(), node.WithDialer(tunnel(w.Dial))))
	})
}

func TestAnIdleTunnelThatWasClosedCostsNoCall(t *testing.T) {
	inTunnel(t, func(t *testing.T, r *rig) {
		r.m.Delay(time.Millisecond, 0)
		r.warm()
		for i := range 3 {
			time.Sleep(2 * time.Second)
			r.m.Reset()
			time.Sleep(2 * time.Second)
			a, b := r.ask(acquire(token(i), "me")), r.ask(release(token(i), "me"), durably)
			assert.Equal(t, wire.Granted, a.result().Verdict, "%v", a.vote.Err)
			assert.Equal(t, wire.Granted, b.result().Verdict, "%v", b.vote.Err)
		}
		assert.Empty(t, r.healthReports(), "the master is not suspect")
		assert.Equal(t, 4+comparing, r.m.ConnsEver())
		time.Sleep(time.Minute)
		assert.Equal(t, 4, r.m.Count("EVALSHA"), "no release is repeated, since no call was in doubt")
	})
}

func TestABusyTunnelIsNotVerified(t *testing.T) {
	inTunnel(t, func(t *testing.T, r *rig) {
		r.warm()
		assert.Zero(t, r.m.Count("PING"), "the connection is new")
		for i := range 10 {
			time.Sleep(900 * time.Millisecond)
			require.Equal(t, wire.Granted, r.ask(acquire(token(i), "me")).result().Verdict)
		}
		assert.Zero(t, r.m.Count("PING"))
		time.Sleep(1100 * time.Millisecond)
		require.Equal(t, wire.Granted, r.ask(acquire("a", "me")).result().Verdict)
		assert.Equal(t, 1, r.m.Count("PING"))
		assert.Equal(t, 1+comparing, r.m.ConnsEver())
	})
}

// A PING without a reply delays calls no longer than their deadlines. They are certainly not executed.
func TestAnIdleTunnelThatIsSilentIsReplaced(t *testing.T) {
	inTunnel(t, func(t *testing.T, r *rig) {
		r.warm()
		time.Sleep(2 * time.Second)
		r.m.BlackHole()
		v := r.ask(acquire("a", "me")).result()
		assert.Equal(t, wire.Failed, v.Verdict)
		assert.True(t, v.Unsent)
		require.ErrorIs(t, v.Err, node.ErrTimeout)
		assert.True(t, r.node.Suspect())
		time.Sleep(10 * time.Second)
		r.m.Heal()
		r.eventually(
			3*time.Second, "the node works", func() bool { return r.ask(acquire("b", "me")).result().Verdict.Answered() },
		)
		time.Sleep(ttl / 2)
		assert.Equal(t, []string{"b"}, r.m.Keys())
	})
}

// Calls that arrive while a PING is in flight are sent after it, in one batch.
func TestCallsWaitForThePing(t *testing.T) {
	inTunnel(t, func(t *testing.T, r *rig) {
		r.m.Delay(20*time.Millisecond, 0) // a far master, whose batches overlap
		r.warm()
		time.Sleep(2 * time.Second)
		a := r.ask(acquire("a", "me"))
		time.Sleep(10 * time.Millisecond)
		b := r.ask(acquire("b", "me"))
		assert.Equal(t, wire.Granted, a.result().Verdict)
		assert.Equal(t, wire.Granted, b.result().Verdict)
		sets := r.executed()
		require.Len(t, sets, 3)
		assert.Equal(t, sets[1].At, sets[2].At)
	})
}

// The server may also have closed a connection that was never used.
func TestAnUnusedTunnelIsVerified(t *testing.T) {
	inTunnel(t, func(t *testing.T, r *rig) {
		r.m.Delay(timeout, 0) // the connection is there when the call is over
		assert.Equal(t, wire.Failed, r.ask(acquire("a", "me")).result().Verdict)
		time.Sleep(5 * time.Second)
		require.Equal(t, 1+comparing, r.m.ConnsEver())
		r.m.Delay(0, 0)
		r.m.Reset()
		time.Sleep(time.Second)
		v := r.ask(acquire("b", "me")).result()
		assert.Equal(t, wire.Granted, v.Verdict, "%v", v.Err)
	})
}

func TestCloseEndsAPingThatGetsNoAnswer(t *testing.T) {
	inTunnel(t, func(t *testing.T, r *rig) {
		r.warm()
		time.Sleep(2 * time.Second)
		r.m.Freeze()
		a := r.ask(acquire("a", "me"))
		r.ask(release("a", "me"), durably)
		synctest.Wait()
		began := time.Now()
		assert.Equal(t, 1, r.node.Close(began.Add(50*time.Millisecond)))
		require.NoError(t, r.group.Wait())
		assert.Equal(t, 50*time.Millisecond, time.Since(began))
		assert.True(t, a.result().Unsent)
	})
}

func TestListenWorksOverATunnel(t *testing.T) {
	inTunnel(t, func(t *testing.T, r *rig) {
		l := r.listen(channel)
		r.eventually(time.Second, "the subscription begins", func() bool { return l.notified.Load() == 1 })
		r.publish(channel)
		r.eventually(time.Second, "a message", func() bool { return l.notified.Load() == 2 })
	})
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
			inBubbleWrapped(t, adjust, func(t *testing.T, r *rig, c *redis.Client) {
				r.m.Delay(time.Millisecond, 0)
				for i := range 3 {
					fill(t, c)
					time.Sleep(5 * time.Second)
					r.m.Reset()
					time.Sleep(5 * time.Second)
					for range 5 { // in turn, over whatever connections the pool has
						v := r.ask(acquire(token(i), "me")).result()
						assert.Equal(t, wire.Granted, v.Verdict, "%v", v.Err)
						v = r.ask(release(token(i), "me")).result()
						assert.Equal(t, wire.Granted, v.Verdict, "%v", v.Err)
					}
				}
				assert.Empty(t, r.healthReports())
			})
		})
	}
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
		all(max(c.Options().PoolSize, c.Options().PipelinePoolSize), func() error {
			p := c.Pipeline()
			p.Ping(t.Context())
			_, err := p.Exec(t.Context())
			return err
		})
	}
	require.EqualValues(t, c.Options().PoolSize, c.PoolStats().IdleConns)
}

// A wrapped client that is silent delays a call no longer than the call's deadline.
func TestAnIdleWrappedClientThatIsSilent(t *testing.T) {
	inBubbleWrapped(t, nil, func(t *testing.T, r *rig, c *redis.Client) {
		r.warm()
		time.Sleep(5 * time.Second)
		r.m.Freeze()
		v := r.ask(acquire("a", "me")).result()
		assert.Equal(t, wire.Failed, v.Verdict)
		assert.True(t, v.Unsent)
		time.Sleep(10 * time.Second)
		assert.True(t, r.node.Suspect())
		r.m.Thaw()
		r.eventually(
			3*time.Second, "the node works", func() bool { return r.ask(acquire("b", "me")).result().Verdict.Answered() },
		)
		assert.Equal(t, []string{"b"}, r.m.Keys())
	})
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
			"an idle one for pipelines": func(ctx context.Context, c *redis.Client) error {
				p := c.Pipeline()
				p.Set(ctx, "x", "x", 0)
				_, err := p.Exec(ctx)
				return err
			},
		} {
			t.Run(fmt.Sprint(name, pipelines), func(t *testing.T) {
				inBubbleWrapped(t, func(o *redis.Options) { o.PipelinePoolSize = pipelines },
					func(t *testing.T, r *rig, client *redis.Client) {
						require.NoError(t, use(t.Context(), client))
						require.Equal(t, wire.Granted, r.ask(acquire("a", "me")).result().Verdict)
						assert.Equal(t, 1, r.m.Count("PING"))
						for range 10 {
							time.Sleep(900 * time.Millisecond)
							require.Equal(t, wire.Denied, r.ask(acquire("a", "me")).result().Verdict)
						}
						assert.Equal(t, 1, r.m.Count("PING"), "a client that is in use is not verified")
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
		3: func(ctx context.Context, c *redis.Client) error {
			p := c.Pipeline()
			p.Ping(ctx)
			_, err := p.Exec(ctx)
			return err
		},
	} {
		t.Run(fmt.Sprint(pipelines), func(t *testing.T) {
			inBubbleWrapped(t, func(o *redis.Options) { o.PipelinePoolSize = pipelines },
				func(t *testing.T, r *rig, c *redis.Client) {
					require.NoError(t, use(t.Context(), c))
					r.m.Freeze()
					v := r.ask(acquire("a", "me"), within(10*time.Second)).result()
					require.ErrorIs(t, v.Err, node.ErrTimeout)
					assert.True(t, v.Unsent)
					assert.Equal(t, time.Second, v.Took, "the client's ReadTimeout")
					r.m.Thaw()
				})
		})
	}
}
