package redlock_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
)

func TestKeyedLocksByKey(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		k := l.Keyed()
		require.NoError(t, k.Lock(t.Context(), "x"))
		require.NoError(t, k.Lock(t.Context(), "y"))
		_, err := l.TryLock(t.Context(), "x")
		require.ErrorIs(t, err, redlock.ErrHeld, "a key is a mutex name")
		ctx := k.Context("x")
		require.NoError(t, ctx.Err())
		require.NoError(t, k.Unlock(t.Context(), "x"))
		require.ErrorIs(t, context.Cause(ctx), redlock.ErrReleased)
		require.NoError(t, k.Context("y").Err())
		require.NoError(t, k.Unlock(t.Context(), "y"))
		unlock(t, lock(t, l, "x"))
	})
}

func TestKeyedTryLock(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a"), w.locker(t, "b").Keyed()
		k := a.Keyed(redlock.WithFencing())
		for range 2 {
			ok, err := k.TryLock(t.Context(), "x")
			require.NoError(t, err)
			require.True(t, ok)
			held, found := redlock.FromContext(k.Context("x"))
			require.True(t, found)
			assert.NotZero(t, held.Fence(), "the options apply")
			w.forget()
			ok, err = k.TryLock(t.Context(), "x")
			require.NoError(t, err)
			assert.False(t, ok, "held in this Keyed")
			assert.Empty(t, w.asked())
			ok, err = b.TryLock(t.Context(), "x")
			require.NoError(t, err)
			assert.False(t, ok, "held by another Locker")
			require.NoError(t, k.Unlock(t.Context(), "x"))
		}
		for _, m := range w.some(0, 2) {
			m.Freeze()
		}
		ok, err := k.TryLock(t.Context(), "x")
		require.ErrorIs(t, err, redlock.ErrNoQuorum)
		assert.False(t, ok)
		w.Heal()
	})
}

func TestUnlockOfAKeyThatIsNotHeld(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		k := w.locker(t, "a").Keyed()
		err := k.Unlock(t.Context(), "x")
		require.ErrorIs(t, err, redlock.ErrReleased)
		assert.ErrorContains(t, err, `unlock "x"`)
		assert.ErrorContains(t, err, "call Lock before")
		require.ErrorIs(t, context.Cause(k.Context("x")), redlock.ErrReleased)
		require.NoError(t, k.Lock(t.Context(), "x"))
		require.NoError(t, k.Unlock(t.Context(), "x"))
		require.ErrorIs(t, k.Unlock(t.Context(), "x"), redlock.ErrReleased)
		assert.Error(t, k.Lock(t.Context(), ""))
		ok, err := k.TryLock(t.Context(), "")
		assert.False(t, ok)
		assert.Error(t, err)
	})
}

func TestCallersOfAKeyedGetAKeyInOrder(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		k := w.locker(t, "a").Keyed()
		require.NoError(t, k.Lock(t.Context(), "x"))
		var order []int
		var callers sync.WaitGroup
		ctx := t.Context()
		for i := range 10 {
			callers.Go(func() {
				assert.NoError(t, k.Lock(ctx, "x"))
				order = append(order, i)
				assert.NoError(t, k.Unlock(ctx, "x"))
			})
			synctest.Wait()
		}
		assert.Empty(t, order)

		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		err := k.Lock(short, "x")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, redlock.ErrHeld)
		require.NoError(t, k.Unlock(ctx, "x"))
		callers.Wait()
		assert.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, order)
	})
}

// Were the key free after the loss, the late Unlock of the first caller would unlock the key of the second.
func TestALostKeyIsTakenUntilItIsUnlocked(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		k, other := w.locker(t, "a").Keyed(redlock.WithoutKeepalive()), w.locker(t, "b")
		require.NoError(t, k.Lock(t.Context(), "x"))
		time.Sleep(2 * ttl)
		require.ErrorIs(t, context.Cause(k.Context("x")), redlock.ErrLost)
		unlock(t, lock(t, other, "x")) // other processes need not wait for the caller
		ok, err := k.TryLock(t.Context(), "x")
		require.NoError(t, err)
		require.False(t, ok)

		second := make(chan error, 1)
		ctx := t.Context()
		go func() { second <- k.Lock(ctx, "x") }()
		synctest.Wait()
		require.Empty(t, second)
		require.ErrorIs(t, k.Unlock(t.Context(), "x"), redlock.ErrLost)
		require.NoError(t, <-second)
		require.NoError(t, k.Context("x").Err())
		require.NoError(t, k.Unlock(t.Context(), "x"))
	})
}

// The next caller has passed the gate of the key and waits for another process.
func TestASecondUnlockOfAKeyLeavesTheNextCallerAlone(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		k, other := w.locker(t, "a").Keyed(redlock.WithoutKeepalive()), w.locker(t, "b")
		require.NoError(t, k.Lock(t.Context(), "x"))
		time.Sleep(2 * ttl)
		held := lock(t, other, "x")
		next := make(chan error, 1)
		ctx := t.Context()
		go func() { next <- k.Lock(ctx, "x") }()
		synctest.Wait()
		require.ErrorIs(t, k.Unlock(t.Context(), "x"), redlock.ErrLost)
		synctest.Wait()
		require.ErrorContains(t, k.Unlock(t.Context(), "x"), "call Lock before")
		w.forget()
		ok, err := k.TryLock(t.Context(), "x")
		require.NoError(t, err)
		assert.False(t, ok)
		assert.Empty(t, w.asked(), "the next caller has the key in this Keyed")
		unlock(t, held)
		require.NoError(t, <-next)
		require.NoError(t, k.Unlock(t.Context(), "x"))
	})
}

func TestCloseEndsTheCallersOfAKeyed(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		k := l.Keyed()
		require.NoError(t, k.Lock(t.Context(), "x"))
		waiter := make(chan error, 1)
		ctx := t.Context()
		go func() { waiter <- k.Lock(ctx, "x") }()
		synctest.Wait()
		held := k.Context("x")
		require.NoError(t, l.Close())
		require.ErrorIs(t, <-waiter, redlock.ErrClosed)
		require.ErrorIs(t, context.Cause(held), redlock.ErrClosed)
		require.ErrorIs(t, k.Unlock(t.Context(), "x"), redlock.ErrClosed)
		require.ErrorIs(t, k.Lock(t.Context(), "x"), redlock.ErrClosed)
	})
}

// A callback that panics leaves no key taken.
func TestAPanicLeavesNoKeyTaken(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		panics := ""
		do := func(callback string) {
			if callback == panics {
				panic("the caller's")
			}
		}
		k := w.locker(t, "a", redlock.WithTrace(&redlock.Trace{
			AcquireEnd: func(context.Context, redlock.AcquireEndEvent) { do("acquire") },
			Unlocked:   func(context.Context, redlock.UnlockedEvent) { do("unlock") },
		})).Keyed()
		panics = "acquire"
		assert.Panics(t, func() { _ = k.Lock(t.Context(), "x") })
		assert.Panics(t, func() { _, _ = k.TryLock(t.Context(), "x") })
		panics = "unlock"
		require.NoError(t, k.Lock(within(t, time.Second), "x"))
		assert.Panics(t, func() { _ = k.Unlock(t.Context(), "x") })
		panics = ""
		require.NoError(t, k.Lock(within(t, time.Second), "x"))
		require.NoError(t, k.Unlock(t.Context(), "x"))
	})
}
