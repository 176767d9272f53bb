package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock"
)

type key struct{}

func TestContextKeepsValuesAndNotTheCancellation(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, "value"), time.Second)
		defer cancel()
		lk, err := l.Lock(ctx, "x")
		require.NoError(t, err)
		assert.Equal(t, "value", lk.Context().Value(key{}))
		_, has := lk.Context().Deadline()
		assert.False(t, has, "that of the wait is none of the lock's")
		time.Sleep(5 * time.Second)
		require.Error(t, ctx.Err())
		assert.False(t, ends(lk.Context()))
		require.NoError(t, lk.Err())
		unlock(t, lk)
	})
}

func TestContextEndsWithWhatEndedTheLock(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		end  func(t *testing.T, l *redlock.Locker, lk *redlock.Lock)
		want error
	}{
		{"released", func(t *testing.T, _ *redlock.Locker, lk *redlock.Lock) { t.Helper(); unlock(t, lk) }, redlock.ErrReleased},
		{"lost", func(t *testing.T, _ *redlock.Locker, _ *redlock.Lock) { t.Helper(); time.Sleep(ttl) }, redlock.ErrLost},
		{"closed", func(t *testing.T, l *redlock.Locker, _ *redlock.Lock) { t.Helper(); require.NoError(t, l.Close()) }, redlock.ErrClosed},
	} {
		for _, asked := range []string{"before", "after"} {
			t.Run(tt.name+", asked for "+asked, func(t *testing.T) {
				t.Parallel()
				inWorld(t, 3, func(t *testing.T, w *world) {
					l := w.locker(t, "a")
					lk := lock(t, l, "x", redlock.WithoutKeepalive())
					var ctx context.Context
					if asked == "before" {
						ctx = lk.Context()
						require.NoError(t, ctx.Err())
						assert.Same(t, ctx, lk.Context())
					}
					tt.end(t, l, lk)
					if asked == "after" {
						ctx = lk.Context()
					}
					require.True(t, ends(ctx))
					require.ErrorIs(t, context.Cause(ctx), tt.want)
					require.ErrorIs(t, lk.Err(), tt.want)
					require.ErrorIs(t, ctx.Err(), context.Canceled)
				})
			})
		}
	}
}

// TestAThawedClientFindsOutAtOnce: it slept through its deadline, and must not believe in the lock for a moment.
func TestAThawedClientFindsOutAtOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		ask  func(t *testing.T, lk *redlock.Lock) error
	}{
		{"Err", func(_ *testing.T, lk *redlock.Lock) error { return lk.Err() }},
		{"Extend", func(t *testing.T, lk *redlock.Lock) error { t.Helper(); return lk.Extend(t.Context()) }},
		{"Unlock", func(t *testing.T, lk *redlock.Lock) error { t.Helper(); return lk.Unlock(t.Context()) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, 3, func(t *testing.T, w *world) {
				a, b := w.locker(t, "a"), w.locker(t, "b")
				lk := lock(t, a, "x")
				ctx := lk.Context()
				synctest.Wait()
				w.Host("a").Freeze()
				other, err := b.Lock(t.Context(), "x")
				require.NoError(t, err)
				w.Host("a").Clock().Thaw() // its timers are due, and have not run yet
				require.ErrorIs(t, tt.ask(t, lk), redlock.ErrLost)
				require.ErrorIs(t, context.Cause(ctx), redlock.ErrLost)
				w.Host("a").Thaw()
				time.Sleep(time.Second)
				require.NoError(t, other.Err(), "what a releases is not b's")
				synctest.Wait()
				assert.Equal(t, 3, w.holders("x", other.Token()))
				unlock(t, other)
			})
		})
	}
}

func TestErrorsAreToldApart(t *testing.T) {
	t.Parallel()
	all := []error{redlock.ErrHeld, redlock.ErrNoQuorum, redlock.ErrLost, redlock.ErrReleased, redlock.ErrClosed}
	for i, a := range all {
		for j, b := range all {
			assert.Equal(t, i == j, errors.Is(a, b))
		}
		assert.Equal(t, errors.Is(&redlock.HeldError{}, a), errors.Is(a, redlock.ErrHeld))
	}
	assert.Equal(t, `redlock: lock "x": held by another`, (&redlock.HeldError{Name: "x"}).Error())
	assert.Equal(t, `redlock: lock "x": held by another for up to 1.5s`, (&redlock.HeldError{Name: "x", Retry: 1500 * time.Millisecond}).Error())
	one := &redlock.NodeError{Node: "10.0.0.1:6379", Op: "acquire", Err: errOwn}
	assert.Equal(t, "10.0.0.1:6379: acquire: the caller's own", one.Error())
	require.ErrorIs(t, one, errOwn)
}

// An Unlock may come at the moment of the loss: whoever is told of it finds the context ended.
func TestContextHasEndedWhenTheLossIsTold(t *testing.T) {
	t.Parallel()
	inWorld(t, 1, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		for round := range 40 {
			var all errgroup.Group
			for i := range 200 {
				lk := lock(t, l, fmt.Sprint(round, " ", i), redlock.WithoutKeepalive())
				ctx := lk.Context()
				all.Go(func() error {
					time.Sleep(time.Until(lk.Until()) - time.Millisecond) // when a loss is told
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
