package stacktest_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/node"
)

// cluster is a Cluster of three real servers, and what one needs to see it from outside.
type cluster struct {
	client *redis.ClusterClient
	shards []*redis.Client
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{}
	var addrs []string
	for _, s := range clusterOf(t, 3) {
		shard := redis.NewClient(&redis.Options{Addr: s.Addr()})
		t.Cleanup(func() { assert.NoError(t, shard.Close()) })
		c.shards = append(c.shards, shard)
		addrs = append(addrs, s.Addr())
	}
	c.client = redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: addrs, MaxRetries: -1, MaxRedirects: -1, DialerRetries: 1,
		DialTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second,
	})
	t.Cleanup(func() { assert.NoError(t, c.client.Close()) })
	return c
}

func clusterOf(t *testing.T, n int) []*redisproc.Server {
	t.Helper()
	redisproc.Need(t)
	servers, err := redisproc.StartCluster(t.Context(), n)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, redisproc.CloseAll(servers)) })
	return servers
}

// locker is a Locker with the Cluster as one of its masters, the others plain servers.
func (c *cluster) locker(t *testing.T, others []*redisproc.Server, opts ...redlock.Option) *redlock.Locker {
	t.Helper()
	whole, err := node.Wrap(c.client)
	require.NoError(t, err)
	masters := []*node.Node{whole}
	for _, s := range others {
		m, err := node.Open(s.URL())
		require.NoError(t, err)
		masters = append(masters, m)
	}
	l, err := redlock.New(masters, append([]redlock.Option{
		redlock.WithoutRestartGuard(), redlock.WithNodeTimeout(8 * time.Second),
	}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.Close()) })
	return l
}

// opened is a Locker over one real server.
func opened(t *testing.T, url string, opts ...redlock.Option) *redlock.Locker {
	t.Helper()
	l, err := redlock.Open([]string{url}, append(opts, redlock.WithoutRestartGuard())...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.Close()) })
	return l
}

// woken releases the lock of a call that a release has woken. The call is on real masters.
func woken(t *testing.T, out <-chan attempt) {
	t.Helper()
	select {
	case a := <-out:
		require.NoError(t, a.err)
		unlock(t, a.lock)
	case <-time.After(20 * time.Second):
		require.Fail(t, "no release woke it")
	}
}

// keys returns the keys on all servers of the Cluster.
func (c *cluster) keys(t *testing.T) (all []string) {
	t.Helper()
	for _, shard := range c.shards {
		keys, err := shard.Keys(t.Context(), "*").Result()
		require.NoError(t, err)
		all = append(all, keys...)
	}
	return all
}

// asked returns whether a server was sent a command that could make a key. (EVALSHA alone makes none on a server that
// has no scripts, and a handshake asks for one that does not exist.)
func asked(t *testing.T, server *redis.Client) bool {
	t.Helper()
	stats, err := server.Info(t.Context(), "commandstats").Result()
	require.NoError(t, err)
	return regexp.MustCompile(`cmdstat_(set|eval):`).MatchString(stats)
}

// The tests share a Cluster, one after the other. The first one sees that its servers have been asked nothing.
func TestOverACluster(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	for _, tt := range []struct {
		name string
		test func(t *testing.T, c *cluster)
	}{
		{"names of several slots are refused before anything is locked", namesOfSeveralSlots},
		{"a name without sibling keys", aNameWithoutSiblingKeys},
		{"a mutex waits for such a name", aMutexWaitsForANameWithoutSiblingKeys},
		{"every kind with fencing", everyKindWithFencing},
		{"a writer waits", aWriterWaits},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t, c) })
	}
}

func namesOfSeveralSlots(t *testing.T, c *cluster) {
	t.Helper()
	others, err := redisproc.StartN(t.Context(), 2)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, redisproc.CloseAll(others)) })
	servers := c.shards
	for _, s := range others {
		server := redis.NewClient(&redis.Options{Addr: s.Addr()})
		t.Cleanup(func() { assert.NoError(t, server.Close()) })
		servers = append(servers, server)
	}

	lockers := map[string]*redlock.Locker{"alone": c.locker(t, nil), "one of three": c.locker(t, others)}
	for name, l := range lockers {
		for op, call := range map[string]func(context.Context, []string, ...redlock.LockOption) (*redlock.Lock, error){
			"LockAll": l.LockAll, "TryLockAll": l.TryLockAll,
		} {
			_, err := call(within(t, 10*time.Second), []string{"account:2", "account:1"})
			require.Error(t, err, "%s: %s", name, op)
			for _, says := range []string{
				`"account:1"`, `"account:2"`, `"{tag}account:1"`, `"{tag}account:2"`,
				fmt.Sprint("slot ", kind.HashSlot("account:1")), fmt.Sprint("slot ", kind.HashSlot("account:2")),
			} {
				require.ErrorContains(t, err, says, "%s: %s", name, op)
			}
		}
	}
	for _, server := range servers {
		assert.False(t, asked(t, server), "something was sent to %s", server)
	}

	// The way out that it shows, and the control of asked. Each Locker has names of its own: Lock and Unlock of the one
	// with three masters return at the majority, when the Cluster may not have answered yet.
	for name, l := range lockers {
		all, err := l.TryLockAll(t.Context(), []string{"{tag}2 of " + name, "{tag}1 of " + name})
		require.NoError(t, err, name)
		unlock(t, all)
	}
	sent := func() (n int) {
		for _, server := range servers {
			if asked(t, server) {
				n++
			}
		}
		return n
	}
	require.Eventually(t, func() bool { return sent() >= 3 }, 10*time.Second, 10*time.Millisecond) // not all at once
	assert.Equal(t, 3, sent(), "the plain ones, and the one server of the Cluster that has the slot")
}

// A URL does not show that its server is part of a Cluster. The server refuses, and retrying cannot succeed.
func TestNamesOfSeveralSlotsOverAServerOfACluster(t *testing.T) {
	t.Parallel()
	l := opened(t, clusterOf(t, 1)[0].URL())
	_, err := l.LockAll(within(t, 10*time.Second), []string{"account:1", "account:2"})
	require.ErrorContains(t, err, "CROSSSLOT")
	require.NotErrorIs(t, err, context.DeadlineExceeded)
	all, err := l.LockAll(t.Context(), []string{"{account}:1", "{account}:2"}, redlock.WithFencing())
	require.NoError(t, err)
	unlock(t, all)
}

// A name without room for another key in its slot is refused only if the lock needs such a key.
func aNameWithoutSiblingKeys(t *testing.T, c *cluster) {
	t.Helper()
	l := c.locker(t, nil)
	const odd = "a{}b"
	for _, k := range []lockKind{mutex, reader, writer, reentrant} {
		try := k.on(l, odd).try
		require.ErrorContains(t, errorOf(try(t.Context(), redlock.WithFencing())), "leave out the braces", k.name)
		if k.name != mutex.name {
			require.ErrorContains(t, errorOf(try(t.Context())), "leave out the braces", k.name)
		}
	}
	for _, key := range c.keys(t) {
		assert.NotContains(t, key, odd)
	}
	held := lock(t, l, odd)
	assert.EqualValues(t, "mutex", inspect(t, l, odd).Kind)
	assert.Equal(t, held.Token(), holder(t, l, odd).Token)
	require.NoError(t, l.Release(t.Context(), odd, held.Token()))
	require.ErrorIs(t, held.Unlock(t.Context()), redlock.ErrLost)
}

// Names all over the Cluster are locked with every kind, with fencing, one kind after the other.
func everyKindWithFencing(t *testing.T, c *cluster) {
	t.Helper()
	ours, others := c.locker(t, nil, redlock.WithFencing()), c.locker(t, nil, redlock.WithFencing())
	used := make(map[*redis.Client]bool)
	for i := range 10 {
		name := fmt.Sprint("orders:", i)
		var last uint64
		for _, k := range []lockKind{mutex, several, writer, reader, reentrant} {
			acquire := k.on(ours, name).try
			if k.name == several.name { // names of one slot
				acquire = named(ours.TryLockAll, []string{name, "{" + name + "}:lines"})
			}
			l, err := acquire(t.Context())
			require.NoError(t, err, "%s %s", k.name, name)
			assert.Greater(t, l.Fence(), last, "%s %s", k.name, name)
			last = l.Fence()
			require.NoError(t, l.Extend(t.Context()), "%s %s", k.name, name)
			_, err = others.TryLock(t.Context(), name)
			require.ErrorIs(t, err, redlock.ErrHeld, "%s %s", k.name, name)
			assert.Equal(t, last, inspect(t, others, name).Fence, "%s %s", k.name, name)
			unlock(t, l)
		}
		at, err := c.client.MasterForKey(t.Context(), name)
		require.NoError(t, err)
		used[at] = true
	}
	assert.Len(t, used, len(c.shards), "the names are all over the Cluster")
	require.NoError(t, ours.Close())
	require.NoError(t, others.Close())
	for _, key := range c.keys(t) {
		if !strings.Contains(key, "orders:") {
			continue // of another test
		}
		assert.True(t, strings.HasPrefix(key, "redlock:fence:"), "%s is left", key)
		ttl, err := c.client.PTTL(t.Context(), key).Result()
		require.NoError(t, err)
		assert.Positive(t, ttl, "%s is left without a TTL", key)
	}
}

// For some names a Cluster can keep no intent. A mutex without fencing works there as with any other name.
func aMutexWaitsForANameWithoutSiblingKeys(t *testing.T, c *cluster) {
	t.Helper()
	var refused atomic.Int32
	trace := &redlock.Trace{Vote: func(_ context.Context, e redlock.VoteEvent) {
		if e.Op == "probe" && e.Err != nil {
			refused.Add(1)
		}
	}}
	ours, others := c.locker(t, nil, patient), c.locker(t, nil, patient, redlock.WithTrace(trace))
	plain := opened(t, "redis://"+c.shards[0].Options().Addr, patient)
	odd := "c{}d"
	for _, l := range []*redlock.Locker{others, plain} {
		if l == plain {
			for !canLock(t, named(plain.TryLock, odd)) {
				odd += "b"
			}
		}
		held := lock(t, ours, odd)
		_, err := l.Lock(within(t, 3*time.Second), odd) // time for a busy machine to answer the probe
		assert.EqualValues(t, "mutex", heldError(t, err).Kind)
		unlock(t, held)
		lk, err := l.Lock(within(t, 20*time.Second), odd)
		require.NoError(t, err)
		unlock(t, lk)
	}
	assert.Zero(t, refused.Load(), "what is known to be a Cluster is not asked to keep one")
}

// canLock reports whether try takes the lock, which it releases.
func canLock(t *testing.T, try ctxLock) bool {
	t.Helper()
	lk, err := try(t.Context())
	if err == nil {
		unlock(t, lk)
	}
	return err == nil
}

// On a Cluster too, a waiting writer keeps its intent in the slot of the name, and a release wakes it.
func aWriterWaits(t *testing.T, c *cluster) {
	t.Helper()
	minute := redlock.WithTTL(time.Minute)
	ours, others := c.locker(t, nil, patient, minute), c.locker(t, nil, patient, minute)
	in := rlock(t, ours, "x")
	got := started(func() (*redlock.Lock, error) { return writer.lock(t.Context(), others) })
	require.Eventually(t, func() bool { return !canLock(t, ours.RW("x").TryRLock) }, 10*time.Second, 10*time.Millisecond,
		"the intent keeps readers out")
	unlock(t, in)
	woken(t, got)
}

// A user without rights to keys other than the names can still take plain mutexes, and waits for them knowing
// who holds the name and until when. Its waiters leave no intent.
func TestAUserWithoutRightsToIntentsWaitsForMutexes(t *testing.T) {
	t.Parallel()
	s := redisproc.ForTest(t, 1)[0]
	c := redis.NewClient(&redis.Options{Addr: s.Addr()})
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	for user, rules := range map[string]string{
		"no-keys":     "~orders:*",
		"no-commands": "~orders:* ~redlock:* -zadd -zrem -zrange -zrangebyscore -zremrangebyscore",
	} {
		args := []any{"acl", "setuser", user, "on", ">secret", "resetkeys", "&redlock:*", "+@all"}
		for rule := range strings.FieldsSeq(rules) {
			args = append(args, rule)
		}
		require.NoError(t, c.Do(t.Context(), args...).Err())
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			l, other := opened(t, "redis://"+user+":secret@"+s.Addr(), patient), opened(t, s.URL())
			name := "orders:" + user
			for _, k := range []lockKind{mutex, reader} {
				held, err := k.on(other, name).try(t.Context())
				require.NoError(t, err)
				_, err = l.Lock(within(t, 3*time.Second), name) // for all its questions on a busy machine
				he := heldError(t, err)
				if user == "no-keys" || k.name == mutex.name { // the look of the other one needs ZRANGE to see a reader
					assert.EqualValues(t, k.name, he.Kind)
					assert.Positive(t, he.Retry)
				}
				got := started(func() (*redlock.Lock, error) { return l.Lock(context.Background(), name) })
				require.Eventually(t, func() bool {
					n, err := c.PubSubNumSub(t.Context(), kind.Channel(name)).Result()
					return err == nil && n[kind.Channel(name)] > 0
				}, 10*time.Second, time.Millisecond)
				unlock(t, held)
				woken(t, got)
			}
		})
	}
}
