package redlock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
)

func TestAttachToTheTokenOfAnotherKindSaysWhichKindHoldsTheName(t *testing.T) {
	t.Parallel()
	for kind, take := range map[string]func(t *testing.T, l *redlock.Locker) (*redlock.Lock, error){
		"reader": func(t *testing.T, l *redlock.Locker) (*redlock.Lock, error) { return l.RW("x").TryRLock(t.Context()) },
		"writer": func(t *testing.T, l *redlock.Locker) (*redlock.Lock, error) { return l.RW("x").TryLock(t.Context()) },
		"reentrant": func(t *testing.T, l *redlock.Locker) (*redlock.Lock, error) {
			return l.Reentrant("x", "me").TryLock(t.Context())
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			inWorld(t, 3, func(t *testing.T, w *world) {
				lk, err := take(t, w.locker(t, "a"))
				require.NoError(t, err)
				synctest.Wait()
				got, err := w.locker(t, "b").Attach(t.Context(), "x", lk.Token())
				assert.Nil(t, got)
				var held *redlock.HeldError
				require.ErrorAs(t, err, &held)
				assert.Equal(t, kind, held.Kind)
				assert.Positive(t, held.Retry)
				require.NoError(t, lk.Extend(t.Context()), "it is untouched")
				unlock(t, lk)
			})
		})
	}
}

func TestAttachWithAPartOfATokenIsHeld(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		token := handOver(t, w)
		l := w.locker(t, "child")
		for _, part := range []string{token[:len(token)-1], token[:len("parent:")], token[:1], token[1:], token + "0"} {
			got, err := l.Attach(t.Context(), "x", part)
			assert.Nil(t, got, part)
			require.ErrorIs(t, err, redlock.ErrHeld, part)
			require.NotContains(t, err.Error(), token[len("parent:"):], "a token is a secret")
		}
		synctest.Wait()
		assert.Equal(t, 3, w.holders("x", token))
		lk, err := l.Attach(t.Context(), "x", token)
		require.NoError(t, err)
		unlock(t, lk)
	})
}

func TestAttachAndClose(t *testing.T) {
	t.Parallel()
	t.Run("before", func(t *testing.T) {
		t.Parallel()
		inWorld(t, 3, func(t *testing.T, w *world) {
			token := handOver(t, w)
			l := w.locker(t, "child")
			lk, err := l.Attach(t.Context(), "x", token)
			require.NoError(t, err)
			held := lk.Context()
			require.NoError(t, l.Close())
			assert.ErrorIs(t, lk.Err(), redlock.ErrClosed)
			assert.True(t, ends(held))
			assert.ErrorIs(t, lk.Unlock(t.Context()), redlock.ErrClosed)
			assert.Zero(t, w.holders("x", token), "Close releases it, as every lock")
		})
	})
	for name, after := range map[string]time.Duration{
		"before it is answered": 50 * time.Millisecond, "as it is answered": 200 * time.Millisecond,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, 3, func(t *testing.T, w *world) {
				token := handOver(t, w)
				l := w.locker(t, "child")
				_, err := l.Inspect(t.Context(), "x") // they know the script then
				require.NoError(t, err)
				for i := range w.Masters() {
					w.Host("child").To(i).Delay(100*time.Millisecond, 0)
				}
				got := inBackground(func() (*redlock.Lock, error) { return l.Attach(t.Context(), "x", token) })
				time.Sleep(after)
				require.NoError(t, l.Close())
				a := ended(t, got, 0)
				if a.lock == nil {
					assert.ErrorIs(t, a.err, redlock.ErrClosed)
					assert.Equal(t, 3, w.holders("x", token), "it is the one's who handed it over")
					return
				}
				assert.Equal(t, 200*time.Millisecond, after, "it was answered")
				assert.ErrorIs(t, a.lock.Err(), redlock.ErrClosed)
			})
		})
	}
	t.Run("after", func(t *testing.T) {
		t.Parallel()
		inWorld(t, 3, func(t *testing.T, w *world) {
			token := handOver(t, w)
			l := w.locker(t, "child")
			require.NoError(t, l.Close())
			w.forget()
			_, err := l.Attach(t.Context(), "x", token)
			assert.ErrorIs(t, err, redlock.ErrClosed)
			assert.Empty(t, w.asked())
			assert.Equal(t, 3, w.holders("x", token))
		})
	})
}
