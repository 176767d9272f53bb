package stacktest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/simnet"
)

// suspend suspends a host for d: its clock stands still, and time passes for the other hosts.
func (w *world) suspend(host string, d time.Duration) {
	w.Host(host).Suspend()
	time.Sleep(d)
	w.Host(host).Resume()
}

func TestALockThatEndedDuringASuspensionIsLost(t *testing.T) {
	t.Parallel()
	for name, check := range map[string]func(t *testing.T, w *world, lk *redlock.Lock){
		"Err": func(t *testing.T, _ *world, lk *redlock.Lock) {
			t.Helper()
			assert.ErrorIs(t, lk.Err(), redlock.ErrLost)
			assert.ErrorIs(t, context.Cause(lk.Context()), redlock.ErrLost)
		},
		"Context": func(t *testing.T, _ *world, lk *redlock.Lock) {
			t.Helper()
			select {
			case <-lk.Context().Done():
				assert.ErrorIs(t, context.Cause(lk.Context()), redlock.ErrLost)
			case <-time.After(time.Second + time.Millisecond):
				assert.Fail(t, "the holder was not notified")
			}
		},
		"Unlock": func(t *testing.T, _ *world, lk *redlock.Lock) {
			t.Helper()
			assert.ErrorIs(t, lk.Unlock(t.Context()), redlock.ErrLost)
		},
		"Extend": func(t *testing.T, _ *world, lk *redlock.Lock) {
			t.Helper()
			require.ErrorIs(t, lk.Extend(t.Context()), redlock.ErrLost)
			assert.ErrorIs(t, lk.Err(), redlock.ErrLost)
		},
		"Until": func(t *testing.T, w *world, lk *redlock.Lock) {
			t.Helper()
			assert.False(t, lk.Until().After(w.Host("a").Clock().Now()), "it has passed")
		},
	} {
		for how, opts := range map[string][]redlock.LockOption{
			"kept alive": nil, "not kept alive": {redlock.WithoutKeepalive()}, "fenced": {redlock.WithFencing()},
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				inWorld(t, 3, func(t *testing.T, w *world) {
					l := w.locker(t, "a")
					lk := lock(t, l, "x", opts...)
					time.Sleep(2500 * time.Millisecond)
					// The keys were set again, and longer, as by masters whose clocks stood still, too: no master says
					// that it is lost.
					w.Host("a").Suspend()
					for _, m := range w.Masters() {
						m.Redis().SetTTL("x", time.Hour)
					}
					time.Sleep(ttl)
					w.Host("a").Resume()
					check(t, w, lk)
				})
			})
		}
	}
}

// An extension counts from when it was asked for. The suspension is shorter than the node timeout, which counts it.
func TestASuspensionDuringAnExtensionCounts(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		lk := lock(t, l, "x", redlock.WithoutKeepalive())
		for _, m := range w.Masters() {
			m.Delay(10*time.Millisecond, 0)
		}
		asked := time.Now()
		out := make(chan error, 1)
		go func() { out <- lk.Extend(context.Background()) }()
		synctest.Wait()
		w.suspend("a", 100*time.Millisecond)
		require.NoError(t, <-out)
		ends := time.Now().Add(lk.Until().Sub(w.Host("a").Clock().Now()))
		assert.Equal(t, asked.Add(ttl-drift), ends)
	})
}

// TestAnExtensionIsNotSentAfterASuspension has an extension wait behind another request when the machine is suspended.
// Its deadline is on a clock that stands still meanwhile. Sent after that, it would restore an old fencing token, which
// the next holder that may share it would get.
func TestAnExtensionIsNotSentAfterASuspension(t *testing.T) {
	t.Parallel()
	for name, acquire := range map[string]func(*redlock.Locker) (*redlock.Lock, error){
		"reader": func(l *redlock.Locker) (*redlock.Lock, error) { return l.RW("x").TryRLock(context.Background()) },
		"owner": func(l *redlock.Locker) (*redlock.Lock, error) {
			return l.Reentrant("x", "me").TryLock(context.Background())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, 3, func(t *testing.T, w *world) {
				old, other := w.locker(t, "old", redlock.WithFencing()), w.locker(t, "other", redlock.WithFencing())
				for i := range w.Masters() {
					w.Host("old").To(i).Delay(3*time.Millisecond, 0)
				}
				first, err := acquire(old)
				require.NoError(t, err)
				time.Sleep(500 * time.Millisecond)
				go func() { _, _ = old.Inspect(t.Context(), "y") }()
				time.Sleep(time.Millisecond)
				go func() { _ = first.Extend(t.Context()) }()
				time.Sleep(time.Millisecond)
				for i := range w.Masters() {
					w.Host("old").To(i).Cut(simnet.FromMaster)
				}
				w.Host("old").Suspend()
				time.Sleep(ttl)
				writer, err := other.RW("x").TryLock(t.Context())
				require.NoError(t, err)
				unlock(t, writer)
				synctest.Wait()
				for i, m := range w.Masters() {
					m.Reset()
					m.Restart()
					w.Host("old").To(i).Heal()
				}
				time.Sleep(8 * time.Second)
				w.Host("old").Resume()
				time.Sleep(time.Second)
				require.ErrorIs(t, first.Err(), redlock.ErrLost)
				assert.Zero(t, w.keys(), "nothing is restored")
				time.Sleep(ttl)
				second, err := acquire(w.locker(t, "next", redlock.WithFencing()))
				require.NoError(t, err)
				assert.Greater(t, second.Fence(), writer.Fence())
				unlock(t, second)
			})
		})
	}
}
