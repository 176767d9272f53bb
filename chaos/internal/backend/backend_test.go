package backend_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/internal/redisbox"
	"github.com/redlock-go/redlock/internal/redisproc"
)

// soon is longer than anything here takes on a busy machine.
const soon = 30 * time.Second

// Every backend does to a master what the faults need.
func TestContainersCanBeHarmed(t *testing.T) {
	t.Parallel()
	redisbox.Need(t)
	harm(t, backend.Containers)
}

func TestProcessesCanBeHarmed(t *testing.T) {
	t.Parallel()
	redisproc.Need(t)
	harm(t, backend.Processes)
}

func harm(t *testing.T, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*soon)
	defer cancel()
	b, err := backend.Open(ctx, name, 2, backend.None)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close()) })
	urls, direct := b.URLs(), b.Direct()
	require.Len(t, urls, 2)
	inspector, err := backend.NewInspector(direct)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, inspector.Close()) })
	require.NoError(t, inspector.PingAll(ctx))

	o, err := redis.ParseURL(urls[0])
	require.NoError(t, err)
	client := redis.NewClient(o)
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	require.NoError(t, client.Set(ctx, "bounded", "token", time.Hour).Err())
	require.NoError(t, client.Set(ctx, "eternal", "1", 0).Err())
	require.NoError(t, client.HSet(ctx, "hash", "field", 1).Err())
	keys, err := inspector.Keys(ctx, 0)
	require.NoError(t, err)
	require.Len(t, keys, 3)
	assert.InDelta(t, time.Hour, keys[0].Left, float64(soon))
	keys[0].Left = 0
	assert.Equal(t, []history.Key{
		{Name: "bounded", Token: "token"}, {Name: "eternal", Token: "1", Left: -1}, {Name: "hash", Left: -1},
	}, keys)

	require.NoError(t, b.Freeze(ctx, 0))
	frozen := make(chan error, 1)
	go func() { frozen <- client.Set(ctx, "late", "1", 0).Err() }()
	require.Error(t, inspector.Ping(ctx, 0), "a frozen master is silent")
	require.NoError(t, inspector.Ping(ctx, 1), "the other one is not")
	require.NoError(t, b.Thaw(ctx, 0))
	require.NoError(t, <-frozen, "a thawed master does what it was asked")
	require.Eventually(t, func() bool { return inspector.Ping(ctx, 0) == nil }, soon, 10*time.Millisecond)

	require.NoError(t, b.Kill(ctx, 0))
	require.Error(t, inspector.Ping(ctx, 0))
	require.NoError(t, b.Start(ctx, 0))
	assert.Equal(t, urls, b.URLs(), "it comes back at the same address")
	assert.Equal(t, direct, b.Direct(), "for the harness, too")
	require.NoError(t, client.Ping(ctx).Err())
	require.Eventually(t, func() bool { return inspector.Ping(ctx, 0) == nil }, soon, 10*time.Millisecond)
	keys, err = inspector.Keys(ctx, 0)
	require.NoError(t, err)
	assert.Empty(t, keys, "it comes back empty")
	up, err := inspector.Uptime(ctx, 0)
	require.NoError(t, err)
	assert.Less(t, up, soon)

	log, err := b.Log(ctx, 0)
	require.NoError(t, err)
	assert.Contains(t, log, "Ready to accept connections")
}

func TestAnUnknownBackendIsAnError(t *testing.T) {
	t.Parallel()
	_, err := backend.Open(t.Context(), "clouds", 5, backend.None)
	require.ErrorContains(t, err, `no backend is called "clouds": there are ["containers" "processes"]`)
}

func TestAnUnknownPersistenceIsAnError(t *testing.T) {
	t.Parallel()
	_, err := backend.Open(t.Context(), backend.Processes, 1, "hourly")
	require.ErrorContains(t, err, `no persistence is called "hourly"`)
}

func TestAnUnreadableURLIsAnError(t *testing.T) {
	t.Parallel()
	_, err := backend.NewInspector([]string{"redis://127.0.0.1:1", "gopher://x"})
	require.ErrorContains(t, err, "gopher")
}
