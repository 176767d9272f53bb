package doctor_test

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/doctor"
	"github.com/redlock-go/redlock/internal/redisproc"
)

// condition is how to bring a redis-server into a condition that is a finding.
type condition struct {
	args     string // of the server
	options  []redlock.Option
	acl      string // the rights of the user of the examination, instead of all
	prepare  func(t *testing.T, s *redisproc.Server, c *redis.Client)
	title    string // of the finding; "": the name of the condition
	why      string // a regular expression: what the finding says
	fix      string // a part of its fix
	commands string // of its fix, separated by semicolons, or none; "": any
	clears   bool   // its commands clear the finding
}

var long = []redlock.Option{redlock.WithTTL(10 * time.Second), redlock.WithNodeTimeout(20 * time.Millisecond)}

// none is the value of commands for a fix without a command.
const none = "-"

// conditions has a condition for each finding that one redis-server can have, and for each reason of "refuses locks".
var conditions = map[string]condition{
	"evicts locks": {
		args: "--maxmemory 100mb --maxmemory-policy volatile-lru",
		why:  "maxmemory_policy is volatile-lru, and maxmemory is 104857600", fix: "CONFIG SET maxmemory-policy noeviction",
	},
	"would evict locks": {args: "--maxmemory-policy allkeys-lru", why: "is allkeys-lru"},
	"has evicted keys": {
		args: "--maxmemory 3mb --maxmemory-policy allkeys-random",
		prepare: func(t *testing.T, _ *redisproc.Server, c *redis.Client) {
			set(t, c, 4000, "x", strings.Repeat("x", 1000), 0)
		},
		why: `evicted_keys is \d+`, clears: true,
	},
	"memory is almost full": {
		prepare: func(t *testing.T, _ *redisproc.Server, c *redis.Client) {
			require.NoError(t, c.SetRange(t.Context(), "x", 20<<20, "x").Err()) // no buffer of the client counts
			text, err := c.Info(t.Context(), "memory").Result()
			require.NoError(t, err)
			used, err := strconv.Atoi(regexp.MustCompile(`used_memory:(\d+)`).FindStringSubmatch(text)[1])
			require.NoError(t, err)
			require.NoError(t, c.ConfigSet(t.Context(), "maxmemory", strconv.Itoa(used/95*100)).Err())
		},
		why: `used_memory is \d+ of \d+`,
	},
	"is not a master": {args: "--replicaof 127.0.0.1 1", why: "its role is slave", fix: "REPLICAOF NO ONE"},
	"has replicas": {
		why:     "connected_slaves is 1",
		prepare: func(t *testing.T, s *redisproc.Server, c *redis.Client) { replicate(t, s, c) },
	},
	"is failing over": {
		why: "master_failover_state is waiting-for-sync",
		prepare: func(t *testing.T, s *redisproc.Server, c *redis.Client) {
			replica := replicate(t, s, c)
			require.NoError(t, replica.Freeze())
			require.NoError(t, c.Set(t.Context(), "x", "not replicated", 0).Err())
			host, port, _ := strings.Cut(replica.Addr(), ":")
			require.NoError(t, c.Do(t.Context(), "failover", "to", host, port, "timeout", 60000).Err())
		},
	},
	"has a history of replication": {
		args: "--replicaof 127.0.0.1 1", why: `second_repl_offset is \d`,
		prepare: command("replicaof", "no", "one"),
	},
	"needs replicas to write": {args: "--min-replicas-to-write 1", why: "min_slaves_good_slaves is 0"},
	"runs in cluster mode":    {args: "--cluster-enabled yes", why: "cluster_enabled is 1"},
	"restarted a moment ago":  {options: long, why: "may vote in 1?[0-9]"},
	"cannot write its AOF": {
		args: "--appendonly yes",
		prepare: func(t *testing.T, s *redisproc.Server, c *redis.Client) { // the disk is full
			require.NoError(t, s.Kill())
			dir := filepath.Join(s.Dir(), "appendonlydir")
			require.NoError(t, os.RemoveAll(dir))
			require.NoError(t, os.Mkdir(dir, 0o755))
			require.NoError(t, os.Symlink("/dev/full", filepath.Join(dir, "appendonly.aof.1.incr.aof")))
			require.NoError(t, s.Start(t.Context()))
			require.NoError(t, c.Set(t.Context(), "x", 1, 0).Err())
			await(t, c, "aof_last_write_status:err")
		},
		why: "aof_last_write_status is err",
	},
	"failed to save a snapshot": {prepare: failSnapshot, why: "rdb_last_bgsave_status is err"},
	"is loading its dataset": {
		args: "--key-load-delay 2000 --loading-process-events-interval-bytes 1024",
		prepare: func(t *testing.T, s *redisproc.Server, c *redis.Client) {
			set(t, c, 8000, "x", strings.Repeat("x", 100), 0)
			require.NoError(t, c.Save(t.Context()).Err())
			require.NoError(t, s.Start(t.Context()))
			await(t, c, "loading:1")
		},
		why: "loading is 1",
	},
	"forks slowly": {
		options: []redlock.Option{redlock.WithNodeTimeout(10 * time.Microsecond)},
		prepare: func(t *testing.T, _ *redisproc.Server, c *redis.Client) {
			require.NoError(t, c.BgSave(t.Context()).Err())
			await(t, c, "rdb_bgsave_in_progress:0")
		},
		why: "the last fork took .*s, and the node timeout is 10µs",
	},
	"was blocked": {
		args:    "--latency-monitor-threshold 1 --enable-debug-command yes",
		options: long, prepare: command("debug", "sleep", "0.05"),
		why: `event command took [\d.]+m?s, and the node timeout is 20ms`,
	},
	"executes slow commands": {
		args: "--enable-debug-command yes", options: long, prepare: command("debug", "sleep", "0.5"),
		why: `\d+ of the last \d+ in SLOWLOG, the slowest a DEBUG, which took .*s, and the node timeout is 20ms`,
	},
	"may use transparent huge pages": {args: "--disable-thp no", why: "disable-thp is no"},
	"the round trip exceeds the node timeout": {
		options: []redlock.Option{redlock.WithNodeTimeout(time.Microsecond)},
		why:     "half of the round trips took .*s, and the node timeout is 1µs",
	},
	"connections are used up": { // the server has accepted the first of the examination
		args: "--maxclients 10", why: "max number of clients reached",
		prepare:  func(t *testing.T, s *redisproc.Server, _ *redis.Client) { occupy(t, s, 9) },
		commands: "CLIENT LIST",
	},
	"connections are almost used up": {
		args: "--maxclients 10", why: "connected_clients is 9 of 10",
		prepare: func(t *testing.T, s *redisproc.Server, _ *redis.Client) { occupy(t, s, 8) }, // and the examination
	},
	"has rejected connections": {
		args: "--maxclients 5", why: "rejected_connections is 1", clears: true,
		prepare: func(t *testing.T, s *redisproc.Server, c *redis.Client) {
			require.NoError(t, c.Ping(t.Context()).Err())
			occupy(t, s, 4)
			one := redis.NewClient(&redis.Options{Addr: s.Addr(), MaxRetries: -1})
			defer one.Close()
			require.Error(t, one.Ping(t.Context()).Err())
			require.NoError(t, c.ConfigSet(t.Context(), "maxclients", "100").Err())
		},
	},
	"closes idle connections": {args: "--timeout 100", why: "timeout is 100"},
	"keeps dead connections":  {args: "--tcp-keepalive 0", why: "tcp-keepalive is 0"},
	"subscribers have a small buffer": {
		args: "--client-output-buffer-limit pubsub 32kb 8kb 60", why: "pubsub 32768 8192 60",
	},
	"a right is missing": {
		acl: "-zadd", why: "zadd: NOPERM",
		fix: "ACL SETUSER locker +zadd; then set it in the flags of the server, too",
	},
	"a command does not exist": {
		args: "--rename-command EVALSHA xyz",
		why:  "evalsha: ERR unknown command 'evalsha'", fix: "remove the rename-command of EVALSHA from its redis.conf",
	},
	"refuses locks": {
		args: "--maxmemory 1", why: "set: OOM command not allowed",
		fix: "find what uses the memory (redis-cli --bigkeys), or CONFIG SET maxmemory to a larger value", commands: none,
	},
	"refuses locks while writes are paused": {
		title: "refuses locks", why: "no answer in time",
		prepare: command("client", "pause", 60_000, "write"), commands: "CLIENT UNPAUSE; SLOWLOG GET",
	},
	"refuses locks without a snapshot": {
		prepare: func(t *testing.T, s *redisproc.Server, c *redis.Client) {
			require.NoError(t, c.ConfigSet(t.Context(), "save", "3600 1").Err())
			failSnapshot(t, s, c)
		},
		title: "refuses locks", why: "MISCONF", commands: `CONFIG SET save ""`,
	},
	"refuses locks without replicas": {
		args: "--min-replicas-to-write 1", title: "refuses locks", why: "NOREPLICAS",
		commands: "CONFIG SET min-replicas-to-write 0",
	},
	"refuses locks as a replica": {
		args: "--replicaof 127.0.0.1 1", title: "refuses locks", why: "READONLY", commands: "REPLICAOF NO ONE",
	},
	"refuses locks without a cluster": {
		args: "--cluster-enabled yes", title: "refuses locks",
		why: "CLUSTERDOWN", fix: "cluster-enabled no", commands: none,
	},
	"waiters are not woken": {acl: "-subscribe", why: "subscribe: NOPERM", fix: "ACL SETUSER locker +subscribe"},
	"has refused writes": {
		args: "--maxmemory 1", why: "OOM: 1 times",
		prepare: func(t *testing.T, _ *redisproc.Server, c *redis.Client) {
			require.Error(t, c.Set(t.Context(), "x", 1, 0).Err())
		},
	},
	"has refused commands": {
		why: "NOPERM: 1 times", clears: true,
		prepare: func(t *testing.T, s *redisproc.Server, c *redis.Client) {
			user(t, s, "nothing", "on >secret")
			one := c.Conn()
			defer one.Close()
			require.NoError(t, one.AuthACL(t.Context(), "nothing", "secret").Err())
			require.Error(t, one.Ping(t.Context()).Err())
		},
	},
	"was flushed":            {prepare: command("flushall"), why: "FLUSHALL: 1 times", clears: true},
	"may have lost its keys": {prepare: command("swapdb", 0, 1), why: "SWAPDB: 1 times", clears: true},
	"KEYS is used":           {prepare: command("keys", "*"), why: "KEYS: 1 times", clears: true},
	"was configured at run time": {
		prepare: command("config", "set", "hz", "10"), why: "CONFIG SET: 1 times", clears: true,
	},
	"a lock without an end": {
		prepare: lockEveryKind,
		why:     `5 without a TTL: ("(mutex|reader|writer|reentrant|semaphore)"(, )?){5}\.`,
	},
	"the restart window is too short": {
		prepare: func(t *testing.T, _ *redisproc.Server, c *redis.Client) {
			set(t, c, 50, "shorter", someToken, 30*time.Second)
			permit := redis.Z{Score: 1, Member: "redlock:semaphore:3:1:" + someToken}
			require.NoError(t, c.ZAdd(t.Context(), "nightly", permit).Err())
			require.NoError(t, c.Expire(t.Context(), "nightly", time.Minute).Err())
			require.NoError(t, c.Set(t.Context(), "longer, perhaps not ours", someToken, time.Hour).Err())
			set(t, c, 50, "shortest", someToken, 20*time.Second)
		},
		why: `the lock "nightly" has (1m0|[45]\d)s left; with a drift of \d+ms that exceeds .* window of 3\.03`,
	},
	"not examined": {
		acl: "-config -slowlog", why: `CONFIG GET maxmemory, SLOWLOG GET 128: NOPERM `, fix: "+config|get",
	},
	"does not say who it is": {acl: "-info", why: "no run_id"},
}

// Each condition is found. A sound master has none of these findings: TestASoundMaster.
func TestConditions(t *testing.T) {
	t.Parallel()
	for name, c := range conditions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			title := cmp.Or(c.title, name)
			server := redisproc.ForTest(t, 1, strings.Fields(c.args)...)[0]
			if c.prepare != nil {
				c.prepare(t, server, connect(t, server))
			}
			url := server.URL()
			if c.acl != "" {
				url = user(t, server, "locker", "on >secret ~* &* +@all "+c.acl)
			}
			found := one(t, examine(t, []string{url}, c.options...), title)
			rule := slices.IndexFunc(doctor.Rows(), func(r doctor.Row) bool { return r.Title == title })
			assert.Equal(t, doctor.Rows()[rule].Severity, found.Severity)
			assert.Equal(t, server.Addr(), found.Node)
			assert.Regexp(t, c.why, found.Why)
			assert.Contains(t, found.Fix, c.fix)
			assert.NotEmpty(t, found.Fix)
			if c.commands != "" {
				assert.Equal(t, c.commands, cmp.Or(strings.Join(found.Commands, "; "), none))
			}
			if c.clears {
				admin := connect(t, server)
				for _, command := range found.Commands {
					require.NoError(t, admin.Do(t.Context(), asAny(strings.Fields(command))...).Err())
				}
				assert.Empty(t, titled(examine(t, []string{url}, c.options...), title))
			}
		})
	}
}

// The restart window is longer than the max TTL, by a drift of 36 s for an hour. What a lock has left needs drift, too.
func TestTheRestartWindowCoversTheDrift(t *testing.T) {
	t.Parallel()
	server := redisproc.ForTest(t, 1)[0]
	value := "v1:d41d8cd98f00b204e9800998ecf8427e" // another program may have written it
	require.NoError(t, connect(t, server).Set(t.Context(), "nightly", value, time.Hour).Err())
	for maxTTL, found := range map[time.Duration]int{time.Hour - 10*time.Second: 1, time.Hour: 0} {
		report := examine(t, []string{server.URL()}, redlock.WithMaxTTL(maxTTL))
		short := titled(report, "the restart window is too short")
		require.Len(t, short, found, "%v", maxTTL)
		for _, f := range short {
			assert.Equal(t, doctor.Warning, f.Severity)
			assert.Contains(t, f.Why, `what looks like a lock, "nightly" has`)
		}
	}
}

// lockEveryKind acquires a lock of every kind, and removes its TTL.
func lockEveryKind(t *testing.T, s *redisproc.Server, c *redis.Client) {
	t.Helper()
	l := open(t, []string{s.URL()}, redlock.WithoutRestartGuard(), redlock.WithTTL(time.Minute))
	mutex := func(ctx context.Context, opts ...redlock.LockOption) (*redlock.Lock, error) {
		return l.Lock(ctx, "mutex", opts...)
	}
	for name, lock := range map[string]func(context.Context, ...redlock.LockOption) (*redlock.Lock, error){
		"mutex": mutex, "reader": l.RW("reader").RLock, "writer": l.RW("writer").Lock,
		"reentrant": l.Reentrant("reentrant", "me").Lock, "semaphore": l.Semaphore("semaphore", 2).Acquire,
	} {
		_, err := lock(t.Context(), redlock.WithoutKeepalive())
		require.NoError(t, err)
		require.NoError(t, c.Persist(t.Context(), name).Err())
	}
}

// failSnapshot has the server fail to save a snapshot.
func failSnapshot(t *testing.T, s *redisproc.Server, c *redis.Client) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(s.Dir(), "dump.rdb", "in the way"), 0o755))
	require.NoError(t, c.BgSave(t.Context()).Err())
	await(t, c, "rdb_last_bgsave_status:err")
}

// replicate starts a replica of the server.
func replicate(t *testing.T, s *redisproc.Server, c *redis.Client) *redisproc.Server {
	t.Helper()
	host, port, _ := strings.Cut(s.Addr(), ":")
	replica := redisproc.ForTest(t, 1, "--replicaof", host, port)[0]
	await(t, connect(t, replica), "master_link_status:up")
	await(t, c, "connected_slaves:1")
	require.Eventually(t, func() bool {
		text, err := c.Info(context.Background(), "replication").Result()
		return err == nil && strings.Contains(text, "state=online")
	}, patience, 10*time.Millisecond)
	return replica
}

// occupy opens n connections.
func occupy(t *testing.T, s *redisproc.Server, n int) {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: s.Addr(), PoolSize: n})
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	for range n {
		one := c.Conn()
		require.NoError(t, one.Ping(t.Context()).Err())
		t.Cleanup(func() { _ = one.Close() })
	}
}

// command has the server execute a command.
func command(args ...any) func(*testing.T, *redisproc.Server, *redis.Client) {
	return func(t *testing.T, _ *redisproc.Server, c *redis.Client) {
		t.Helper()
		require.NoError(t, c.Do(t.Context(), args...).Err())
	}
}

func asAny(words []string) (all []any) {
	for _, w := range words {
		all = append(all, w)
	}
	return all
}

func hasLine(text, line string) bool {
	return regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(line) + `\r?$`).MatchString(text)
}
