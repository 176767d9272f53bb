package stacktest_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
)

// work is what a Do runs.
type work = func(context.Context) error

// doer is a Do of one kind of lock.
type doer struct {
	name string // of the lock
	kind string // as Inspect says it
	do   func(ctx context.Context, l *redlock.Locker, fn work, opts ...redlock.LockOption) error
}

var doers = []doer{
	{"x", "mutex", func(ctx context.Context, l *redlock.Locker, fn work, opts ...redlock.LockOption) error {
		return l.Do(ctx, "x", fn, opts...)
	}},
	{"x,y", "mutex", func(ctx context.Context, l *redlock.Locker, fn work, opts ...redlock.LockOption) error {
		return l.DoAll(ctx, []string{"y", "x"}, fn, opts...)
	}},
	{"x", "writer", func(ctx context.Context, l *redlock.Locker, fn work, opts ...redlock.LockOption) error {
		return l.RW("x").Do(ctx, fn, opts...)
	}},
	{"x", "reader", func(ctx context.Context, l *redlock.Locker, fn work, opts ...redlock.LockOption) error {
		return l.RW("x").RDo(ctx, fn, opts...)
	}},
	{"x", "reentrant", func(ctx context.Context, l *redlock.Locker, fn work, opts ...redlock.LockOption) error {
		return l.Reentrant("x", "us").Do(ctx, fn, opts...)
	}},
}

// doing runs f for the Do of every kind, in a world and with a Locker of its own.
func doing(t *testing.T, f func(t *testing.T, w *world, l *redlock.Locker, d doer)) {
	t.Helper()
	for _, d := range doers {
		t.Run(d.kind+" "+d.name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, 3, func(t *testing.T, w *world) { f(t, w, w.locker(t, "a"), d) })
		})
	}
}

// free asserts that nothing is held on any master.
func (w *world) free(t *testing.T) {
	t.Helper()
	synctest.Wait()
	assert.Zero(t, w.keys())
}

func (w *world) wipe() {
	for _, m := range w.Masters() {
		m.Wipe()
	}
}

func TestDoHoldsTheLockWhileTheFunctionRuns(t *testing.T) {
	t.Parallel()
	doing(t, func(t *testing.T, w *world, l *redlock.Locker, d doer) {
		var work context.Context
		require.NoError(t, d.do(context.WithValue(t.Context(), key{}, "value"), l, func(ctx context.Context) error {
			work = ctx
			for name := range strings.SplitSeq(d.name, ",") {
				h, err := l.Inspect(ctx, name)
				require.NoError(t, err)
				assert.EqualValues(t, d.kind, h.Kind)
				assert.Len(t, h.Holders, 1)
			}
			require.NoError(t, ctx.Err())
			assert.Equal(t, "value", ctx.Value(key{}))
			held, ok := redlock.FromContext(ctx)
			require.True(t, ok)
			assert.Equal(t, d.name, held.Name())
			assert.Zero(t, held.Fence())
			return nil
		}))
		require.ErrorIs(t, work.Err(), context.Canceled)
		require.ErrorIs(t, context.Cause(work), redlock.ErrReleased)
		w.free(t)
	})
}

func TestDoReturnsTheFunctionsError(t *testing.T) {
	t.Parallel()
	doing(t, func(t *testing.T, w *world, l *redlock.Locker, d doer) {
		err := d.do(t.Context(), l, func(context.Context) error { return errOwn })
		assert.Equal(t, errOwn, err, "as it is")
		w.free(t)
	})
}

func TestDoUnlocksWhenTheFunctionDoesNotReturn(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(){"panic": func() { panic("mine") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doing(t, func(t *testing.T, w *world, l *redlock.Locker, d doer) {
				var work context.Context
				left := make(chan any, 1)
				go func() {
					defer func() { left <- recover() }()
					_ = d.do(t.Context(), l, func(ctx context.Context) error {
						work = ctx
						leave()
						return nil
					})
					left <- "it returned"
				}()
				if got := <-left; name == "panic" {
					assert.Equal(t, "mine", got, "the panic propagates")
				} else {
					assert.Nil(t, got)
				}
				require.ErrorIs(t, context.Cause(work), redlock.ErrReleased)
				w.free(t)
			})
		})
	}
}

func TestDoEndsTheFunctionsContext(t *testing.T) {
	t.Parallel()
	t.Run("with the caller's", func(t *testing.T) {
		t.Parallel()
		doing(t, func(t *testing.T, w *world, l *redlock.Locker, d doer) {
			outer, cancel := context.WithCancelCause(t.Context())
			var work context.Context
			err := d.do(outer, l, func(ctx context.Context) error {
				work = ctx
				cancel(errOwn)
				<-ctx.Done()
				return nil
			})
			require.NoError(t, err, "it was unlocked on a context that had ended")
			assert.Equal(t, errOwn, context.Cause(work))
			w.free(t)
		})
	})
	t.Run("with the lock", func(t *testing.T) {
		t.Parallel()
		doing(t, func(t *testing.T, w *world, l *redlock.Locker, d doer) {
			var work context.Context
			err := d.do(t.Context(), l, func(ctx context.Context) error {
				work = ctx
				w.wipe()
				<-ctx.Done()
				return errOwn
			})
			require.ErrorIs(t, context.Cause(work), redlock.ErrLost)
			require.ErrorIs(t, err, redlock.ErrLost, "a loss under the function is never silent")
			require.ErrorIs(t, err, errOwn)
			w.free(t)
		})
	})
	t.Run("with the Locker", func(t *testing.T) {
		t.Parallel()
		doing(t, func(t *testing.T, w *world, l *redlock.Locker, d doer) {
			var work context.Context
			err := d.do(t.Context(), l, func(ctx context.Context) error {
				work = ctx
				require.NoError(t, l.Close())
				<-ctx.Done()
				return nil
			})
			require.ErrorIs(t, context.Cause(work), redlock.ErrClosed)
			require.ErrorIs(t, err, redlock.ErrClosed)
			w.free(t)
		})
	})
}

// Goroutines that the function left running must be stopped before another holder gets the lock. A hand-over, which
// needs no answer of the masters, leaves the least time.
func TestDoEndsTheFunctionsContextBeforeTheLockIsAnothers(t *testing.T) {
	t.Parallel()
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

// The process was paused under the function, which returns before any timer has run.
func TestDoNamesALossThatNoTimerNoticed(t *testing.T) {
	t.Parallel()
	doing(t, func(t *testing.T, w *world, l *redlock.Locker, d doer) {
		var work context.Context
		err := d.do(t.Context(), l, func(ctx context.Context) error {
			work = ctx
			synctest.Wait()
			w.Host("a").Freeze()
			time.Sleep(2 * ttl)
			w.Host("a").Clock().Thaw()
			return nil
		})
		require.ErrorIs(t, err, redlock.ErrLost)
		require.ErrorIs(t, context.Cause(work), redlock.ErrLost)
		w.Host("a").Thaw()
	})
}

func TestDoReportsALossThatTheFunctionDidNotNotice(t *testing.T) {
	t.Parallel()
	doing(t, func(t *testing.T, w *world, l *redlock.Locker, d doer) {
		require.ErrorIs(t, d.do(t.Context(), l, func(context.Context) error { w.wipe(); return nil }), redlock.ErrLost)
		w.free(t)
	})
}

func TestDoDoesNotRunTheFunctionWithoutTheLock(t *testing.T) {
	t.Parallel()
	doing(t, func(t *testing.T, w *world, l *redlock.Locker, d doer) {
		w.foreign("x", time.Hour)
		err := d.do(within(t, time.Second), l, func(context.Context) error { panic("not to be run") })
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, redlock.ErrHeld)
	})
}

func TestDoRefusesANilFunctionBeforeItLocks(t *testing.T) {
	t.Parallel()
	doing(t, func(t *testing.T, w *world, l *redlock.Locker, d doer) {
		require.ErrorContains(t, d.do(t.Context(), l, nil), "fn is nil")
		synctest.Wait()
		assert.Empty(t, w.asked())
	})
}

func TestDoOfOneOwnerNests(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		us := w.locker(t, "a").Reentrant("x", "us")
		require.NoError(t, us.Do(t.Context(), func(outer context.Context) error {
			first, _ := redlock.FromContext(outer)
			return us.Do(outer, func(inner context.Context) error {
				second, _ := redlock.FromContext(inner)
				assert.NotSame(t, first, second)
				assert.NotEqual(t, first.Token(), second.Token())
				return nil
			})
		}))
		w.free(t)
	})
}

// However the function ends, its context has ended when Do has, and the first cause stays.
func TestDoEndsTheFunctionsContextHoweverItEnds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		end   func(w *world, cancel context.CancelCauseFunc) error
		cause error
	}{
		"an error":  {func(*world, context.CancelCauseFunc) error { return errOwn }, redlock.ErrReleased},
		"no quorum": {func(w *world, _ context.CancelCauseFunc) error { w.freeze(); return nil }, redlock.ErrReleased},
		"after a loss": {
			func(w *world, _ context.CancelCauseFunc) error { w.sleepThrough(); panic("mine") }, redlock.ErrLost,
		},
		"canceled": {func(_ *world, cancel context.CancelCauseFunc) error { cancel(errOwn); panic("mine") }, errOwn},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doing(t, func(t *testing.T, w *world, l *redlock.Locker, d doer) {
				outer, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				var work, derived context.Context
				func() {
					defer func() { _ = recover() }()
					_ = d.do(outer, l, func(ctx context.Context) error {
						work = ctx
						child, stop := context.WithCancel(ctx)
						t.Cleanup(stop)
						derived = child
						synctest.Wait()
						return tt.end(w, cancel)
					})
				}()
				require.Error(t, work.Err())
				require.ErrorIs(t, context.Cause(work), tt.cause)
				require.ErrorIs(t, context.Cause(derived), tt.cause)
				w.Host("a").Thaw()
				for _, m := range w.Masters() {
					m.Heal()
				}
			})
		})
	}
}

// freeze has two masters of three freeze.
func (w *world) freeze() {
	w.Master(0).Freeze()
	w.Master(1).Freeze()
}

// sleepThrough has the host a run no timer until its locks have ended.
func (w *world) sleepThrough() {
	w.Host("a").Freeze()
	time.Sleep(2 * ttl)
	w.Host("a").Clock().Thaw()
}
