package backend_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/testmain"
	"github.com/redlock-go/redlock/internal/redisproc"
)

const prefix = backend.PrefixBegin + "test"

func connect(t *testing.T, s *redisproc.Server) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: s.Addr()})
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return c
}

func TestMastersThatAreNotFitAreRefusedWithWhatToDo(t *testing.T) {
	t.Parallel()
	all := redisproc.ForTest(t, 3)
	locked := redisproc.ForTest(t, 1, "--requirepass", "hunter2")[0]
	replica := redisproc.ForTest(t, 1)[0]
	host, port, err := net.SplitHostPort(all[0].Addr())
	require.NoError(t, err)
	require.NoError(t, connect(t, replica).ReplicaOf(t.Context(), host, port).Err())
	cluster := redisproc.ForTest(t, 1, "--cluster-enabled", "yes")[0]
	dead := redisproc.ForTest(t, 1)[0]
	require.NoError(t, dead.Kill())
	poor := redisproc.ForTest(t, 1)[0]
	require.NoError(
		t, connect(t, poor).ACLSetUser(t.Context(), "poor", "on", ">secret", "~*", "&*", "+@all", "-client").Err(),
	)
	stingy := redisproc.ForTest(t, 1)[0]
	require.NoError(
		t, connect(t, stingy).ACLSetUser(t.Context(), "stingy", "on", ">secret", "~orders:*", "&*", "+@all").Err(),
	)

	a, b := all[1].URL(), all[2].URL()
	for name, tt := range map[string]struct {
		urls []string
		says []string
	}{
		"none":             {nil, []string{"master"}},
		"an even number":   {[]string{a, b}, []string{"even number"}},
		"no URL":           {[]string{"localhost"}, []string{"redis://"}},
		"dead":             {[]string{a, b, dead.URL()}, []string{dead.Addr()}},
		"no password":      {[]string{a, b, locked.URL()}, []string{locked.Addr(), "NOAUTH"}},
		"a wrong password": {[]string{a, b, "redis://:guessed@" + locked.Addr()}, []string{locked.Addr(), "WRONGPASS"}},
		"a replica":        {[]string{a, b, replica.URL()}, []string{replica.Addr(), "replica"}},
		"the same, twice": {
			[]string{a, b, "redis://localhost:" + strings.Split(all[2].Addr(), ":")[1]}, []string{"same server"},
		},
		"of a Cluster": {[]string{a, b, cluster.URL()}, []string{cluster.Addr(), "cluster mode"}},
		"may not be looked at": {
			[]string{a, b, "redis://poor:secret@" + poor.Addr()}, []string{poor.Addr(), "NOPERM", "+client|list"},
		},
		"may not be locked": {[]string{a, b, "redis://stingy:secret@" + stingy.Addr()}, []string{stingy.Addr()}},
		"several":           {[]string{dead.URL(), replica.URL(), a}, []string{dead.Addr(), replica.Addr()}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), soon)
			defer cancel()
			_, err := backend.Take(ctx, tt.urls, prefix)
			require.Error(t, err)
			for _, says := range tt.says {
				require.ErrorContains(t, err, says)
			}
			for _, secret := range []string{"guessed", "secret@"} {
				assert.NotContains(t, err.Error(), secret)
			}
		})
	}
}

func TestEyesThatLookForAMarkSeeNothingElse(t *testing.T) {
	t.Parallel()
	s := redisproc.ForTest(t, 1)[0]
	foreign := connect(t, s)
	counter := fmt.Sprintf("redlock:fence:{%s:kept}", prefix)
	require.NoError(t, foreign.MSet(t.Context(), "theirs", 1, prefix+":kept", 1, counter, 1).Err())
	inspector, err := backend.NewInspector([]string{s.URL()}, prefix)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, inspector.Close()) })
	keys, err := inspector.Keys(t.Context(), 0)
	require.NoError(t, err)
	assert.Len(t, keys, 2)

	theirs := foreign.Subscribe(t.Context(), "theirs")
	t.Cleanup(func() { assert.NoError(t, theirs.Close()) })
	_, err = theirs.Receive(t.Context())
	require.NoError(t, err)
	connections, channels, err := inspector.Sockets(t.Context(), 0)
	require.NoError(t, err)
	assert.Zero(t, connections)
	assert.Empty(t, channels)

	named := redis.NewClient(&redis.Options{Addr: s.Addr(), ClientName: prefix})
	t.Cleanup(func() { assert.NoError(t, named.Close()) })
	own := named.Subscribe(t.Context(), "redlock:"+prefix+":kept")
	t.Cleanup(func() { assert.NoError(t, own.Close()) })
	_, err = own.Receive(t.Context())
	require.NoError(t, err)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		connections, channels, err := inspector.Sockets(t.Context(), 0)
		require.NoError(c, err)
		assert.Equal(c, 1, connections)
		assert.Equal(c, []string{"redlock:" + prefix + ":kept"}, channels)
	}, soon, 10*time.Millisecond)
}

func TestAnInspectorSeesKeysOfEveryType(t *testing.T) {
	t.Parallel()
	s := redisproc.ForTest(t, 1)[0]
	client := connect(t, s)
	require.NoError(t, client.Set(t.Context(), "bounded", "token", time.Hour).Err())
	require.NoError(t, client.Set(t.Context(), "eternal", "1", 0).Err())
	require.NoError(t, client.HSet(t.Context(), "hash", "field", 1).Err())
	inspector, err := backend.NewInspector([]string{s.URL()}, "")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, inspector.Close()) })
	keys, err := inspector.Keys(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, keys, 3)
	assert.InDelta(t, time.Hour, keys[0].Left, float64(soon))
	keys[0].Left = 0
	assert.Equal(t, []history.Key{
		{Name: "bounded", Token: "token"}, {Name: "eternal", Token: "1", Left: -1}, {Name: "hash", Left: -1},
	}, keys)
}

func TestMain(m *testing.M) { testmain.Run(m) }

// soon is longer than anything here takes on a busy machine.
const soon = 30 * time.Second

func TestAnUnreadableURLIsAnError(t *testing.T) {
	t.Parallel()
	_, err := backend.NewInspector([]string{"redis://127.0.0.1:1", "gopher://x"}, "")
	require.ErrorContains(t, err, "gopher")
}
