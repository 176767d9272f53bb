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
