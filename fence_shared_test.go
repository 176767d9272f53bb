package redlock_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
)

// A writer that was granted by a minority has counted there, and did not get the lock. A reader that meets one of those has its
// count, one that does not has the last writer's: both are in order, and not the same.
func TestReadersTogetherMayHaveDifferentFences(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a", redlock.WithFencing())
		before, err := l.RW("x").TryLock(t.Context())
		require.NoError(t, err)
		unlock(t, before)
		synctest.Wait()
		count(w.Master(0), "x", strconv.FormatUint(before.Fence()+7, 10)) // of an attempt that failed

		w.Master(0).Freeze()
		first := rlock(t, l, "x")
		w.Master(0).Thaw()
		time.Sleep(time.Second) // for what it was sent while it was frozen
		w.Master(1).Freeze()
		second := rlock(t, l, "x")
		w.Master(1).Thaw()

		assert.Greater(t, first.Fence(), before.Fence())
		assert.Greater(t, second.Fence(), first.Fence())
		unlock(t, first)
		unlock(t, second)
		after, err := l.RW("x").TryLock(t.Context())
		require.NoError(t, err)
		assert.Greater(t, after.Fence(), second.Fence())
		unlock(t, after)
	})
}
