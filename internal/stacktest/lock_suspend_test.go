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

// The process was paused, or the machine suspended, until after the end of the lock. What the process asks first
// reports the loss, although no timer has run.
func TestALockThatEndedDuringASuspensionIsLost(t *testing.T) {
	t.Parallel()
	type slept = func(w *world)
	paused := func(w *world) {
		w.Host("a").Freeze()
		time.Sleep(2 * ttl)
		w.Host("a").Clock().Thaw() // its timers are due, and have not run yet
	}
	suspended := func(w *world) {
		w.Host("a").Suspend()
		each(w.Masters(), func(m *simnet.Master) { m.Redis().SetTTL("x", time.Hour) }) // no master says that it is lost
		time.Sleep(ttl)
		w.Host("a").Resume()
	}
	for name, ask := range map[string]func(t *testing.T, w *world, lk *redlock.Lock) error{
		"Err":    func(_ *testing.T, _ *world, lk *redlock.Lock) error { return lk.Err() },
		"Unlock": func(t *testing.T, _ *world, lk *redlock.Lock) error { return lk.Unlock(t.Context()) },
		"Extend": func(t *testing.T, _ *world, lk *redlock.Lock) error { return lk.Extend(t.Context()) },
		"WithContext": func(t *testing.T, _ *world, lk *redlock.Lock) error {
			ctx, cancel := lk.WithContext(t.Context())
			defer cancel()
			return context.Cause(ctx)
		},
		"Until": func(t *testing.T, w *world, lk *redlock.Lock) error {
			assert.False(t, lk.Until().After(w.Host("a").Clock().Now()), "it has passed")
			return lk.Err()
		},
	} {
		for how, sleep := range map[string]slept{"paused": paused, "suspended": suspended} {
			for kept, opts := range map[string][]redlock.LockOption{
				"kept alive": nil, "not kept alive": {redlock.WithoutKeepalive()}, "fenced": {redlock.WithFencing()},
			} {
				subWorld(t, name+", "+how+", "+kept, 3, func(t *testing.T, w *world) {
					lk := lock(t, w.locker(t, "a"), "x", opts...)
					ctx := lk.Context()
					time.Sleep(2500 * time.Millisecond)
					sleep(w)
					require.ErrorIs(t, ask(t, w, lk), redlock.ErrLost)
					require.ErrorIs(t, lk.Err(), redlock.ErrLost)
					require.ErrorIs(t, context.Cause(ctx), redlock.ErrLost)
					w.Host("a").Thaw()
				})
			}
		}
	}
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
		subWorld(t, name, 3, func(t *testing.T, w *world) {
			old, other := w.locker(t, "old", redlock.WithFencing()), w.locker(t, "other", redlock.WithFencing())
			w.distance("old", 3*time.Millisecond)
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
	}
}

// The alarm notices a suspension within a second of its end.
func TestTheContextEndsWithinASecondOfASuspension(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		lk := lock(t, w.locker(t, "a"), "x")
		w.suspend("a", ttl)
		resumed := time.Now()
		<-lk.Context().Done()
		assert.LessOrEqual(t, time.Since(resumed), time.Second+time.Millisecond)
		require.ErrorIs(t, context.Cause(lk.Context()), redlock.ErrLost)
	})
}

// A holder that was frozen past its deadline must not take the lock back when it wakes, with its keepalive or by
// Extend.
func TestLockIsNeverRecreatedAfterItsOwnDeadline(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		lk := lock(t, l, "x")
		synctest.Wait() // the minority's acquires are not to be what the thaw sends
		w.Host("a").Freeze()
		time.Sleep(ttl + time.Second)
		assert.Zero(t, w.keys())
		w.forget()
		w.Host("a").Thaw()
		require.ErrorIs(t, lk.Extend(t.Context()), redlock.ErrLost)
		time.Sleep(ttl)
		assert.Zero(t, w.keys())
		assert.Empty(t, w.sets())
		require.ErrorIs(t, lk.Unlock(t.Context()), redlock.ErrLost)
	})
}
