package redlocktest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/redlocktest"
)

func TestALockerLocksAtOnce(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3, 5} {
		locker := redlocktest.NewLocker(t, n, redlock.WithOwner("me"))
		lock, err := locker.TryLock(t.Context(), "name")
		require.NoError(t, err)
		assert.Contains(t, lock.Token(), "me:")
		_, err = locker.TryLock(t.Context(), "name")
		require.ErrorIs(t, err, redlock.ErrHeld)
		require.NoError(t, lock.Unlock(t.Context()))
	}
}

func TestALockerEndsWithItsTest(t *testing.T) {
	t.Parallel()
	var locker *redlock.Locker
	var lock *redlock.Lock
	t.Run("inner", func(t *testing.T) {
		locker = redlocktest.NewLocker(t, 3)
		var err error
		lock, err = locker.Lock(t.Context(), "left locked")
		require.NoError(t, err)
	})
	require.ErrorIs(t, lock.Err(), redlock.ErrClosed)
	_, err := locker.TryLock(t.Context(), "name")
	require.ErrorIs(t, err, redlock.ErrClosed)
}

func TestAnInvalidLockerFailsTheTest(t *testing.T) {
	t.Parallel()
	assert.Contains(t, fails(t, func(tb testing.TB) { redlocktest.NewLocker(tb, 2) }), "redlocktest: ")
	assert.Contains(t, fails(t, func(tb testing.TB) { redlocktest.NewLocker(tb, 3, redlock.WithTTL(-time.Second)) }), "TTL -1s")
}

// What the package is for: to see code under locks meet masters that fail.
func TestALockOutlivesAMinorityOfItsMasters(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 5)
	locker := open(t, masters, redlock.WithTTL(3*time.Second), redlock.WithNodeTimeout(time.Second))
	lock, err := locker.Lock(t.Context(), "name")
	require.NoError(t, err)

	masters[0].Stop()
	masters[1].Freeze()
	require.NoError(t, lock.Extend(t.Context()))
	require.NoError(t, lock.Err())

	masters[2].Wipe()
	masters[3].Wipe()
	masters[4].Wipe()
	select {
	case <-lock.Context().Done():
		require.ErrorIs(t, context.Cause(lock.Context()), redlock.ErrLost)
	case <-time.After(patience):
		t.Fatal("the loss was not noticed")
	}
}

func TestARestartedMasterMayNotVoteYet(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 1)
	one, another := open(t, masters, redlock.WithTTL(500*time.Millisecond)), open(t, masters, redlock.WithTTL(500*time.Millisecond))
	first, err := one.Lock(t.Context(), "name")
	require.NoError(t, err)

	masters[0].Stop()
	masters[0].Start()
	back := time.Now()

	_, err = another.TryLock(t.Context(), "name")
	require.ErrorIs(t, err, redlock.ErrNoQuorum, "it has forgotten that the name is held")
	second, err := another.Lock(t.Context(), "name")
	require.NoError(t, err, "in the end it votes")
	assert.Greater(t, time.Since(back), 500*time.Millisecond)
	require.Error(t, first.Err(), "the first holder is not one any more")
	require.NoError(t, second.Unlock(t.Context()))
}

func TestAWipeIsWhatNoGuardSees(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 1)
	one, another := open(t, masters), open(t, masters)
	_, err := one.Lock(t.Context(), "name")
	require.NoError(t, err)
	masters[0].Wipe()
	_, err = another.TryLock(t.Context(), "name")
	require.NoError(t, err)
}

func open(t *testing.T, masters []*redlocktest.Master, opts ...redlock.Option) *redlock.Locker {
	t.Helper()
	locker, err := redlock.Open(redlocktest.URLs(masters), opts...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, locker.Close()) })
	return locker
}
