package wire_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

func TestWrapTakesAClientAsItIs(t *testing.T) {
	t.Parallel()
	const off, addr = time.Duration(-1), "10.0.0.1:6379"
	failover := func() redis.UniversalClient {
		return redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "m", SentinelAddrs: []string{"10.0.0.1:26379"}})
	}
	for what, c := range map[string]struct {
		client redis.UniversalClient
		opts   []node.Option
		name   string
		err    string
	}{
		"no retries":         {client: redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1}), name: addr},
		"retries by default": {client: redis.NewClient(&redis.Options{Addr: addr, Password: "hunter2"}), name: addr},
		"a read timeout off": {client: redis.NewClient(&redis.Options{Addr: addr, ReadTimeout: off}), name: addr},
		"a failover client":  {client: failover(), name: "sentinel"},
		"a name of its own":  {client: failover(), opts: []node.Option{node.WithName("m")}, name: "m"},
		"a cluster": {
			client: redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"10.0.0.1:1", "10.0.0.2:1"}}),
			name:   "10.0.0.1:1+10.0.0.2:1",
		},
		"a ring": {
			client: redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "10.0.0.1:1"}}), err: "*redis.Ring",
		},
		"nil":           {client: nil, err: "needs a client"},
		"a nil client":  {client: (*redis.Client)(nil), err: "needs a client"},
		"a nil cluster": {client: (*redis.ClusterClient)(nil), err: "needs a client"},
	} {
		t.Run(what, func(t *testing.T) {
			if c.err != "needs a client" {
				defer c.client.Close()
			}
			n, err := wrap(c.client, c.opts...)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				assert.Nil(t, n)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.name, n.Name())
			_, cluster := c.client.(*redis.ClusterClient)
			assert.Equal(t, cluster, n.Clustered())
			assert.Zero(t, n.Close(time.Now()))
		})
	}
}

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
			inBubbleWrapped(t, adjust, func(t *testing.T, r *rig, c *redis.Client) {
				before := *c.Options()
				r.warm()
				sets := r.m.Count("SET")
				r.m.HangUp(func(args []string) bool { return strings.EqualFold(args[0], "SET") })
				assert.Equal(t, wire.Unknown, r.ask(acquire("a", "me")).result().Verdict)
				time.Sleep(time.Minute)
				assert.Equal(t, sets+1, r.m.Count("SET"))
				r.m.HangUp(nil)
				assert.Equal(t, before.MaxRetries, c.Options().MaxRetries, "other users of the client have what they set")
				assert.Equal(t, before.ReadTimeout, c.Options().ReadTimeout)
				assert.Equal(t, before.WriteTimeout, c.Options().WriteTimeout)
				r.eventually(10*time.Second, "it works again", func() bool {
					return r.ask(acquire("b", "me")).result().Verdict == wire.Granted
				})
				r.m.Freeze()
				r.ask(acquire("c", "me")).result()
				began := time.Now()
				r.node.Close(began)
				require.NoError(t, r.group.Wait())
				assert.LessOrEqual(t, time.Since(began), 3*time.Second+100*time.Millisecond, "there is a ReadTimeout")
			})
		})
	}
}

// worlds are the two kinds of nodes.
var worlds = map[string]func(*testing.T, func(*testing.T, *rig)){
	"opened": func(t *testing.T, f func(*testing.T, *rig)) { t.Helper(); inBubble(t, f) },
	"wrapped": func(t *testing.T, f func(*testing.T, *rig)) {
		t.Helper()
		inBubbleWrapped(t, nil, func(t *testing.T, r *rig, _ *redis.Client) { t.Helper(); f(t, r) })
	},
}

// inBubbleWrapped is inBubble with a wrapped client.
func inBubbleWrapped(t *testing.T, adjust func(*redis.Options), f func(t *testing.T, r *rig, c *redis.Client)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := simnet.New(t, 1, 1)
		o := &redis.Options{
			Addr: w.Addr(0), Dialer: w.Dial, MaxRetries: -1, DialerRetries: 1, PoolSize: 3, PipelinePoolSize: -1,
			DialTimeout: 500 * time.Millisecond, ReadTimeout: time.Second, WriteTimeout: time.Second,
			DisableIdentity: true, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		}
		if adjust != nil {
			adjust(o)
		}
		c := redis.NewClient(o)
		t.Cleanup(func() { _ = c.Close() })
		n, err := wrap(c)
		require.NoError(t, err)
		f(t, bind(t, w, n), c)
	})
}

func TestAWrappedClientVotes(t *testing.T) {
	inBubbleWrapped(t, nil, func(t *testing.T, r *rig, c *redis.Client) {
		v := r.ask(acquire("a", "me"), window(guarded)).result()
		assert.Equal(t, wire.Granted, v.Verdict, "%v", v.Err)
		assert.Equal(t, r.m.RunID(), v.RunID())
		assert.Equal(t, wire.Denied, r.ask(acquire("a", "another"), window(guarded)).result().Verdict)
		assert.Equal(t, wire.Granted, r.ask(release("a", "me"), durably).result().Verdict)
		l := r.listen(channel)
		r.eventually(100*time.Millisecond, "it listens", func() bool { return l.notified.Load() == 1 })
		r.publish(channel)
		time.Sleep(time.Millisecond)
		assert.EqualValues(t, 2, l.notified.Load())
		r.node.Close(time.Now().Add(time.Second))
		require.NoError(t, r.group.Wait())
		require.NoError(t, c.Set(context.Background(), "mine", "still", 0).Err(), "the client stays its owner's")
	})
}

// The server process is replaced, and the wrapped client does not notice.
func TestAWrappedClientNoticesARestart(t *testing.T) {
	inBubbleWrapped(t, nil, func(t *testing.T, r *rig, c *redis.Client) {
		require.Equal(t, wire.Granted, r.ask(acquire("a", "me"), window(guarded)).result().Verdict)
		r.m.Info("uptime_in_seconds", "86400")
		r.m.Restart()
		began := time.Now()
		for time.Since(began) <= guarded {
			_ = c.Ping(context.Background()).Err() // the client's owner uses it, so it has a new connection
			v := r.ask(acquire(time.Now().String(), "me"), window(guarded)).result()
			require.NotEqual(t, wire.Granted, v.Verdict, "%v after the restart", time.Since(began))
			time.Sleep(200 * time.Millisecond)
		}
		time.Sleep(time.Second)
		assert.Equal(t, wire.Granted, r.ask(acquire("b", "me"), window(guarded)).result().Verdict)
	})
}

func TestAWrappedClientsFailures(t *testing.T) {
	t.Parallel()
	t.Run("refused", func(t *testing.T) {
		inBubbleWrapped(t, nil, func(t *testing.T, r *rig, c *redis.Client) {
			r.m.Refuse()
			v := r.ask(acquire("a", "me")).result()
			assert.Equal(t, wire.Failed, v.Verdict)
			assert.True(t, v.Unsent)
			assert.True(t, r.node.Suspect())
			r.m.Accept()
			r.eventually(
				2*time.Second, "the node works", func() bool { return r.ask(acquire("a", "me")).result().Verdict == wire.Granted },
			)
		})
	})
	t.Run("frozen", func(t *testing.T) {
		inBubbleWrapped(t, nil, func(t *testing.T, r *rig, c *redis.Client) {
			r.warm()
			r.m.Freeze()
			assert.Equal(t, wire.Unknown, r.ask(acquire("a", "me")).result().Verdict)
			r.ask(release("a", "me"), durably).result()
			for range 50 {
				assertNotAsked(t, r.ask(acquire("b", "me")).result(), node.ErrTimeout)
				time.Sleep(100 * time.Millisecond)
			}
			r.m.Thaw()
			r.eventually(2*time.Second, "nothing is left", func() bool { return r.m.Count("SET") > 1 && r.gone() })
			time.Sleep(5 * time.Second)
			assert.True(t, r.gone())
			assert.False(t, r.node.Suspect())
		})
	})
	t.Run("closed under the node", func(t *testing.T) {
		inBubbleWrapped(t, nil, func(t *testing.T, r *rig, c *redis.Client) {
			r.warm()
			require.NoError(t, c.Close())
			v := r.ask(acquire("a", "me")).result()
			assert.NotEqual(t, wire.Granted, v.Verdict)
			require.ErrorIs(t, v.Err, redis.ErrClosed)
			r.ask(release("a", "me"), durably).result()
			time.Sleep(10 * time.Second)
		})
	})
	t.Run("no password", func(t *testing.T) {
		inBubbleWrapped(t, nil, func(t *testing.T, r *rig, c *redis.Client) {
			r.m.RequirePassword("secret")
			v := r.ask(acquire("a", "me")).result()
			assert.Equal(t, wire.Failed, v.Verdict)
			assert.True(t, node.Permanent(v.Err), "%v", v.Err)
		})
	})
}

// The password is changed while the client runs. go-redis returns the refusal of the handshake, but leaves the commands
// of the batch without an error, as if they had been answered.
func TestARefusedHandshakeIsNoGrant(t *testing.T) {
	inBubbleWrapped(t, func(o *redis.Options) {
		o.Password = "old"
		o.ConnMaxIdleTime = time.Second
	}, func(t *testing.T, r *rig, c *redis.Client) {
		r.m.RequirePassword("old")
		r.warm()
		r.m.RequirePassword("new")
		time.Sleep(10 * time.Second) // so that the next batch needs a new connection
		for _, op := range []*wire.Op{acquire("a", "me"), release("a", "me")} {
			v := r.ask(op).result()
			assert.Equal(t, wire.Failed, v.Verdict)
			assert.True(t, v.Unsent)
			assert.True(t, node.Permanent(v.Err), "%v", v.Err)
			time.Sleep(10 * time.Second)
		}
		assert.Equal(t, 1, r.m.Count("SET"))
	})
}

func TestAWrappedClientWithoutTheRightToINFO(t *testing.T) {
	inBubbleWrapped(t, nil, func(t *testing.T, r *rig, c *redis.Client) {
		r.m.Reply("NOPERM this user has no permissions to run the 'info' command", "INFO")
		v := r.ask(acquire("a", "me"), window(guarded)).result()
		assert.Equal(t, wire.Unknown, v.Verdict)
		var identity *node.IdentityError
		require.ErrorAs(t, v.Err, &identity)
		assert.True(t, node.Permanent(v.Err))
		assert.Equal(t, wire.Granted, r.ask(acquire("b", "me")).result().Verdict, "with the guard off")
	})
}

// An INFO that fails for another reason may be allowed.
func TestAWrappedIdentityThatIsTemporarilyUnknownIsNoPermanentFailure(t *testing.T) {
	inBubbleWrapped(t, nil, func(t *testing.T, r *rig, c *redis.Client) {
		r.m.ReplyTimes(2, "LOADING Redis is loading the dataset in memory", "INFO")
		v := r.ask(acquire("a", "me"), window(guarded)).result()
		assert.Equal(t, wire.Unknown, v.Verdict, "the server is unknown")
		require.ErrorContains(t, v.Err, "LOADING")
		assert.False(t, node.Permanent(v.Err))
		assert.Equal(t, wire.Granted, r.ask(acquire("b", "me"), window(guarded)).result().Verdict)
	})
}

// Close cannot end a command on a wrapped client, but it keeps its own deadline.
func TestCloseOfABlockedWrappedClientIsBounded(t *testing.T) {
	inBubbleWrapped(t, nil, func(t *testing.T, r *rig, c *redis.Client) {
		r.warm()
		r.m.Freeze()
		a := r.ask(acquire("a", "me"))
		r.ask(release("a", "me"), durably)
		a.result()
		began := time.Now()
		assert.Equal(t, 1, r.node.Close(began.Add(300*time.Millisecond)))
		assert.Equal(t, 300*time.Millisecond, time.Since(began))
		require.NoError(t, r.group.Wait())
		assert.LessOrEqual(t, time.Since(began), time.Second+100*time.Millisecond, "the client's ReadTimeout")
	})
}
