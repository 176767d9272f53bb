package fencing_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/examples/fencing"
	"github.com/redlock-go/redlock/internal/redisproc"
)

func TestAHashRefusesALateWrite(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: redisproc.ForTest(t, 1)[0].Addr()})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	store := fencing.Hash{Client: client}
	save := func(fence uint64, text string) error { return store.Save(t.Context(), fence, "report", text) }
	refusesLateWrites(t, save, func() string { return client.HGet(t.Context(), "report", "value").Val() })

	// As text the larger number can be the smaller one. And two that differ by one must differ in a double.
	require.NoError(t, store.Save(t.Context(), 9, "other", "nine"))
	require.NoError(t, store.Save(t.Context(), 10, "other", "ten"))
	require.ErrorIs(t, store.Save(t.Context(), 9, "other", "nine"), fencing.ErrStale)
	require.NoError(t, store.Save(t.Context(), 1<<53-1, "other", "the largest"))
	require.ErrorIs(t, store.Save(t.Context(), 1<<53-2, "other", "one less"), fencing.ErrStale)
}
