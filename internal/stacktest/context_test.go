package stacktest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock"
)

type key struct{}

func TestWhatTheContextsOfALockKeep(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		second := func(value string) (context.Context, context.CancelFunc) {
			return context.WithTimeout(context.WithValue(t.Context(), key{}, value), time.Second)
		}
		wait, cancel := second("of the wait")
		defer cancel()
		lk, err := w.locker(t, "a").Lock(wait, "x")
		require.NoError(t, err)
		assert.Equal(t, "of the wait", lk.Context().Value(key{}))
		_, has := lk.Context().Deadline()
		assert.False(t, has, "that of the wait is none of the lock's")

		parent, stop := second("of the work")
		defer stop()
		work, cancel := lk.WithContext(parent)
		defer cancel()
		assert.Equal(t, "of the work", work.Value(key{}))
		want, _ := parent.Deadline()
		got, _ := work.Deadline()
		assert.Equal(t, want, got)

		canceled, cancel := lk.WithContext(t.Context())
		cancel()
		require.ErrorIs(t, canceled.Err(), context.Canceled)
		assert.Equal(t, context.Canceled, context.Cause(canceled))
		cancel()

		time.Sleep(5 * time.Second)
		require.Error(t, wait.Err())
		require.ErrorIs(t, work.Err(), context.DeadlineExceeded)
		assert.False(t, ends(lk.Context()))
		require.NoError(t, lk.Err(), "the lock is held on")
		unlock(t, lk)
	})
}

// An Unlock may come at the moment of the loss: once it reports the loss, the context has ended.
func TestTheContextHasEndedWhenTheLossIsReported(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		for round := range 40 {
			var all errgroup.Group
			for i := range 200 {
				lk := lock(t, l, fmt.Sprint(round, " ", i), redlock.WithoutKeepalive())
				ctx := lk.Context()
				all.Go(func() error {
					time.Sleep(time.Until(lk.Until()) - time.Millisecond) // when the loss is delivered
					for range 1_000_000 {
						if lk.Err() == nil {
							runtime.Gosched()
							continue
						}
						if ctx.Err() == nil {
							return fmt.Errorf("lock %d is lost, and its context lives", i)
						}
						return nil
					}
					return fmt.Errorf("lock %d is not lost", i)
				})
			}
			require.NoError(t, all.Wait())
		}
	})
}

// The context ends with the lock or with the one that it was made of. The first cause stays; of two that are there when
// it is made, that of the context. The lock's own context ends with the lock, asked for before that or after.
func TestWithContextEndsWithTheFirst(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{redlock.ErrReleased, redlock.ErrLost, redlock.ErrClosed} { // of the end of the lock
		for _, order := range []string{
			"made, lock, context", "made, context, lock", "lock, made, context", "context, made, lock",
			"lock, context, made",
		} {
			subWorld(t, cause.Error()+": "+order, 3, func(t *testing.T, w *world) {
				l := w.locker(t, "a")
				lk := lock(t, l, "x", redlock.WithoutKeepalive())
				parent, stop := context.WithCancelCause(t.Context())
				defer stop(nil)
				var ctx, own context.Context
				ended := 0
				for _, event := range strings.Split(order, ", ") {
					switch event {
					case "made":
						made, cancel := lk.WithContext(parent)
						defer cancel()
						ctx, own = made, lk.Context()
						assert.Same(t, own, lk.Context())
					case "lock":
						ended++
						switch {
						case errors.Is(cause, redlock.ErrReleased):
							unlock(t, lk)
						case errors.Is(cause, redlock.ErrLost):
							time.Sleep(ttl)
						default:
							require.NoError(t, l.Close())
						}
					case "context":
						stop(errOwn)
						ended++
					}
					if ctx != nil && ended > 0 { // at once, where they had ended before
						synctest.Wait()
						require.ErrorIs(t, ctx.Err(), context.Canceled)
					} else if ctx != nil {
						require.False(t, ends(ctx))
					}
					if own != nil {
						require.Equal(t, lk.Err() != nil, own.Err() != nil)
					}
				}
				want := cause
				if strings.Index(order, "context") < strings.Index(order, "lock") || strings.HasSuffix(order, "made") {
					want = errOwn
				}
				require.ErrorIs(t, context.Cause(ctx), want)
				require.ErrorIs(t, lk.Err(), cause)
				require.ErrorIs(t, context.Cause(own), cause)
				require.ErrorIs(t, own.Err(), context.Canceled)
			})
		}
	}
}

// A lock may be held for days, and each request under it makes a context.
func TestCancelOfWithContextFreesWhatTheContextHolds(t *testing.T) {
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
