package stacktest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/simnet"
)

func TestNoHandOverShortensAMinHold(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		a := w.locker(t, "a")
		lk := lock(t, a, "x", redlock.WithMinHold(5*time.Second))
		began := time.Now()
		out := locking(t.Context(), a, "x")
		time.Sleep(time.Second)
		unlock(t, lk)
		_, err := a.TryLock(t.Context(), "x")
		require.ErrorIs(t, err, redlock.ErrHeld)
		got := granted(t, out, 5*time.Second)
		assert.GreaterOrEqual(t, time.Since(began), 5*time.Second)
		unlock(t, got)
	})
}

// A minimum hold keeps other owners out, and not the owner, who may hold the lock still.
func TestAReentrantOwnerLocksAgainDuringItsMinHold(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		const d = 8 * time.Second
		a, b := w.locker(t, "a", redlock.WithFencing()), w.locker(t, "b", redlock.WithFencing())
		outer := reenter(t, a, "x", "me", redlock.WithMinHold(d))
		time.Sleep(time.Second)
		inner := reenter(t, a, "x", "me", redlock.WithMinHold(d))
		acquired := time.Now()
		unlock(t, inner)
		synctest.Wait()
		assert.Equal(t, 1, inspect(t, b, "x").Depth)

		for _, l := range []*redlock.Locker{a, b} {
			again := reenter(t, l, "x", "me")
			assert.Equal(t, outer.Fence(), again.Fence())
			unlock(t, again)
		}
		unlock(t, outer)
		again := reenter(t, b, "x", "me") // all holds have ended
		unlock(t, again)
		for _, owner := range []string{"you", "min", "m"} {
			_, err := b.Reentrant("x", owner).TryLock(t.Context())
			require.ErrorIs(t, err, redlock.ErrHeld, owner)
		}
		stranger := inBackground(func() (*redlock.Lock, error) { return b.Reentrant("x", "you").Lock(t.Context()) })
		got := granted(t, stranger, d+time.Second)
		assert.GreaterOrEqual(t, time.Since(acquired), d)
		assert.Less(t, time.Since(acquired), d+drift+50*time.Millisecond)
		unlock(t, got)
	})
}

// A release that is repeated on a master that was frozen must not begin the time again.
func TestAMinHoldSurvivesAFrozenMinority(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a"), w.locker(t, "b")
		lk := lock(t, a, "x", redlock.WithMinHold(8*time.Second))
		began := time.Now()
		synctest.Wait() // until every master has granted: the release drops what is not written yet
		each(w.some(0, 2), (*simnet.Master).Freeze)
		unlock(t, lk)
		time.Sleep(3 * time.Second)
		each(w.some(0, 2), (*simnet.Master).Thaw)
		_, err := b.TryLock(t.Context(), "x")
		require.ErrorIs(t, err, redlock.ErrHeld)
		got := granted(t, locking(t.Context(), b, "x"), 8*time.Second)
		assert.GreaterOrEqual(t, time.Since(began), 8*time.Second)
		assert.Less(t, time.Since(began), 9*time.Second)
		unlock(t, got)
		time.Sleep(30 * time.Second)
		each(w.Masters(), func(m *simnet.Master) { assert.Empty(t, m.Get("x")) })
	})
}
