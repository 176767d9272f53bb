package link_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/node"
)

func TestThePasswordOfTheURL(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := simnet.New(t, 1, 1)
		s := w.Master(0)
		s.RequirePassword("s:cr/t")
		for user, works := range map[string]bool{
			":s%3Acr%2Ft@": true, "default:s%3Acr%2Ft@": true, "": false, ":hunter2@": false, "default:hunter2@": false,
		} {
			err := refused(t, opened(t, "redis://"+user+s.Addr(), node.WithDialer(w.Dial)))
			if works {
				require.NoError(t, err, user)
				continue
			}
			assert.True(t, node.Permanent(err), "%v", err)
			assert.NotContains(t, err.Error(), "hunter2")
		}
	})
}

func TestCredentialsFromAFunction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := simnet.New(t, 1, 1)
		s := w.Master(0)
		s.RequirePassword("one")
		get := func(context.Context) (user, password string, err error) { panic("not set") }
		m := opened(t, s.URL(), node.WithDialer(w.Dial),
			node.WithCredentials(func(ctx context.Context) (user, password string, err error) { return get(ctx) }))
		sealed := errors.New("the vault is sealed")
		get = func(context.Context) (string, string, error) { return "", "", sealed }
		err := refused(t, m)
		require.ErrorIs(t, err, sealed)
		require.EqualError(t, err, "no credentials: the vault is sealed")
		assert.False(t, node.Permanent(err))

		get = func(ctx context.Context) (string, string, error) {
			<-ctx.Done()
			return "", "", ctx.Err()
		}
		err = refused(t, m)
		require.ErrorIs(t, err, node.ErrTimeout)
		require.EqualError(t, err, "no credentials: no answer in time")
		assert.NotErrorIs(t, err, context.DeadlineExceeded)

		get = func(context.Context) (string, string, error) { return "", "zero", nil }
		assert.True(t, node.Permanent(refused(t, m)), "a refused password")
		get = func(context.Context) (string, string, error) { return "", "one", nil }
		assert.NoError(t, refused(t, m))
		s.RequirePassword("")
		get = func(context.Context) (string, string, error) { return "", "", nil }
		assert.NoError(t, refused(t, m), "no authentication")
	})
}
