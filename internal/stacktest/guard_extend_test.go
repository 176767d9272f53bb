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

// restoredKey is an accident in which the lock of a holder returns to a master where it never was:
//
//   - a holds the lock on masters 1 and 2, because a foreign key kept it off master 0, and then loses master 1.
//   - b asks for the lock. Master 0 grants, and restarts empty. The request is slow on its way to master 1, and arrives
//     when a's key has expired there. So b has a majority.
//   - Meanwhile an extension of a restores its key on master 0, and the next one finds it there.
//
// It returns a's lock and what b got.
func restoredKey(t *testing.T, w *world, opts ...redlock.Option) (held, got *redlock.Lock) {
	t.Helper()
	a, b := w.locker(t, "a", append(opts, redlock.WithoutKeepalive())...), w.locker(t, "b", opts...)
	w.warm(t, b)
	w.foreign("x", ttl/2, 0)
	start := time.Now()
	held = lock(t, a, "x")
	synctest.Wait()
	w.Host("a").To(1).BlackHole()
	w.Host("b").To(1).DelayWay(simnet.ToMaster, 450*time.Millisecond, 0)

	time.Sleep(time.Until(start.Add(ttl - 440*time.Millisecond)))
	asked := inBackground(func() (*redlock.Lock, error) { return b.TryLock(t.Context(), "x") })
	time.Sleep(20 * time.Millisecond)
	w.Master(0).Restart()
	for range 4 {
		time.Sleep(20 * time.Millisecond)
		go func() { _ = held.Extend(t.Context()) }()
	}
	answer := <-asked
	return held, answer.lock
}

// TestAKeyRestoredWithinTheWindowDoesNotCount holds the rule that a lock may extend itself with the vote of a restarted
// master only if its key was there before.
func TestAKeyRestoredWithinTheWindowDoesNotCount(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		held, got := restoredKey(t, w)
		require.NotNil(t, got, "b gets the lock when a's ends")
		require.ErrorIs(t, held.Err(), redlock.ErrLost, "two holders at once")
		unlock(t, got)
	})
}

// TestWithoutTheGuardARestoredKeyCounts is the control of the test above.
func TestWithoutTheGuardARestoredKeyCounts(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		held, got := restoredKey(t, w, redlock.WithoutRestartGuard())
		require.NotNil(t, got)
		assert.NoError(t, held.Err(), "two hold it")
		unlock(t, got)
	})
}

// TestARestoredKeyCountsAgainWhereTheLockWas has one master restart without its data, for longer than an extension
// takes. Another master fails a while later, within the restart window of the first.
func TestARestoredKeyCountsAgainWhereTheLockWas(t *testing.T) {
	t.Parallel()
	for _, down := range []time.Duration{100 * time.Millisecond, time.Second, 2 * time.Second} {
		t.Run(down.String(), func(t *testing.T) {
			t.Parallel()
			inWorld(t, 3, func(t *testing.T, w *world) {
				const window = time.Minute
				l := w.locker(t, "a", redlock.WithTTL(5*time.Second), redlock.WithMaxTTL(window))
				time.Sleep(window + window/50)
				held := lock(t, l, "x")
				synctest.Wait()
				time.Sleep(100 * time.Millisecond)
				w.Master(0).Crash()
				time.Sleep(down)
				w.Master(0).Start()
				time.Sleep(window / 4)
				require.Equal(t, 3, w.holders("x", held.Token()))
				w.Master(1).Crash()
				time.Sleep(window / 4)
				require.NoError(t, held.Err())
				unlock(t, held)
			})
		})
	}
}
