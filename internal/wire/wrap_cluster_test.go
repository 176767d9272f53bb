package wire_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
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

// shards is a wrapped Cluster of three simulated masters.
type shards struct {
	*rig
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
		node, err := wrap(c)
		require.NoError(t, err)
		f(t, &shards{rig: bind(t, w, node), client: c, all: w.Masters()})
	})
}

// vote acquires a new name, with a restart window.
func (s *shards) vote(d time.Duration) wire.Vote {
	s.t.Helper()
	s.names++
	return s.ask(acquire(fmt.Sprint("name-", s.names), "me"), window(d), within(time.Second)).result()
}

// A Cluster's client that repeats requests by itself is not used for them. Its copy ends with the node.
func TestAWrappedClusterRepeatsNothing(t *testing.T) {
	t.Parallel()
	for what, adjust := range map[string]func(*redis.ClusterOptions){
		"nothing set":   nil,
		"by default":    func(o *redis.ClusterOptions) { o.MaxRetries, o.MaxRedirects = 0, 0 },
		"retries":       func(o *redis.ClusterOptions) { o.MaxRetries = 2 },
		"redirects":     func(o *redis.ClusterOptions) { o.MaxRedirects = 2 },
		"no timeout":    func(o *redis.ClusterOptions) { o.ReadTimeout = -1 },
		"none of these": func(o *redis.ClusterOptions) { o.MaxRetries, o.MaxRedirects, o.ReadTimeout = 3, 3, -2 },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			inShardsOf(t, adjust, func(t *testing.T, s *shards) {
				before := *s.client.Options()
				require.Equal(t, wire.Granted, s.vote(guarded).Verdict)
				sets := 0
				for _, m := range s.all {
					sets += m.Count("SET")
					m.HangUp(func(args []string) bool { return strings.EqualFold(args[0], "SET") })
				}
				assert.Equal(t, wire.Unknown, s.vote(guarded).Verdict)
				time.Sleep(time.Minute)
				for _, m := range s.all {
					sets -= m.Count("SET")
					m.HangUp(nil)
				}
				assert.Equal(t, -1, sets, "one more")
				s.eventually(10*time.Second, "it works again", func() bool { return s.vote(guarded).Verdict == wire.Granted })
				assert.Equal(t, before.MaxRedirects, s.client.Options().MaxRedirects)
				for _, m := range s.all {
					m.Freeze()
				}
				s.vote(guarded)
				began := time.Now()
				s.node.Close(began)
				require.NoError(t, s.group.Wait())
				assert.LessOrEqual(t, time.Since(began), 3*time.Second+100*time.Millisecond, "there is a ReadTimeout")
				for _, m := range s.all {
					m.Thaw()
				}
				require.NoError(t, s.client.Set(context.Background(), "mine", "still", 0).Err(), "the client stays its owner's")
			})
		})
	}
}

func TestAClusterIsAsYoungAsItsYoungestShard(t *testing.T) {
	t.Parallel()
	for young := range 3 {
		t.Run(fmt.Sprint(young), func(t *testing.T) {
			t.Parallel()
			inShards(t, func(t *testing.T, s *shards) {
				const long, up = time.Minute, 30 * time.Second
				s.all[young].Restart()
				time.Sleep(up)
				require.Equal(t, wire.Granted, s.vote(0).Verdict, "with the guard off")
				v := s.vote(long)
				assert.Equal(t, wire.Unknown, v.Verdict)
				var restart *node.RestartError
				require.ErrorAs(t, v.Err, &restart)
				assert.InDelta(t, long-up+time.Second, restart.Left, float64(time.Second), "uptimes are rounded down")
				time.Sleep(long - up)
				assert.Equal(t, wire.Unknown, s.vote(long).Verdict)
				time.Sleep(2 * time.Second)
				v = s.vote(long)
				assert.Equal(t, wire.Granted, v.Verdict, "%v", v.Err)
			})
		})
	}
}

// The Cluster is the same, no matter which shard answers first.
func TestTheIdentityOfAClusterDoesNotDependOnTheOrderOfAnswers(t *testing.T) {
	t.Parallel()
	inShards(t, func(t *testing.T, s *shards) {
		v := s.vote(0)
		identity := v.RunID()
		require.Equal(t, 2, strings.Count(identity, "+"), identity)
		for first := range s.all {
			for i, m := range s.all {
				m.Delay(time.Duration((i-first+len(s.all))%len(s.all)+1)*time.Millisecond, 0)
			}
			for range 3 {
				v := s.vote(guarded)
				assert.Equal(t, wire.Granted, v.Verdict, "%v", v.Err)
				assert.Equal(t, identity, v.RunID())
			}
		}
		s.all[1].Restart()
		s.eventually(5*time.Second, "the Cluster is another", func() bool {
			v := s.vote(0)
			return v.RunID() != "" && v.RunID() != identity
		})
		v = s.vote(guarded)
		assert.Equal(t, wire.Unknown, v.Verdict)
		var restart *node.RestartError
		require.ErrorAs(t, v.Err, &restart)
	})
}

func TestAShardWithoutIdentity(t *testing.T) {
	t.Parallel()
	for name, hide := range map[string]func(m *simnet.Master){
		"no run_id":     func(m *simnet.Master) { m.Info("run_id", "") },
		"no uptime":     func(m *simnet.Master) { m.Info("uptime_in_seconds", "") },
		"an odd uptime": func(m *simnet.Master) { m.Info("uptime_in_seconds", "a day") },
		"INFO is denied": func(m *simnet.Master) {
			m.Reply("NOPERM this user has no permissions to run the 'info' command", "INFO")
		},
	} {
		for silent := range 3 {
			t.Run(fmt.Sprint(name, ", ", silent), func(t *testing.T) {
				t.Parallel()
				inShards(t, func(t *testing.T, s *shards) {
					hide(s.all[silent])
					v := s.vote(guarded)
					assert.Equal(t, wire.Unknown, v.Verdict)
					var identity *node.IdentityError
					require.ErrorAs(t, v.Err, &identity)
					assert.True(t, node.Permanent(v.Err))
					assert.Equal(t, wire.Granted, s.vote(0).Verdict, "with the guard off")
				})
			})
		}
	}
}

func TestAShardWhoseIdentityIsTemporarilyUnknown(t *testing.T) {
	t.Parallel()
	inShards(t, func(t *testing.T, s *shards) {
		s.all[1].ReplyTimes(1, "LOADING Redis is loading the dataset in memory", "INFO")
		v := s.vote(guarded)
		assert.Equal(t, wire.Unknown, v.Verdict)
		require.ErrorContains(t, v.Err, "LOADING")
		assert.False(t, node.Permanent(v.Err))
		assert.Equal(t, wire.Granted, s.vote(guarded).Verdict)
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
			s.fill()
			time.Sleep(5 * time.Second)
			for _, m := range s.all {
				m.Reset()
			}
			time.Sleep(5 * time.Second)
			for range 10 {
				v := s.vote(guarded)
				assert.Equal(t, wire.Granted, v.Verdict, "%v", v.Err)
			}
		}
		for _, m := range s.all {
			assert.Positive(t, m.Count("SET"), "no name belongs to %s", m.Addr())
		}
		assert.Empty(t, s.healthReports())
	})
}

// fill makes the pool of each shard open as many connections as it may.
func (s *shards) fill() {
	s.t.Helper()
	size := s.client.Options().PoolSize
	for range 2 { // the first time the pools drop what has ended
		require.NoError(s.t, s.client.ForEachMaster(s.t.Context(), func(ctx context.Context, c *redis.Client) error {
			var all sync.WaitGroup
			for range size {
				all.Go(func() { _ = c.Ping(ctx).Err() })
			}
			all.Wait()
			return nil
		}))
	}
}
