package stacktest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/kind"
)

func rlock(t testing.TB, l *redlock.Locker, name string, opts ...redlock.LockOption) *redlock.Lock {
	t.Helper()
	lk, err := l.RW(name).TryRLock(t.Context(), opts...)
	require.NoError(t, err)
	return lk
}

// leftovers are the keys on all masters but for the fences, which are meant to stay.
func (w *world) leftovers(name string) (keys []string) {
	synctest.Wait() // an Unlock returns at the majority
	for _, m := range w.Masters() {
		for _, key := range m.Keys() {
			if key != kind.FenceKey(name) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

func TestReadersShareAndAWriterWaitsForTheLast(t *testing.T) {
	t.Parallel()
	inWorld(t, 5, func(t *testing.T, w *world) {
		a, b, c := w.locker(t, "a"), w.locker(t, "b"), w.locker(t, "c", patient)
		one, two, three := rlock(t, a, "x"), rlock(t, a, "x"), rlock(t, b, "x")
		writer := inBackground(func() (*redlock.Lock, error) { return c.RW("x").Lock(t.Context()) })
		for _, lk := range []*redlock.Lock{one, three, two} {
			time.Sleep(20 * time.Second) // keepalive holds them
			waiting(t, writer)
			unlock(t, lk)
		}
		got := ended(t, writer, 100*time.Millisecond)
		require.NoError(t, got.err)
		unlock(t, got.lock)
		assert.Empty(t, w.leftovers("x"))
	})
}

// The head of a queue leaves its own intent, so a writer after it in the queue is not starved either, and each intent
// goes with the waiter that left it.
func TestAWriterBehindAMutexKeepsNewReadersOut(t *testing.T) {
	t.Parallel()
	inWorld(t, 5, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a"), w.locker(t, "b")
		in := rlock(t, a, "x")
		ctx, cancel := context.WithCancel(t.Context())
		mutex := inBackground(func() (*redlock.Lock, error) { return b.Lock(ctx, "x") })
		writer := inBackground(func() (*redlock.Lock, error) { return b.RW("x").Lock(t.Context()) })
		keptOut := func() {
			for range 10 {
				time.Sleep(700 * time.Millisecond)
				_, err := a.RW("x").TryRLock(t.Context())
				require.ErrorIs(t, err, redlock.ErrHeld)
			}
		}
		keptOut()
		cancel()
		require.Error(t, ended(t, mutex, 0).err)
		keptOut() // by the writer, which is the head now
		unlock(t, in)
		got := ended(t, writer, 50*time.Millisecond)
		require.NoError(t, got.err)
		unlock(t, got.lock)
		assert.Empty(t, w.leftovers("x"))
	})
}

func TestAReaderThatDiesBlocksAWriterForItsOwnTTLOnly(t *testing.T) {
	t.Parallel()
	inWorld(t, 5, func(t *testing.T, w *world) {
		a, b, c := w.locker(t, "a"), w.locker(t, "b"), w.locker(t, "c")
		lives := rlock(t, a, "x")
		rlock(t, b, "x")
		w.Host("b").Freeze() // it dies
		time.Sleep(2 * ttl)  // the other one still holds
		unlock(t, lives)
		writer, err := c.RW("x").TryLock(t.Context())
		require.NoError(t, err)
		unlock(t, writer)
	})
}
