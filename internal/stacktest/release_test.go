package stacktest_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
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
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, 5, func(t *testing.T, w *world) {
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
				got := ended(t, waits, 100*time.Millisecond) // it is woken
				require.NoError(t, got.err)
				require.ErrorIs(t, operator.Release(t.Context(), "x", token), redlock.ErrLost, "once more")
				require.NoError(t, got.lock.Err(), "the next holder keeps it")
				unlock(t, got.lock)
			})
		})
	}
}

func TestReleaseLeavesTheOtherHolders(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(l *redlock.Locker) ctxLock{
		"reader":    func(l *redlock.Locker) ctxLock { return l.RW("x").RLock },
		"reentrant": func(l *redlock.Locker) ctxLock { return l.Reentrant("x", "owner").Lock },
		"permit":    func(l *redlock.Locker) ctxLock { return l.Semaphore("x", 3).Acquire },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, 3, func(t *testing.T, w *world) {
				stays, err := take(w.locker(t, "one"))(t.Context())
				require.NoError(t, err)
				synctest.Wait() // all masters have answered
				goes, err := take(w.locker(t, "two"))(t.Context())
				require.NoError(t, err)
				operator := w.locker(t, "operator")
				require.NoError(t, operator.Release(t.Context(), "x", goes.Token()))
				synctest.Wait() // it is connected to all masters
				holding, err := operator.Inspect(t.Context(), "x")
				require.NoError(t, err)
				require.Len(t, holding.Holders, 1)
				assert.Equal(t, stays.Token(), holding.Holders[0].Token)
				assert.Equal(t, 3, holding.Holders[0].Votes)
			})
		})
	}
}

func TestReleaseOfALockOfAnotherClient(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		w.foreign("x", ttl, 0, 1, 2)
		l := w.locker(t, "operator")
		holding, err := l.Inspect(t.Context(), "x")
		require.NoError(t, err)
		require.NoError(t, l.Release(t.Context(), "x", holding.Holders[0].Token))
		synctest.Wait()
		assert.Zero(t, w.keys())
	})
}

func TestReleaseWithoutAMajorityContinues(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		token := releasable()["mutex"](t, w.locker(t, "holder", redlock.WithTTL(time.Hour)))
		synctest.Wait()
		operator := w.locker(t, "operator")
		w.warm(t, operator)
		for _, m := range w.some(0, 2) {
			m.Freeze()
		}
		err := operator.Release(t.Context(), "x", token)
		require.ErrorIs(t, err, redlock.ErrNoQuorum)
		assert.Regexp(t, `^redlock: release "x": the release continues in the background: `, err.Error())
		assert.Len(t, redlock.NodeErrors(err), 2)
		canceled, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		require.ErrorIs(t, operator.Release(canceled, "x", token), context.DeadlineExceeded)
		for _, m := range w.some(0, 2) {
			m.Thaw()
		}
		time.Sleep(time.Minute)
		assert.Zero(t, w.keys())
	})
}

// A majority does not have the token. The minority that has it loses it.
func TestReleaseOfALockThatIsLost(t *testing.T) {
	t.Parallel()
	inWorld(t, 5, func(t *testing.T, w *world) {
		token := releasable()["mutex"](t, w.locker(t, "holder"))
		synctest.Wait()
		for _, m := range w.some(0, 3) {
			m.Wipe()
		}
		require.ErrorIs(t, w.locker(t, "operator").Release(t.Context(), "x", token), redlock.ErrLost)
		synctest.Wait()
		assert.Zero(t, w.keys())
	})
}

func TestTheHandleLearnsOfARelease(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "holder")
		for name, learn := range map[string]func(lk *redlock.Lock) error{
			"by the keepalive": func(lk *redlock.Lock) error { <-lk.Context().Done(); return lk.Err() },
			"by Unlock":        func(lk *redlock.Lock) error { return lk.Unlock(t.Context()) },
			"by Extend":        func(lk *redlock.Lock) error { return lk.Extend(t.Context()) },
		} {
			lk := lock(t, l, name)
			require.NoError(t, l.Release(t.Context(), name, lk.Token()), name)
			require.ErrorIs(t, learn(lk), redlock.ErrLost, name)
			_ = lk.Unlock(t.Context())
			synctest.Wait()
			unlock(t, lock(t, w.locker(t, "next"), name))
		}
	})
}

func TestWhatReleaseRefuses(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "operator")
		w.warm(t, l)
		w.forget()
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		for _, tc := range []struct {
			ctx               context.Context
			name, token, says string
		}{
			{t.Context(), "", "t", "name is empty"},
			{t.Context(), "x", "", "token is empty"},
			{t.Context(), "x", strings.Repeat("t", 4097), "4096"},
			{t.Context(), "redlock:fence:x", "t", "is taken"},
			{canceled, "x", "t", "not asked: context canceled"},
		} {
			require.ErrorContains(t, l.Release(tc.ctx, tc.name, tc.token), tc.says)
		}
		assert.Empty(t, w.asked(), "nothing was sent")
		require.NoError(t, l.Close())
		require.ErrorIs(t, l.Release(t.Context(), "x", "t"), redlock.ErrClosed)
	})
}
