package redlock_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
)

func TestTheTokenOfAnUnlockedHandleIsNotItsSuccessors(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		l, other := w.locker(t, "a"), w.locker(t, "b")
		first, out := withWaiter(t, w, l, nil, nil)
		w.forget()
		unlock(t, first)
		second := ended(t, out, 0)
		require.NoError(t, second.err)
		require.Empty(t, w.asked(), "it was handed over")

		spent := first.Token()
		assert.Regexp(t, `^a:[0-9a-f]{32}$`, spent)
		assert.Equal(t, spent, first.Token(), "the same on each call")
		assert.Zero(t, w.holders("x", spent))
		require.ErrorIs(t, other.Release(t.Context(), "x", spent), redlock.ErrLost)
		synctest.Wait()
		assert.Equal(t, 3, w.holders("x", second.lock.Token()), "the successor has it still")
		assert.NotEqual(t, spent, second.lock.Token())
		unlock(t, second.lock)
	})
}

func TestATokenThatWasAskedForStaysThatOfItsHandle(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		first, out := withWaiter(t, w, w.locker(t, "a"), nil, nil)
		shown := first.Token()
		assert.Equal(t, 3, w.holders("x", shown))
		unlock(t, first)
		second := ended(t, out, time.Second)
		require.NoError(t, second.err)
		assert.Equal(t, shown, first.Token())
		assert.NotEqual(t, shown, second.lock.Token(), "it was released, not handed over")
		unlock(t, second.lock)
	})
}

// A Token that runs at the same time as Unlock either comes first, and the lock is not handed over, or returns a dead
// token.
func TestATokenAskedForDuringUnlockIsNeverTheSuccessors(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		handedOver, rounds := 0, 300
		for i := range rounds {
			first, out := withWaiter(t, w, l, nil, nil)
			var group sync.WaitGroup
			var asked string
			calls := []func(){
				func() { asked = first.Token() },
				func() { assert.NoError(t, first.Unlock(t.Context())) },
			}
			group.Go(calls[i%2])
			group.Go(calls[1-i%2])
			group.Wait()
			second := ended(t, out, time.Second)
			require.NoError(t, second.err)
			require.NotEqual(t, asked, second.lock.Token())
			require.Equal(t, asked, first.Token(), "the same on each call")
			if len(w.sets()) == 3 {
				handedOver++
			}
			unlock(t, second.lock)
			synctest.Wait()
		}
		assert.Positive(t, handedOver, "some Unlocks came first")
		assert.Less(t, handedOver, rounds, "some Tokens came first")
	})
}
