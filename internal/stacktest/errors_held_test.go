package stacktest_test

import (
	"context"
	"errors"
	"strings"
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
				subWorld(t, name, 3, func(t *testing.T, w *world) {
					lk, err := holder.try(t.Context(), w.locker(t, "a"), opts...)
					require.NoError(t, err)
					synctest.Wait()
					b := w.locker(t, "b")
					_, err = asker.try(t.Context(), b, opts...)
					got := heldError(t, err)
					assert.Contains(t, holder.names, got.Name)
					assert.Contains(t, asker.names, got.Name)
					if asker.name == "mutex" && opts == nil { // a plain SET NX PX
						assert.Empty(t, got.Kind)
						assert.Zero(t, got.Retry)
						_, err = b.Lock(within(t, time.Second), "x") // it has probed, and knows more
						require.ErrorIs(t, err, context.DeadlineExceeded)
						got = heldError(t, err)
					}
					assert.EqualValues(t, holder.kind, got.Kind)
					assert.Positive(t, got.Retry)
					assert.LessOrEqual(t, got.Retry, ttl)
					unlock(t, lk)
				})
			}
		}
	}
}

func TestHeldErrorOfAForeignKey(t *testing.T) {
	t.Parallel()
	for _, left := range []time.Duration{0, time.Minute, time.Hour} { // 0: it has no end
		bubble(t, 3, func(t *testing.T, w *world) {
			w.foreign("x", left)
			l := w.locker(t, "a")
			_, err := l.TryLock(t.Context(), "x")
			assert.Equal(t, &redlock.HeldError{Name: "x"}, heldError(t, err))
			_, err = l.RW("x").TryLock(t.Context())
			assert.Equal(t, &redlock.HeldError{Name: "x", Kind: "mutex", Retry: left}, heldError(t, err))
			_, err = l.Lock(within(t, time.Second), "x")
			assert.InDelta(t, float64(left), float64(heldError(t, err).Retry), float64(time.Second))
		})
	}
}

// Each of the names in turn, whatever their order.
func TestHeldErrorOfLockAllNamesTheOneThatIsHeld(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"w", "x", "y"} {
		subWorld(t, name, 3, func(t *testing.T, w *world) {
			lk := lock(t, w.locker(t, "a"), name)
			l := w.locker(t, "b")
			_, err := l.TryLockAll(t.Context(), []string{"y", "w", "x"})
			assert.Equal(t, name, heldError(t, err).Name)
			_, err = l.LockAll(within(t, time.Second), []string{"y", "w", "x"})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, name, heldError(t, err).Name)
			unlock(t, lk)
		})
	}
}

// A writer that waits keeps readers out, though it holds nothing.
func TestHeldErrorOfAReaderThatAWaitingWriterKeepsOut(t *testing.T) {
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

// A HeldError names the holder if this Locker is the holder, or if the caller waited.
func TestHeldErrorNamesTheHolder(t *testing.T) {
	t.Parallel()
	const owner = "host-7:8"
	for _, tt := range []struct {
		name   string
		hold   call
		kept   bool // it is released, with a minimum hold
		waited string
		own    string // of a TryLock of the same Locker
	}{
		{name: "mutex", hold: byMutex, waited: owner, own: owner},
		{name: "minimum hold", hold: func(ctx context.Context, l *redlock.Locker, _ int) (*redlock.Lock, error) {
			return l.Lock(ctx, "x", redlock.WithMinHold(10*time.Second))
		}, kept: true, waited: owner},
		{name: "writer", hold: byWriter, waited: owner, own: owner},
		{name: "reader", hold: byReader, waited: owner},
		{name: "owner", hold: func(ctx context.Context, l *redlock.Locker, _ int) (*redlock.Lock, error) {
			return l.Reentrant("x", "job\x1b[2J\n7").Lock(ctx)
		}, waited: "job\uFFFD[2J\uFFFD7"},
		{name: "permit", hold: byOnlyPermit, waited: owner},
	} {
		subWorld(t, tt.name, 3, func(t *testing.T, w *world) {
			a, b := w.locker(t, owner), w.locker(t, "b")
			lk, err := tt.hold(t.Context(), a, 0)
			require.NoError(t, err)
			if tt.kept {
				unlock(t, lk)
			}
			_, err = b.TryLock(t.Context(), "x")
			assert.Empty(t, heldError(t, err).Holder, "a plain SET does not tell")
			_, err = b.Lock(within(t, time.Second), "x")
			assert.Equal(t, tt.waited, heldError(t, err).Holder)
			assert.NotContains(t, err.Error(), "\x1b")
			if tt.waited != "" {
				assert.Contains(t, err.Error(), `, "`+tt.waited+`")`)
			}
			_, err = a.TryLock(t.Context(), "x")
			assert.Equal(t, tt.own, heldError(t, err).Holder)
		})
	}
}

// The value of another client's key may be a secret.
func TestHeldErrorShowsNoForeignValue(t *testing.T) {
	t.Parallel()
	hexadecimal := strings.Repeat("0f", 16)
	for value, holder := range map[string]string{
		"foreign":                       "",
		strings.Repeat("secret", 20):    "",
		"secret " + hexadecimal:         "",
		"host:" + hexadecimal:           "host",
		"min-hold:host:" + hexadecimal:  "host",
		"host:" + hexadecimal[1:] + "x": "",
		hexadecimal:                     "",
		":" + hexadecimal:               "",
	} {
		bubble(t, 3, func(t *testing.T, w *world) {
			for _, m := range w.Masters() {
				m.Set("x", value, time.Hour)
			}
			_, err := w.locker(t, "a").Lock(within(t, time.Second), "x")
			assert.Equal(t, holder, heldError(t, err).Holder, value)
			assert.NotContains(t, err.Error(), "secret")
		})
	}
}
