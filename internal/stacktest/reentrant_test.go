package stacktest_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
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
	t.Parallel()
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

func TestTheLastReleaseWakesTheWaiters(t *testing.T) {
	t.Parallel()
	inWorld(t, 5, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a"), w.locker(t, "b", patient)
		outer, inner := reenter(t, a, "x", "me"), reenter(t, a, "x", "me")
		stranger := inBackground(func() (*redlock.Lock, error) { return b.Reentrant("x", "you").Lock(t.Context()) })
		time.Sleep(time.Second)
		unlock(t, outer)
		time.Sleep(time.Minute)
		waiting(t, stranger)
		unlock(t, inner)
		got := ended(t, stranger, 100*time.Millisecond)
		require.NoError(t, got.err)
		unlock(t, got.lock)
	})
}

// The other owner waits for this one.
func TestAnInnerLockNeverWaitsForAnotherOwner(t *testing.T) {
	t.Parallel()
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
		got := ended(t, inner, 100*time.Millisecond)
		require.NoError(t, got.err)
		unlock(t, got.lock)
		unlock(t, outer)
		strangers.Wait()
	})
}

func TestACrashedHoldersHoldEndsByItself(t *testing.T) {
	t.Parallel()
	inWorld(t, 5, func(t *testing.T, w *world) {
		a, b, c := w.locker(t, "a"), w.locker(t, "b"), w.locker(t, "c")
		lives := reenter(t, a, "x", "me")
		reenter(t, b, "x", "me")
		require.Equal(t, 2, depth(t, a, "x"))
		w.Host("b").Freeze()
		time.Sleep(2 * ttl)
		assert.Equal(t, 1, depth(t, a, "x"))
		unlock(t, lives)
		unlock(t, reenter(t, c, "x", "you"))
	})
}

func TestAnInnerHoldWithAShorterTTLDoesNotShortenTheOuters(t *testing.T) {
	t.Parallel()
	inWorld(t, 5, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a"), w.locker(t, "b")
		outer := reenter(t, a, "x", "me", redlock.WithoutKeepalive())
		inner := reenter(t, a, "x", "me", redlock.WithoutKeepalive(), redlock.WithTTL(2*time.Second))
		time.Sleep(3 * time.Second)
		require.ErrorIs(t, inner.Err(), redlock.ErrLost)
		require.NoError(t, outer.Err())
		assert.Equal(t, 1, depth(t, b, "x"))
		_, err := b.Reentrant("x", "you").TryLock(t.Context())
		require.ErrorIs(t, err, redlock.ErrHeld)
		unlock(t, outer)
	})
}

func TestDepthIsTheUnionOfWhatAMajorityKnows(t *testing.T) {
	t.Parallel()
	inWorld(t, 5, func(t *testing.T, w *world) {
		l := w.locker(t, "a", redlock.WithoutKeepalive())
		var holds []*redlock.Lock
		for _, away := range [][]int{{0, 1}, {2, 3}, {4, 0}} { // each hold sits on a majority of its own
			for _, i := range away {
				w.Master(i).BlackHole()
			}
			holds = append(holds, reenter(t, l, "x", "me"))
			for _, i := range away {
				w.Master(i).Heal()
			}
			time.Sleep(time.Second)
		}
		w.Master(2).Redis().Del("x")
		w.foreign("x", time.Minute, 2) // a stranger's, on one master
		seen, err := l.Inspect(t.Context(), "x")
		require.NoError(t, err)
		assert.EqualValues(t, "reentrant", seen.Kind)
		assert.Equal(t, 3, seen.Depth)
		for _, lk := range holds {
			unlock(t, lk)
		}
	})
}

func TestManyOwnersTakeTurns(t *testing.T) {
	t.Parallel()
	inWorld(t, 5, func(t *testing.T, w *world) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		holds := make(map[string]int) // by owner
		for _, host := range []string{"a", "b"} {
			l := w.locker(t, host)
			for _, owner := range []string{"one", "two", "three"} {
				wg.Go(func() {
					for range 10 {
						outer, err := l.Reentrant("x", owner).Lock(t.Context())
						if !assert.NoError(t, err) {
							return
						}
						mu.Lock()
						holds[owner]++
						for other, n := range holds {
							assert.True(t, other == owner || n == 0, "%s together with %s", owner, other)
						}
						mu.Unlock()
						inner, err := l.Reentrant("x", owner).Lock(t.Context())
						if assert.NoError(t, err) {
							time.Sleep(time.Millisecond)
							assert.NoError(t, inner.Unlock(t.Context()))
						}
						mu.Lock()
						holds[owner]--
						mu.Unlock()
						assert.NoError(t, outer.Unlock(t.Context()))
					}
				})
			}
		}
		wg.Wait()
		assert.Empty(t, w.leftovers("x"))
	})
}
