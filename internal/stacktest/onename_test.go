package stacktest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
)

func TestOneNameIsOneLock(t *testing.T) {
	t.Parallel()
	for _, fencing := range []bool{false, true} {
		inWorld(t, 5, func(t *testing.T, w *world) {
			var opts []redlock.Option
			if fencing {
				opts = append(opts, redlock.WithFencing())
			}
			a, b := w.locker(t, "a", opts...), w.locker(t, "b", opts...)
			ctx := t.Context()
			var last uint64
			for _, first := range permitless {
				for _, second := range permitless {
					for _, l := range []*redlock.Locker{a, b} {
						held, err := first.try(ctx, a)
						require.NoError(t, err, "%s, fencing %v", first.name, fencing)
						if fencing && first.name != "reader" {
							require.Greater(t, held.Fence(), last, first.name)
							last = held.Fence()
						}
						other, err := second.try(ctx, l)
						together := first.name == "reader" || first.name == "reentrant" && l == a
						if together && first.name == second.name {
							require.NoError(t, err)
							assert.GreaterOrEqual(t, other.Fence(), last)
							require.NoError(t, other.Unlock(ctx))
						} else {
							require.ErrorIs(t, err, redlock.ErrHeld, "%s under %s", second.name, first.name)
							var he *redlock.HeldError
							require.ErrorAs(t, err, &he)
							assert.Contains(t, first.names, he.Name)
						}
						require.NoError(t, held.Unlock(ctx), first.name)
						require.ErrorIs(t, held.Unlock(ctx), redlock.ErrReleased)
					}
				}
			}
		})
	}
}
