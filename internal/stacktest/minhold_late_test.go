package stacktest_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/simnet"
)

// A master may execute an Unlock with a minimum hold long after it was called. The name must not stay taken there for
// the time that was left when Unlock was called: if another master then fails, no caller gets the name.
func TestAMasterThatUnlocksLateKeepsTheNameNoLonger(t *testing.T) {
	t.Parallel()
	const (
		d      = 8 * time.Second
		inTime = timeout // the repetition of an Unlock counts as executed in time if it takes no longer
	)
	for fault, tt := range map[string]struct {
		begin, end func(m *simnet.Master)
		dies       bool          // the process, after Unlock
		before     time.Duration // how long before Unlock the fault begins
		unsure     bool          // the master's grant comes too late to be counted, and the lock is not extended
	}{
		"frozen":                       {(*simnet.Master).Freeze, (*simnet.Master).Thaw, false, 0, false},
		"frozen, and the process dies": {(*simnet.Master).Freeze, (*simnet.Master).Thaw, true, 0, false},
		"frozen since an extension":    {(*simnet.Master).Freeze, (*simnet.Master).Thaw, false, 2 * time.Second, false},
		"frozen, after a late grant":   {(*simnet.Master).Freeze, (*simnet.Master).Thaw, false, 0, true},
		"unreachable":                  {(*simnet.Master).Disconnect, (*simnet.Master).Heal, false, 0, false},
		"disconnected": {
			func(m *simnet.Master) { m.Refuse(); m.Reset() }, func(m *simnet.Master) { m.Accept() }, false, 0, false,
		},
		"refusing": {
			func(m *simnet.Master) { m.Reply("READONLY You can't write against a read only replica.", "EVALSHA") },
			(*simnet.Master).Recover, false, 0, false,
		},
	} {
		for kind, acquire := range map[string]func(
			t *testing.T, l *redlock.Locker, name string, opts ...redlock.LockOption,
		) (*redlock.Lock, error){
			"mutex": func(t *testing.T, l *redlock.Locker, name string, opts ...redlock.LockOption) (*redlock.Lock, error) {
				t.Helper()
				return l.TryLock(t.Context(), name, opts...)
			},
			"writer": func(t *testing.T, l *redlock.Locker, name string, opts ...redlock.LockOption) (*redlock.Lock, error) {
				t.Helper()
				return l.RW(name).TryLock(t.Context(), opts...)
			},
			"semaphore": func(t *testing.T, l *redlock.Locker, name string, opts ...redlock.LockOption) (*redlock.Lock, error) {
				t.Helper()
				return l.Semaphore(name, 1).TryAcquire(t.Context(), opts...)
			},
		} {
			for _, lasts := range []time.Duration{700 * time.Millisecond, 2 * time.Second} {
				t.Run(fmt.Sprint(kind, ", ", fault, ", ", lasts), func(t *testing.T) {
					t.Parallel()
					inWorld(t, 3, func(t *testing.T, w *world) {
						a, b := w.locker(t, "a"), w.locker(t, "b")
						first, late := w.Masters()[0], w.Masters()[2]
						known, err := acquire(t, a, "y", redlock.WithMinHold(time.Second))
						require.NoError(t, err)
						unlock(t, known) // all masters have the scripts then
						synctest.Wait()

						hold := 3500 * time.Millisecond // longer than the interval of extensions
						if tt.unsure {
							late.DelayWay(simnet.FromMaster, timeout+10*time.Millisecond, 0)
							hold = 3 * time.Second
						}
						lk, err := acquire(t, a, "x", redlock.WithMinHold(d))
						require.NoError(t, err)
						ends := time.Now().Add(d + d/100 + 2*time.Millisecond) // the drift is added
						time.Sleep(hold - tt.before)
						late.DelayWay(simnet.FromMaster, 0, 0)
						tt.begin(late)
						time.Sleep(tt.before)
						unlock(t, lk)
						synctest.Wait() // it returns at the majority
						if tt.dies {
							w.Host("a").Kill()
						}
						time.Sleep(lasts)
						tt.end(late)
						time.Sleep(2 * time.Second) // until the node has asked the master again
						h, err := b.Inspect(t.Context(), "x")
						require.NoError(t, err)
						assert.LessOrEqual(t, h.Nodes[2].Left, time.Until(ends)+inTime)
						first.Freeze() // the second fault
						synctest.Wait()
						_, err = acquire(t, b, "x")
						require.ErrorIs(t, err, redlock.ErrHeld)
						time.Sleep(time.Until(ends) + inTime + 10*time.Millisecond)
						again, err := acquire(t, b, "x")
						first.Thaw()
						if assert.NoError(t, err) {
							unlock(t, again)
						}
					})
				})
			}
		}
	}
}

// A master that always answers after the node timeout never executes an Unlock in time. It is asked again less and less
// often, and a Close does not wait for it.
func TestASlowMasterIsNotAskedForever(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		slow := w.Masters()[2]
		unlock(t, lock(t, l, "y", redlock.WithMinHold(time.Second)))
		time.Sleep(2 * time.Second)
		require.Zero(t, w.keys(), "y has ended on every master")
		w.Host("a").To(2).Delay(timeout, 0)
		x := lock(t, l, "x", redlock.WithMinHold(9*time.Second), redlock.WithoutKeepalive())
		time.Sleep(timeout + timeout/10)
		require.NotEmpty(t, slow.Get("x"), "the slow master has executed the acquire")
		before := slow.Count("EVALSHA") + slow.Count("EVAL")
		unlock(t, x)
		time.Sleep(20 * time.Second)
		asked := slow.Count("EVALSHA") + slow.Count("EVAL") - before
		assert.Equal(t, 5, asked, "at about 0.5, 1.5, 3.5, 7.5 and 15.5 s after Unlock")
		began := time.Now()
		require.NoError(t, l.Close())
		assert.Less(t, time.Since(began), 3*timeout)
	})
}

// An Unlock that was sent again counts only where the name is kept: another client may have it where it is not.
func TestAMasterThatLostTheNameDoesNotKeepIt(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		lk := lock(t, l, "x", redlock.WithMinHold(5*time.Second), redlock.WithoutKeepalive())
		synctest.Wait()
		down, lossy := w.Masters()[1], w.Masters()[2]
		down.Crash()
		lossy.Evict("x")
		var calls atomic.Int64
		lossy.HangUp(func([]string) bool { return calls.Add(1) == 1 })
		require.ErrorIs(t, lk.Unlock(t.Context()), redlock.ErrNoQuorum)
	})
}
