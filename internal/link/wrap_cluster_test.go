package link_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/node"
)

// shards is a wrapped Cluster of three simulated masters.
type shards struct {
	link.Link
	t      *testing.T
	master *link.Master
	client *redis.ClusterClient
	all    []*simnet.Master
	names  int // how many names were acquired
}

// inShards runs f with a Cluster whose masters have been up for a day.
func inShards(t *testing.T, f func(t *testing.T, s *shards)) {
	t.Helper()
	inShardsOf(t, nil, f)
}

// inShardsOf is inShards with other options of the client.
func inShardsOf(t *testing.T, adjust func(*redis.ClusterOptions), f func(t *testing.T, s *shards)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		const n, slots = 3, 16384
		w := simnet.New(t, 1, n)
		o := &redis.ClusterOptions{
			MaxRetries: -1, MaxRedirects: -1, Dialer: w.Dial, DialerRetries: 1, PoolSize: 2, PipelinePoolSize: -1,
			DialTimeout: 500 * time.Millisecond, ReadTimeout: time.Second, WriteTimeout: time.Second,
			DisableIdentity: true, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
			ClusterSlots: func(context.Context) (all []redis.ClusterSlot, _ error) {
				for i, m := range w.Masters() {
					all = append(all, redis.ClusterSlot{
						Start: i * slots / n, End: (i+1)*slots/n - 1, Nodes: []redis.ClusterNode{{Addr: m.Addr()}},
					})
				}
				return all, nil
			},
		}
		for _, m := range w.Masters() {
			o.Addrs = append(o.Addrs, m.Addr())
		}
		if adjust != nil {
			adjust(o)
		}
		c := redis.NewClusterClient(o)
		t.Cleanup(func() { _ = c.Close() })
		m := wrapped(t, c)
		f(t, &shards{Link: dial(t, m), t: t, master: m, client: c, all: w.Masters()})
	})
}

// each does something to every master.
func (s *shards) each(change func(*simnet.Master)) {
	for _, m := range s.all {
		change(m)
	}
}

// readTimeout is that of a client whose user set none.
const readTimeout = 3 * time.Second

// set sets a new name.
func (s *shards) set() link.Reply {
	s.t.Helper()
	s.names++
	return verified(s.t, s, set(fmt.Sprint("name-", s.names))...)
}

// trusted sets a new name, and returns why that does not count within a restart window of d.
func (s *shards) trusted(d time.Duration) error {
	s.t.Helper()
	require.Equal(s.t, link.Reply{Value: "OK"}, s.set())
	return trusted(s, d)
}

// A Cluster's client that repeats requests by itself is not used for them. Its copy ends with the node.
func TestAWrappedClusterRepeatsNothing(t *testing.T) {
	t.Parallel()
	testmain.Each(t, map[string]func(*redis.ClusterOptions){
		"nothing set":   nil,
		"by default":    func(o *redis.ClusterOptions) { o.MaxRetries, o.MaxRedirects = 0, 0 },
		"retries":       func(o *redis.ClusterOptions) { o.MaxRetries = 2 },
		"redirects":     func(o *redis.ClusterOptions) { o.MaxRedirects = 2 },
		"no timeout":    func(o *redis.ClusterOptions) { o.ReadTimeout = -1 },
		"none of these": func(o *redis.ClusterOptions) { o.MaxRetries, o.MaxRedirects, o.ReadTimeout = 3, 3, -2 },
	}, func(t *testing.T, adjust func(*redis.ClusterOptions)) {
		inShardsOf(t, adjust, func(t *testing.T, s *shards) {
			before := *s.client.Options()
			require.NoError(t, s.trusted(guarded))
			sets := 0
			for _, m := range s.all {
				sets += m.Count("SET")
				m.HangUp(func(args []string) bool { return strings.EqualFold(args[0], "SET") })
			}
			assert.Equal(t, link.InDoubt, s.set().Result)
			time.Sleep(time.Minute)
			for _, m := range s.all {
				sets -= m.Count("SET")
				m.HangUp(nil)
			}
			assert.Equal(t, -1, sets, "one more")
			require.NoError(t, s.trusted(guarded), "it works again")
			assert.Equal(t, before.MaxRedirects, s.client.Options().MaxRedirects)
			s.each((*simnet.Master).Freeze)
			began := time.Now()
			assert.Equal(t, link.InDoubt, s.set().Result)
			assert.LessOrEqual(t, time.Since(began), 2*readTimeout, "there is a ReadTimeout, of the batch and of INFO")
			s.each((*simnet.Master).Thaw)
			s.master.Close()
			require.NoError(t, s.client.Set(t.Context(), "mine", "still", 0).Err(), "the client stays its owner's")
		})
	})
}

// The Cluster is the same, no matter which shard answers first.
func TestTheIdentityOfAClusterDoesNotDependOnTheOrderOfAnswers(t *testing.T) {
	t.Parallel()
	inShards(t, func(t *testing.T, s *shards) {
		require.NoError(t, s.trusted(0))
		identity := s.Server().RunID
		require.Equal(t, 2, strings.Count(identity, "+"), identity)
		for first := range s.all {
			for i, m := range s.all {
				m.Delay(time.Duration((i-first+len(s.all))%len(s.all)+1)*time.Millisecond, 0)
			}
			for range 3 {
				assert.NoError(t, s.trusted(guarded))
				assert.Equal(t, identity, s.Server().RunID)
			}
		}
		s.all[1].Restart()
		for range 10 { // the pools drop what has ended
			s.set()
		}
		assert.NotContains(t, []string{"", identity}, s.Server().RunID, "the Cluster is another")
		require.ErrorAs(t, s.trusted(guarded), new(*node.RestartError))
	})
}

// A PING without an answer shows that no batch may be sent.
func TestAClusterThatIsSilent(t *testing.T) {
	t.Parallel()
	inShards(t, func(t *testing.T, s *shards) {
		require.NoError(t, s.trusted(0))
		s.each((*simnet.Master).Freeze)
		time.Sleep(2 * time.Second)
		require.Equal(t, link.Unverified, s.State())
		require.NoError(t, s.Verify())
		replies, err := s.Receive()
		require.NoError(t, err)
		require.Len(t, replies, 1)
		assert.Equal(t, link.InDoubt, replies[0].Result)
		s.each((*simnet.Master).Thaw)
	})
}

// After an idle time each shard has closed its connections. No call of any shard uses a closed one.
func TestIdleConnectionsOfAClusterThatWereClosedCostNoCall(t *testing.T) {
	t.Parallel()
	inShards(t, func(t *testing.T, s *shards) {
		for range 3 {
			for _, m := range s.all {
				m.Delay(time.Millisecond, 0) // so that each pool gets its two connections
			}
			require.NoError(t, s.client.ForEachMaster(t.Context(), func(_ context.Context, c *redis.Client) error {
				fill(t, c)
				return nil
			}))
			time.Sleep(5 * time.Second)
			s.each((*simnet.Master).Reset)
			time.Sleep(5 * time.Second)
			for range 10 {
				assert.NoError(t, s.trusted(guarded))
			}
		}
		for _, m := range s.all {
			assert.Positive(t, m.Count("SET"), "no name belongs to %s", m.Addr())
		}
	})
}

// The batches of a Cluster run in goroutines of its client, one for each server.
func TestAWrappedClusterThatPanics(t *testing.T) {
	t.Parallel()
	inShards(t, func(t *testing.T, s *shards) {
		require.NoError(t, s.trusted(0))
		s.client.OnNewNode(func(c *redis.Client) { c.AddHook(panicking{}) })
		require.NoError(t, s.client.ForEachMaster(t.Context(), func(_ context.Context, c *redis.Client) error {
			c.AddHook(panicking{})
			return nil
		}))
		for range 20 {
			r := s.set()
			assert.Equal(t, link.InDoubt, r.Result)
			require.ErrorContains(t, r.Err, "panicked: a server")
		}
	})
}

// panicking is a hook that panics at each batch.
type panicking struct{}

func (panicking) DialHook(next redis.DialHook) redis.DialHook { return next }

func (panicking) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (panicking) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(context.Context, []redis.Cmder) error { panic("a server") }
}

func TestAClusterIsAsYoungAsItsYoungestShard(t *testing.T) {
	t.Parallel()
	for young := range 3 {
		inShards(t, func(t *testing.T, s *shards) {
			const long, up = time.Minute, 30 * time.Second
			s.all[young].Restart()
			time.Sleep(up)
			var restart *node.RestartError
			require.ErrorAs(t, s.trusted(long), &restart, "shard %d", young)
			assert.InDelta(t, long-up+time.Second, restart.Left, float64(time.Second), "uptimes are rounded down")
			time.Sleep(long - up)
			require.Error(t, s.trusted(long), "shard %d", young)
			time.Sleep(2 * time.Second)
			assert.NoError(t, s.trusted(long), "shard %d", young)
		})
	}
}

// An INFO that fails for another reason than the user's rights may be allowed.
func TestAShardWithoutIdentity(t *testing.T) {
	t.Parallel()
	for name, hide := range map[string]func(m *simnet.Master){
		"no run_id":     func(m *simnet.Master) { m.Info("run_id", "") },
		"no uptime":     func(m *simnet.Master) { m.Info("uptime_in_seconds", "") },
		"an odd uptime": func(m *simnet.Master) { m.Info("uptime_in_seconds", "a day") },
		"NOPERM": func(m *simnet.Master) {
			m.Reply("NOPERM this user has no permissions to run the 'info' command", "INFO")
		},
		"LOADING": func(m *simnet.Master) { m.ReplyTimes(1, "LOADING Redis is loading the dataset in memory", "INFO") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for silent := range 3 {
				inShards(t, func(t *testing.T, s *shards) {
					hide(s.all[silent])
					err := s.trusted(guarded)
					require.Error(t, err, "shard %d", silent)
					assert.Equal(t, name != "LOADING", errors.As(err, new(*node.IdentityError)), "%v", err)
					assert.Equal(t, name != "LOADING", node.Permanent(err), "%v", err)
					if name == "LOADING" {
						require.ErrorContains(t, err, name)
						assert.NoError(t, s.trusted(guarded))
					}
				})
			}
		})
	}
}
