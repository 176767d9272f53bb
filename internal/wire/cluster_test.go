package wire_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

// startCluster starts a Cluster of three servers.
func startCluster(t *testing.T) []*redisproc.Server {
	t.Helper()
	redisproc.Need(t)
	servers, err := redisproc.StartCluster(t.Context(), 3)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, redisproc.CloseAll(servers)) })
	return servers
}

// nameOf returns a name whose slot belongs to the server.
func nameOf(t *testing.T, c *redis.ClusterClient, s *redisproc.Server) string {
	t.Helper()
	for i := range 1000 {
		name := fmt.Sprint("name-", i)
		owner, err := c.MasterForKey(t.Context(), name)
		require.NoError(t, err)
		if owner.Options().Addr == s.Addr() {
			return name
		}
	}
	require.Fail(t, "no name of 1000 belongs to "+s.Addr())
	return ""
}

func TestAWholeClusterAsOneMaster(t *testing.T) {
	t.Parallel()
	servers := startCluster(t)
	addrs := make([]string, len(servers))
	for i, s := range servers {
		addrs[i] = s.Addr()
	}
	c := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: addrs, MaxRetries: -1, MaxRedirects: -1, DialerRetries: 1, // and timeouts that a busy machine keeps
		DialTimeout: patient, ReadTimeout: patient, WriteTimeout: patient,
	})
	r := newWrappedRig(t, c)
	names := make([]string, len(servers))
	for i, s := range servers {
		names[i] = nameOf(t, c, s)
	}

	// One batch for all three, with scripts that no server knows.
	var all []*ticket
	for _, name := range names {
		all = append(all, r.ask(acquire(name, "me"), within(patient)), r.ask(acquire(name, "another"), within(patient)),
			r.ask(extend(name, "me"), within(patient)), r.ask(release(name, "me"), durably, within(patient)))
	}
	for i, tk := range all {
		v := tk.result()
		assert.Equal(t, i%4 == 1, v.Verdict == wire.Denied, "%d: %v, %v", i, v, v.Err)
		assert.Equal(t, i%4 != 1, v.Verdict == wire.Granted, "%d: %v, %v", i, v, v.Err)
	}

	// The servers have just been started.
	v := r.ask(acquire(names[0], "me"), window(time.Hour), within(patient)).result()
	assert.Equal(t, wire.Unknown, v.Verdict)
	require.ErrorAs(t, v.Err, new(*node.RestartError))
	assert.Equal(t, 2, strings.Count(v.RunID(), "+"), "the identity is that of all: %s", v.RunID())
	identity := v.RunID()

	// The Cluster may not vote during its first window.
	require.Eventually(t, func() bool {
		v = r.ask(acquire(fmt.Sprint(names[1], time.Now().UnixNano()), "me"), window(time.Second), within(patient)).result()
		return v.Verdict == wire.Granted
	}, 30*time.Second, 100*time.Millisecond)
	assert.Equal(t, identity, v.RunID())

	// After one server restarted without data, no grant of the Cluster counts for a window.
	require.NoError(t, servers[2].Kill())
	v = r.ask(acquire(names[2], "me"), window(time.Second), within(patient)).result()
	assert.NotEqual(t, wire.Granted, v.Verdict)
	assert.False(t, node.Permanent(v.Err), "%v", v.Err)
	v = r.ask(acquire(names[0]+"/2", "me"), window(time.Second), within(patient)).result()
	assert.NotEqual(t, wire.Granted, v.Verdict, "it is unknown whether the Cluster is the same")
	assert.False(t, node.Permanent(v.Err), "%v", v.Err)
	require.NoError(t, servers[2].Start(t.Context()))
	require.Eventually(t, func() bool {
		v = r.ask(acquire(fmt.Sprint("{", names[0], "}", time.Now().UnixNano()), "me"), window(time.Hour), within(patient)).
			result()
		return v.RunID() != ""
	}, 30*time.Second, 100*time.Millisecond)
	assert.NotEqual(t, identity, v.RunID())
	assert.Greater(t, windowLeft(t, v), 59*time.Minute)
}
