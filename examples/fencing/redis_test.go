package fencing_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/examples/fencing"
	"github.com/redlock-go/redlock/internal/redisproc"
)

func TestAHashRefusesALateWrite(t *testing.T) {
	redisproc.Need(t)
	server, err := redisproc.Start(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	store := fencing.Hash{Client: client}
	early, late := paused(t)

	require.NoError(t, store.Save(t.Context(), early, "report", "begun"))
	require.NoError(t, store.Save(t.Context(), late, "report", "the second holder's"))
	require.ErrorIs(t, store.Save(t.Context(), early, "report", "the first holder's"), fencing.ErrStale)
	require.NoError(t, store.Save(t.Context(), late, "report", "the second holder's, again"))
	assert.Equal(t, "the second holder's, again", client.HGet(t.Context(), "report", "value").Val())

	// As text the larger number can be the smaller one. And two that differ by one must differ in a double.
	require.NoError(t, store.Save(t.Context(), 9, "other", "nine"))
	require.NoError(t, store.Save(t.Context(), 10, "other", "ten"))
	require.ErrorIs(t, store.Save(t.Context(), 9, "other", "nine"), fencing.ErrStale)
	require.NoError(t, store.Save(t.Context(), 1<<53-1, "other", "the largest"))
	require.ErrorIs(t, store.Save(t.Context(), 1<<53-2, "other", "one less"), fencing.ErrStale)
}
