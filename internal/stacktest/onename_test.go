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
			type kind struct {
				name string
				try  func(l *redlock.Locker, who string) (*redlock.Lock, error)
			}
			kinds := []kind{
				{"mutex", func(l *redlock.Locker, _ string) (*redlock.Lock, error) { return l.TryLock(ctx, "x") }},
				{"reader", func(l *redlock.Locker, _ string) (*redlock.Lock, error) { return l.RW("x").TryRLock(ctx) }},
				{"writer", func(l *redlock.Locker, _ string) (*redlock.Lock, error) { return l.RW("x").TryLock(ctx) }},
				{"reentrant", func(l *redlock.Locker, who string) (*redlock.Lock, error) {
					return l.Reentrant("x", who).TryLock(ctx)
				}},
				{"mutex of several", func(l *redlock.Locker, _ string) (*redlock.Lock, error) {
					return l.TryLockAll(ctx, []string{"y", "x"})
				}},
			}
			var last uint64
			for _, first := range kinds {
				for _, second := range kinds {
					for _, l := range []*redlock.Locker{a, b} {
						held, err := first.try(a, "one")
						require.NoError(t, err, "%s, fencing %v", first.name, fencing)
						if fencing && first.name != "reader" {
							require.Greater(t, held.Fence(), last, first.name)
							last = held.Fence()
						}
						other, err := second.try(l, "two")
						if first.name == "reader" && second.name == "reader" {
							require.NoError(t, err)
							assert.GreaterOrEqual(t, other.Fence(), last)
							require.NoError(t, other.Unlock(ctx))
						} else {
							require.ErrorIs(t, err, redlock.ErrHeld, "%s under %s", second.name, first.name)
							var he *redlock.HeldError
							require.ErrorAs(t, err, &he)
							assert.Equal(t, "x", he.Name)
						}
						require.NoError(t, held.Unlock(ctx), first.name)
						require.ErrorIs(t, held.Unlock(ctx), redlock.ErrReleased)
					}
				}
			}
		})
	}
}
