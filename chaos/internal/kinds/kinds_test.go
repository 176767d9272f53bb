package kinds_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/redlocktest"
)

func TestEveryKindOfTheLibraryHasARowAndAnUnknownOneIsAlone(t *testing.T) {
	t.Parallel()
	sharing := map[kind.Sharing]kinds.Sharing{
		kind.Alone: kinds.Alone, kind.WithAll: kinds.WithAll, kind.WithOwner: kinds.WithOwner, kind.BySlot: kinds.BySlot,
	}
	for _, k := range kind.All {
		row := kinds.Of(k.Name)
		require.Equal(t, k.Name, row.Name)
		assert.Equal(t, sharing[k.Sharing], row.Shares, k.Name)
	}
	assert.Equal(t, kinds.Alone, kinds.Of("lock of tomorrow").Shares)
	assert.Equal(t, kinds.Mutex, kinds.Of("").Name)
}

func TestEachRowAcquiresItsKind(t *testing.T) {
	t.Parallel()
	l := redlocktest.NewLocker(t, 3)
	for _, name := range kinds.Names() {
		for _, try := range []bool{false, true} {
			row := kinds.Of(name)
			names, is := []string{"a"}, name
			if row.Several {
				names, is = []string{"a", "b"}, kinds.Mutex
			}
			if row.Elected() {
				is = kinds.Mutex
			}
			request := kinds.Request{Mode: name, Names: names, Owner: "owner", Slots: 2, Try: try}
			lock, err := kinds.Product{Locker: l}.Lock(t.Context(), request)
			require.NoError(t, err, name)
			for _, n := range names {
				held, err := l.Inspect(t.Context(), n)
				require.NoError(t, err)
				assert.EqualValues(t, is, held.Kind, "%s of %q", name, n)
			}
			require.NoError(t, lock.Unlock(t.Context()))
		}
	}
}
