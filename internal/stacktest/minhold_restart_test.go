package stacktest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/simnet"
)

// restoredMinHold is the accident of restoredKey, with a lock that is unlocked during its minimum hold. It returns what
// b got, and the result of the Unlock.
func restoredMinHold(t *testing.T, w *world, opts ...redlock.Option) (got *redlock.Lock, unlocked error) {
	t.Helper()
	opts = append(opts, redlock.WithMinHold(3*ttl/2), redlock.WithoutKeepalive())
	a, b := w.locker(t, "a", opts...), w.locker(t, "b", opts...)
	for _, l := range []*redlock.Locker{a, b} {
		unlock(t, lock(t, l, "warm up", redlock.WithMinHold(0)))
		synctest.Wait()
	}
	w.foreign("x", ttl/2, 0)
	start := time.Now()
	job := lock(t, a, "x")
	synctest.Wait()
	w.Host("a").To(2).BlackHole()
	for _, i := range []int{1, 2} {
		w.Host("b").To(i).DelayWay(simnet.ToMaster, 450*time.Millisecond, 0)
	}

	time.Sleep(time.Until(start.Add(ttl - 440*time.Millisecond)))
	asked := inBackground(func() (*redlock.Lock, error) { return b.TryLock(t.Context(), "x") })
	time.Sleep(20 * time.Millisecond)
	w.Master(0).Restart()
	for range 4 {
		time.Sleep(20 * time.Millisecond)
		go func() { _ = job.Extend(t.Context()) }()
	}
	time.Sleep(20 * time.Millisecond)
	require.NoError(t, job.Err())
	unlocked = job.Unlock(t.Context())
	return (<-asked).lock, unlocked
}

// TestAMinHoldIsNotConfirmedByARestoredKey holds the rule that a master which restarted confirms a minimum hold only if
// the lock was there before.
func TestAMinHoldIsNotConfirmedByARestoredKey(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		got, unlocked := restoredMinHold(t, w)
		require.NotNil(t, got, "b gets the lock when the keys of a end")
		require.ErrorIs(t, unlocked, redlock.ErrNoQuorum, "the job may run twice")
	})
}

// TestWithoutTheGuardARestoredKeyConfirmsAMinHold is the control of the test above.
func TestWithoutTheGuardARestoredKeyConfirmsAMinHold(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		got, unlocked := restoredMinHold(t, w, redlock.WithoutRestartGuard())
		require.NotNil(t, got)
		require.NoError(t, unlocked)
	})
}

// TestAMinHoldLastsOnFastMasters has the clocks of all masters gain less than half of the drift budget.
func TestAMinHoldLastsOnFastMasters(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		const d = 9 * time.Second
		a, b := w.locker(t, "a"), w.locker(t, "b", redlock.WithRetry(time.Millisecond, time.Millisecond))
		for _, m := range w.Masters() {
			m.Rate(1.004)
		}
		job := lock(t, a, "x", redlock.WithMinHold(d))
		acquired := time.Now()
		unlock(t, job)
		time.Sleep(d - 100*time.Millisecond)
		got := granted(t, locking(t.Context(), b, "x"), 2*d)
		require.GreaterOrEqual(t, time.Since(acquired), d)
		unlock(t, got)
	})
}
