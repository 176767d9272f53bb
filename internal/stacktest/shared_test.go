package stacktest_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/kind"
)

func reenter(t testing.TB, l *redlock.Locker, name, owner string, opts ...redlock.LockOption) *redlock.Lock {
	t.Helper()
	lk, err := l.Reentrant(name, owner).TryLock(t.Context(), opts...)
	require.NoError(t, err)
	return lk
}

// depth returns how many holds the owner of a reentrant lock has, as the masters say.
func depth(t testing.TB, l *redlock.Locker, name string) int {
	t.Helper()
	seen, err := l.Inspect(t.Context(), name)
	require.NoError(t, err)
	return seen.Depth
}

func TestAnOwnerLocksAgainAnywhere(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a", redlock.WithFencing()), w.locker(t, "b", redlock.WithFencing())
		outer := reenter(t, a, "x", "me")
		assert.Equal(t, 1, depth(t, a, "x"))
		assert.True(t, strings.HasPrefix(outer.Token(), "me:"))
		time.Sleep(time.Second) // the hints of the inner holds are larger than the token
		inner, elsewhere := reenter(t, a, "x", "me"), reenter(t, b, "x", "me")
		for _, lk := range []*redlock.Lock{outer, inner, elsewhere} {
			assert.Equal(t, outer.Fence(), lk.Fence(), "one ownership, one fencing token")
		}
		for _, l := range []*redlock.Locker{a, b} {
			assert.Equal(t, 3, depth(t, l, "x"))
			_, err := l.Reentrant("x", "you").TryLock(t.Context())
			var he *redlock.HeldError
			require.ErrorAs(t, err, &he)
			assert.EqualValues(t, "reentrant", he.Kind)
		}
		unlock(t, outer)
		synctest.Wait() // it returns at the majority
		assert.Equal(t, 2, depth(t, a, "x"))
		unlock(t, elsewhere)
		time.Sleep(3 * ttl)
		assert.Equal(t, 1, depth(t, b, "x"))
		unlock(t, inner)

		next := reenter(t, b, "x", "me")
		assert.Greater(t, next.Fence(), outer.Fence(), "another ownership")
		unlock(t, next)
		assert.Empty(t, w.leftovers("x"))
	})
}

// The other owner waits for this one.
func TestAnInnerLockNeverWaitsForAnotherOwner(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a"), w.locker(t, "b")
		outer := reenter(t, b, "x", "me") // in another process
		var strangers sync.WaitGroup
		for _, f := range []func() (*redlock.Lock, error){
			func() (*redlock.Lock, error) { return a.Reentrant("x", "you").Lock(t.Context()) },
			func() (*redlock.Lock, error) { return a.Lock(t.Context(), "x") },
			func() (*redlock.Lock, error) { return a.RW("x").Lock(t.Context()) },
		} {
			strangers.Go(func() {
				lk, err := f()
				if assert.NoError(t, err) {
					assert.NoError(t, lk.Unlock(t.Context()))
				}
			})
		}
		time.Sleep(time.Minute)
		inner := inBackground(func() (*redlock.Lock, error) { return a.Reentrant("x", "me").Lock(t.Context()) })
		unlock(t, granted(t, inner, 100*time.Millisecond))
		unlock(t, outer)
		strangers.Wait()
	})
}

func rlock(t testing.TB, l *redlock.Locker, name string, opts ...redlock.LockOption) *redlock.Lock {
	t.Helper()
	lk, err := l.RW(name).TryRLock(t.Context(), opts...)
	require.NoError(t, err)
	return lk
}

// leftovers are the keys on all masters but for the fences, which are meant to stay.
func (w *world) leftovers(name string) (keys []string) {
	synctest.Wait() // an Unlock returns at the majority
	for _, m := range w.Masters() {
		for _, key := range m.Keys() {
			if key != kind.FenceKey(name) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

func TestReadersShareAndAWriterWaitsForTheLast(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		a, b, c := w.locker(t, "a"), w.locker(t, "b"), w.locker(t, "c", patient)
		one, two, three := rlock(t, a, "x"), rlock(t, a, "x"), rlock(t, b, "x")
		writer := inBackground(func() (*redlock.Lock, error) { return c.RW("x").Lock(t.Context()) })
		for _, lk := range []*redlock.Lock{one, three, two} {
			time.Sleep(20 * time.Second) // keepalive holds them
			waiting(t, writer)
			unlock(t, lk)
		}
		unlock(t, granted(t, writer, 100*time.Millisecond))
		assert.Empty(t, w.leftovers("x"))
	})
}

// The head of a queue leaves its own intent, so a writer after it in the queue is not starved either, and each intent
// goes with the waiter that left it.
func TestAWriterBehindAMutexKeepsNewReadersOut(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a"), w.locker(t, "b")
		in := rlock(t, a, "x")
		ctx, cancel := context.WithCancel(t.Context())
		mutex := inBackground(func() (*redlock.Lock, error) { return b.Lock(ctx, "x") })
		writer := inBackground(func() (*redlock.Lock, error) { return b.RW("x").Lock(t.Context()) })
		keptOut := func() {
			for range 10 {
				time.Sleep(700 * time.Millisecond)
				_, err := a.RW("x").TryRLock(t.Context())
				require.ErrorIs(t, err, redlock.ErrHeld)
			}
		}
		keptOut()
		cancel()
		require.Error(t, ended(t, mutex, 0).err)
		keptOut() // by the writer, which is the head now
		unlock(t, in)
		unlock(t, granted(t, writer, 50*time.Millisecond))
		assert.Empty(t, w.leftovers("x"))
	})
}
