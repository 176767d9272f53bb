package stacktest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
)

// heldError asserts that err is about a lock that another holds, and nothing else, and returns its HeldError.
func heldError(t *testing.T, err error) *redlock.HeldError {
	t.Helper()
	var held *redlock.HeldError
	require.ErrorAs(t, err, &held)
	require.ErrorIs(t, err, redlock.ErrHeld)
	require.NoError(t, errors.Unwrap(held), "it is the end of its chain")
	for _, other := range []error{redlock.ErrNoQuorum, redlock.ErrLost, redlock.ErrReleased, redlock.ErrClosed} {
		require.NotErrorIs(t, err, other)
	}
	assert.Empty(t, redlock.NodeErrors(err))
	return held
}

// Each kind is refused what each other kind holds, with fencing, where a script reports the holder, and without.
func TestHeldErrorSaysWhoHoldsTheLock(t *testing.T) {
	t.Parallel()
	for _, holder := range permitless {
		for _, asker := range permitless {
			for _, opts := range [][]redlock.LockOption{nil, {redlock.WithFencing()}} {
				if holder.kind == "reader" && asker.kind == "reader" {
					continue
				}
				name := holder.name + ", " + asker.name
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					inWorld(t, 3, func(t *testing.T, w *world) {
						lk, err := holder.try(t.Context(), w.locker(t, "a"), opts...)
						require.NoError(t, err)
						synctest.Wait()
						_, err = asker.try(t.Context(), w.locker(t, "b"), opts...)
						got := heldError(t, err)
						assert.Contains(t, holder.names, got.Name)
						assert.Contains(t, asker.names, got.Name)
						if asker.name == "mutex" && opts == nil { // a plain SET NX PX
							assert.Empty(t, got.Kind)
							assert.Zero(t, got.Retry)
						} else {
							assert.EqualValues(t, holder.kind, got.Kind)
							assert.Positive(t, got.Retry)
							assert.LessOrEqual(t, got.Retry, ttl)
						}
						unlock(t, lk)
					})
				})
			}
		}
	}
}

// A lock of the same Locker is known without asking a master.
func TestHeldErrorOfTheSameLocker(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		lk := lock(t, l, "x")
		_, err := l.TryLock(t.Context(), "x")
		assert.Equal(t, &redlock.HeldError{Name: "x", Kind: "mutex", Holder: "a"}, heldError(t, err))
		unlock(t, lk)
	})
}

func TestHeldErrorOfAForeignKey(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		w.foreign("x", time.Minute)
		l := w.locker(t, "a")
		_, err := l.TryLock(t.Context(), "x")
		assert.Equal(t, &redlock.HeldError{Name: "x"}, heldError(t, err))
		_, err = l.RW("x").TryLock(t.Context())
		assert.Equal(t, &redlock.HeldError{Name: "x", Kind: "mutex", Retry: time.Minute}, heldError(t, err))
	})
}

// Each of the names in turn, whatever their order.
func TestHeldErrorOfLockAllNamesTheOneThatIsHeld(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"w", "x", "y"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, 3, func(t *testing.T, w *world) {
				lk := lock(t, w.locker(t, "a"), name)
				l := w.locker(t, "b")
				_, err := l.TryLockAll(t.Context(), []string{"y", "w", "x"})
				assert.Equal(t, name, heldError(t, err).Name)
				_, err = l.LockAll(within(t, time.Second), []string{"y", "w", "x"})
				require.ErrorIs(t, err, context.DeadlineExceeded)
				assert.Equal(t, name, heldError(t, err).Name)
				unlock(t, lk)
			})
		})
	}
}

// A caller that waited has looked, and so knows more than SET NX PX reports.
func TestHeldErrorOfALockThatWaited(t *testing.T) {
	t.Parallel()
	for _, holder := range permitless {
		t.Run(holder.name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, 3, func(t *testing.T, w *world) {
				lk, err := holder.try(t.Context(), w.locker(t, "a"))
				require.NoError(t, err)
				_, err = w.locker(t, "b").Lock(within(t, time.Second), "x")
				require.ErrorIs(t, err, context.DeadlineExceeded)
				got := heldError(t, err)
				assert.Equal(t, "x", got.Name)
				assert.EqualValues(t, holder.kind, got.Kind)
				assert.Positive(t, got.Retry)
				assert.LessOrEqual(t, got.Retry, ttl)
				unlock(t, lk)
			})
		})
	}
}

// A writer that waits keeps readers out, though it holds nothing.
func TestHeldErrorOfAReaderThatAWaitingWriterKeepsOut(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		reader, err := w.locker(t, "a").RW("x").TryRLock(t.Context())
		require.NoError(t, err)
		b := w.locker(t, "b")
		writing := inBackground(func() (*redlock.Lock, error) { return b.RW("x").Lock(t.Context()) })
		_, err = w.locker(t, "c").RW("x").TryRLock(t.Context())
		got := heldError(t, err)
		assert.Equal(t, "x", got.Name)
		assert.EqualValues(t, "writer", got.Kind)
		assert.Positive(t, got.Retry)
		unlock(t, reader)
		unlock(t, ended(t, writing, time.Second).lock)
	})
}
