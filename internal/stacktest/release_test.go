package stacktest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/simnet"
)

// releasable are locks on x of each kind. They return their token.
func releasable() map[string]func(t *testing.T, l *redlock.Locker) (token string) {
	all := map[string]func(t *testing.T, l *redlock.Locker) string{
		"mutex with a fence": func(t *testing.T, l *redlock.Locker) string {
			return lock(t, l, "x", redlock.WithoutKeepalive(), redlock.WithFencing()).Token()
		},
		"a minimum hold": func(t *testing.T, l *redlock.Locker) string {
			lk := lock(t, l, "x", redlock.WithMinHold(ttl))
			unlock(t, lk)
			return "min-hold:" + lk.Token()
		},
	}
	for _, k := range kinds {
		all[k.name] = func(t *testing.T, l *redlock.Locker) string {
			t.Helper()
			lk, err := k.lock(t.Context(), l, redlock.WithoutKeepalive())
			require.NoError(t, err)
			return lk.Token()
		}
	}
	return all
}

func TestReleaseFreesALockOfAnyKind(t *testing.T) {
	t.Parallel()
	for name, take := range releasable() {
		subWorld(t, name, 5, func(t *testing.T, w *world) {
			holder, operator, waiter := w.locker(t, "holder"), w.locker(t, "operator"), w.locker(t, "waiter", patient)
			token := take(t, holder)
			synctest.Wait()
			waits := locking(t.Context(), waiter, "x")
			time.Sleep(time.Second)
			waiting(t, waits)

			require.ErrorIs(t, operator.Release(t.Context(), "x", "x"+token), redlock.ErrLost, "another token")
			time.Sleep(time.Second)
			waiting(t, waits)
			require.NoError(t, operator.Release(t.Context(), "x", token))
			got := granted(t, waits, 100*time.Millisecond) // it is woken
			require.ErrorIs(t, operator.Release(t.Context(), "x", token), redlock.ErrLost, "once more")
			require.NoError(t, got.Err(), "the next holder keeps it")
			unlock(t, got)
		})
	}
}

func TestReleaseWithoutAMajorityContinues(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		token := releasable()["mutex"](t, w.locker(t, "holder", redlock.WithTTL(time.Hour)))
		synctest.Wait()
		operator := w.locker(t, "operator")
		w.warm(t, operator)
		each(w.some(0, 2), (*simnet.Master).Freeze)
		err := operator.Release(t.Context(), "x", token)
		require.ErrorIs(t, err, redlock.ErrNoQuorum)
		assert.Regexp(t, `^redlock: release "x": the release continues in the background: `, err.Error())
		assert.Len(t, redlock.NodeErrors(err), 2)
		canceled, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		require.ErrorIs(t, operator.Release(canceled, "x", token), context.DeadlineExceeded)
		each(w.some(0, 2), (*simnet.Master).Thaw)
		time.Sleep(time.Minute)
		assert.Zero(t, w.keys())
	})
}
