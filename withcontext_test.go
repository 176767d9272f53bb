package redlock_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
)

// endings are what ends a lock, and what then is the cause.
var endings = []struct {
	name string
	end  func(t *testing.T, l *redlock.Locker, lk *redlock.Lock)
	want error
}{
	{
		"released",
		func(t *testing.T, _ *redlock.Locker, lk *redlock.Lock) { t.Helper(); unlock(t, lk) }, redlock.ErrReleased,
	},
	{"lost", func(t *testing.T, _ *redlock.Locker, _ *redlock.Lock) { t.Helper(); time.Sleep(ttl) }, redlock.ErrLost},
	{
		"closed",
		func(t *testing.T, l *redlock.Locker, _ *redlock.Lock) { t.Helper(); require.NoError(t, l.Close()) },
		redlock.ErrClosed,
	},
}

func TestWithContextEndsWithTheLock(t *testing.T) {
	t.Parallel()
	for _, tt := range endings {
		for _, made := range []string{"before", "after"} {
			t.Run(tt.name+", made "+made, func(t *testing.T) {
				t.Parallel()
				inWorld(t, 3, func(t *testing.T, w *world) {
					l := w.locker(t, "a")
					lk := lock(t, l, "x", redlock.WithoutKeepalive())
					parent, stop := context.WithCancelCause(t.Context())
					defer stop(nil)
					if made == "after" {
						tt.end(t, l, lk)
					}
					ctx, cancel := lk.WithContext(parent)
					defer cancel()
					if made == "before" {
						require.False(t, ends(ctx))
						tt.end(t, l, lk)
						synctest.Wait()
					}
					require.ErrorIs(t, ctx.Err(), context.Canceled) // at once, where it had ended before
					stop(errOwn)
					cancel()
					require.ErrorIs(t, context.Cause(ctx), tt.want, "the first cause stays")
				})
			})
		}
	}
}

func TestWithContextEndsWithTheContext(t *testing.T) {
	t.Parallel()
	for _, made := range []string{"before", "after"} {
		t.Run("made "+made, func(t *testing.T) {
			t.Parallel()
			inWorld(t, 3, func(t *testing.T, w *world) {
				lk := lock(t, w.locker(t, "a"), "x")
				parent, stop := context.WithCancelCause(t.Context())
				defer stop(nil)
				if made == "after" {
					stop(errOwn)
				}
				ctx, cancel := lk.WithContext(parent)
				defer cancel()
				if made == "before" {
					require.False(t, ends(ctx))
					stop(errOwn)
				}
				require.ErrorIs(t, ctx.Err(), context.Canceled)
				unlock(t, lk)
				synctest.Wait()
				assert.Equal(t, errOwn, context.Cause(ctx), "the first cause stays")
			})
		})
	}
}

func TestWithContextOfALockAndAContextThatHaveEndedHasTheContextsCause(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		lk := lock(t, w.locker(t, "a"), "x")
		unlock(t, lk)
		parent, stop := context.WithCancelCause(t.Context())
		stop(errOwn)
		ctx, cancel := lk.WithContext(parent)
		defer cancel()
		require.ErrorIs(t, ctx.Err(), context.Canceled)
		assert.Equal(t, errOwn, context.Cause(ctx))
	})
}

func TestWithContextKeepsValuesAndDeadline(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		lk, err := w.locker(t, "a").Lock(context.WithValue(t.Context(), key{}, "of the wait"), "x")
		require.NoError(t, err)
		parent, stop := context.WithTimeout(context.WithValue(t.Context(), key{}, "of the work"), time.Second)
		defer stop()
		ctx, cancel := lk.WithContext(parent)
		defer cancel()
		assert.Equal(t, "of the work", ctx.Value(key{}))
		want, _ := parent.Deadline()
		got, has := ctx.Deadline()
		assert.True(t, has)
		assert.Equal(t, want, got)
		time.Sleep(time.Second)
		require.True(t, ends(ctx))
		require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
		require.NoError(t, lk.Err(), "the lock is held on")
		unlock(t, lk)
	})
}

// A loss that no timer has noticed yet, since the process was paused, ends the context at once.
func TestWithContextLooksAtTheClock(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		lk := lock(t, w.locker(t, "a"), "x")
		synctest.Wait()
		w.Host("a").Freeze()
		time.Sleep(2 * ttl)
		w.Host("a").Clock().Thaw() // its timers are due, and have not run yet
		ctx, cancel := lk.WithContext(t.Context())
		defer cancel()
		require.Error(t, ctx.Err())
		require.ErrorIs(t, context.Cause(ctx), redlock.ErrLost)
		w.Host("a").Thaw()
	})
}

func TestCancelOfWithContextEndsTheContextAndNotTheLock(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		lk := lock(t, w.locker(t, "a"), "x")
		ctx, cancel := lk.WithContext(t.Context())
		cancel()
		require.ErrorIs(t, ctx.Err(), context.Canceled)
		assert.Equal(t, context.Canceled, context.Cause(ctx))
		cancel()
		require.False(t, ends(lk.Context()))
		require.NoError(t, lk.Err())
		unlock(t, lk)
	})
}

// A lock may be held for days, and each request under it makes a context.
func TestCancelOfWithContextFreesWhatTheContextHolds(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		lk := lock(t, w.locker(t, "a"), "x")
		type request struct{ _ [1 << 10]*byte }
		work := func(end bool) weak.Pointer[request] {
			r := &request{}
			_, cancel := lk.WithContext(context.WithValue(t.Context(), key{}, r))
			if end {
				cancel()
			}
			return weak.Make(r)
		}
		freed, kept := work(true), work(false)
		runtime.GC()
		assert.Nil(t, freed.Value(), "after cancel")
		assert.NotNil(t, kept.Value(), "without it, until the lock ends")
		unlock(t, lk)
		synctest.Wait()
		runtime.GC()
		assert.Nil(t, kept.Value(), "after the lock")
	})
}

func TestFromContext(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a", redlock.WithFencing())
		is := func(ctx context.Context, want *redlock.Lock) {
			t.Helper()
			got, ok := redlock.FromContext(ctx)
			assert.True(t, ok)
			assert.Same(t, want, got)
		}
		none, ok := redlock.FromContext(t.Context())
		assert.False(t, ok)
		assert.Nil(t, none)

		outer := lock(t, l, "outer")
		is(outer.Context(), outer)
		ctx, cancel := outer.WithContext(t.Context())
		defer cancel()
		is(ctx, outer)

		inner, err := l.TryLock(ctx, "inner")
		require.NoError(t, err)
		is(inner.Context(), inner) // which keeps the values of ctx, the outer lock not among them
		both, cancel := inner.WithContext(ctx)
		defer cancel()
		is(both, inner)
		is(context.WithValue(both, key{}, ""), inner)

		unlock(t, inner)
		is(both, inner)
		is(ctx, outer)
		unlock(t, outer)
	})
}
