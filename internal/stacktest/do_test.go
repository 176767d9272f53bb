package stacktest_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/simnet"
)

// doing runs f for every kind, in a world and with a Locker of its own.
func doing(t *testing.T, f func(t *testing.T, w *world, l *redlock.Locker, k lockKind)) {
	t.Helper()
	for _, k := range kinds {
		subWorld(t, k.name, 3, func(t *testing.T, w *world) { f(t, w, w.locker(t, "a"), k) })
	}
}

// free asserts that nothing is held on any master.
func (w *world) free(t *testing.T) {
	t.Helper()
	synctest.Wait()
	assert.Zero(t, w.keys())
}

func (w *world) wipe() {
	each(w.Masters(), (*simnet.Master).Wipe)
}

func TestDoHoldsTheLockWhileTheFunctionRuns(t *testing.T) {
	t.Parallel()
	doing(t, func(t *testing.T, w *world, l *redlock.Locker, k lockKind) {
		require.ErrorContains(t, k.do(t.Context(), l, nil), "fn is nil")
		w.unasked(t)
		w.foreign("x", time.Hour)
		err := k.do(within(t, time.Second), l, func(context.Context) error { panic("not to be run") })
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, redlock.ErrHeld)
		w.wipe()

		var work context.Context
		require.NoError(t, k.do(context.WithValue(t.Context(), key{}, "value"), l, func(ctx context.Context) error {
			work = ctx
			for _, name := range k.names() {
				h, err := l.Inspect(ctx, name)
				require.NoError(t, err)
				assert.EqualValues(t, k.kind, h.Kind)
				assert.Len(t, h.Holders, 1)
			}
			require.NoError(t, ctx.Err())
			assert.Equal(t, "value", ctx.Value(key{}))
			held, ok := redlock.FromContext(ctx)
			require.True(t, ok)
			assert.Equal(t, strings.Join(k.names(), ","), held.Name())
			assert.Zero(t, held.Fence())
			return nil
		}))
		require.ErrorIs(t, work.Err(), context.Canceled)
		require.ErrorIs(t, context.Cause(work), redlock.ErrReleased)
		w.free(t)
	})
}

var (
	errPanic  = errors.New("a panic")
	errGoexit = errors.New("neither a return nor a panic")
)

// However the function ends, its context has ended when Do has, and the first cause stays. A loss is never silent.
func TestDoReportsHowTheFunctionAndTheLockEnded(t *testing.T) {
	t.Parallel()
	type scene struct {
		*world
		l      *redlock.Locker
		work   context.Context // the function's
		cancel context.CancelCauseFunc
	}
	for name, tt := range map[string]struct {
		end   func(s scene) error
		errs  []error // that Do's error matches
		cause error   // of the function's context
	}{
		"an error":             {func(scene) error { return errOwn }, []error{errOwn}, redlock.ErrReleased},
		"a panic":              {func(scene) error { panic("mine") }, []error{errPanic}, redlock.ErrReleased},
		"Goexit":               {func(scene) error { runtime.Goexit(); return nil }, []error{errGoexit}, redlock.ErrReleased},
		"the caller's context": {func(s scene) error { s.cancel(errOwn); <-s.work.Done(); return nil }, nil, errOwn},
		"and a panic":          {func(s scene) error { s.cancel(errOwn); panic("mine") }, []error{errPanic}, errOwn},
		"a loss": {
			func(s scene) error { s.wipe(); <-s.work.Done(); return errOwn }, []error{redlock.ErrLost, errOwn}, redlock.ErrLost,
		},
		"a loss, and then Close": {
			func(s scene) error { s.wipe(); <-s.work.Done(); return s.l.Close() }, []error{redlock.ErrLost}, redlock.ErrLost,
		},
		"a loss that it did not notice": {
			func(s scene) error { s.wipe(); return nil }, []error{redlock.ErrLost}, redlock.ErrReleased,
		},
		"a loss that no timer noticed": {
			func(s scene) error { s.sleepThrough(); return nil }, []error{redlock.ErrLost}, redlock.ErrLost,
		},
		"the same, and a panic": {
			func(s scene) error { s.sleepThrough(); panic("mine") }, []error{errPanic}, redlock.ErrLost,
		},
		"Close": {
			func(s scene) error { defer func() { <-s.work.Done() }(); return s.l.Close() },
			[]error{redlock.ErrClosed},
			redlock.ErrClosed,
		},
		"no majority": {func(s scene) error { s.freeze(); return nil }, []error{redlock.ErrNoQuorum}, redlock.ErrReleased},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doing(t, func(t *testing.T, w *world, l *redlock.Locker, k lockKind) {
				outer, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				var work, derived context.Context
				ended := make(chan error, 1)
				go func() {
					err := errGoexit
					defer func() {
						if recover() == "mine" {
							err = errPanic
						}
						ended <- err
					}()
					err = k.do(outer, l, func(ctx context.Context) error {
						work = ctx
						child, stop := context.WithCancel(ctx)
						t.Cleanup(stop)
						derived = child
						synctest.Wait()
						return tt.end(scene{w, l, ctx, cancel})
					})
				}()
				err := <-ended
				if len(tt.errs) == 0 {
					require.NoError(t, err)
				}
				for _, want := range tt.errs {
					require.ErrorIs(t, err, want)
				}
				if name == "an error" {
					assert.Equal(t, errOwn, err, "as it is")
				}
				require.ErrorIs(t, work.Err(), context.Canceled)
				require.ErrorIs(t, context.Cause(work), tt.cause)
				require.ErrorIs(t, context.Cause(derived), tt.cause)
				w.Host("a").Thaw()
				w.Heal()
				time.Sleep(2 * time.Second)
				w.free(t)
			})
		})
	}
}

// A callback, or a busy machine, delays what follows a loss. The extension that noticed it has restored keys.
func TestCloseReleasesALockWhoseLossIsBeingReported(t *testing.T) {
	doing(t, func(t *testing.T, w *world, _ *redlock.Locker, k lockKind) {
		var l *redlock.Locker
		l = w.locker(t, "b", redlock.WithTrace(&redlock.Trace{HoldEnd: func(context.Context, redlock.HoldEndEvent) {
			go l.Close()
			time.Sleep(time.Millisecond)
		}}))
		lk, err := k.try(t.Context(), l)
		require.NoError(t, err)
		w.wipe()
		<-lk.Context().Done()
		time.Sleep(2 * time.Second)
		w.free(t)
	})
}

// The extension that finds the loss is the holder's. That of the keepalive would be due meanwhile.
func TestALockWhoseLossIsBeingReportedIsNotExtended(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "b", redlock.WithTrace(&redlock.Trace{HoldEnd: func(context.Context, redlock.HoldEndEvent) {
			synctest.Wait()
			w.forget()
			time.Sleep(ttl / 2)
			w.unasked(t)
		}}))
		lk := lock(t, l, "x")
		w.wipe()
		require.ErrorIs(t, lk.Extend(t.Context()), redlock.ErrLost)
		time.Sleep(2 * ttl)
		w.free(t)
	})
}

// Goroutines that the function left running must be stopped before another holder gets the lock. A hand-over, which
// needs no answer of the masters, leaves the least time.
func TestDoEndsTheFunctionsContextBeforeTheLockIsAnothers(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		var work context.Context // of the one that has the lock
		late := 0
		l := w.locker(t, "a", redlock.WithTrace(&redlock.Trace{Unlocked: func(context.Context, redlock.UnlockedEvent) {
			if work.Err() == nil {
				late++
			}
		}}))
		for range 200 {
			var next <-chan attempt
			require.NoError(t, l.Do(t.Context(), "x", func(ctx context.Context) error {
				work, next = ctx, locking(t.Context(), l, "x")
				return nil
			}))
			a := <-next
			require.NoError(t, a.err)
			unlock(t, a.lock)
		}
		assert.Zero(t, late)
	})
}

// freeze freezes the first two masters.
func (w *world) freeze() {
	w.Master(0).Freeze()
	w.Master(1).Freeze()
}

// sleepThrough has the host a run no timer until its locks have ended.
func (w *world) sleepThrough() {
	w.Host("a").Freeze()
	time.Sleep(2 * ttl)
	w.Host("a").Clock().Thaw() // its timers are due, and have not run yet
}
