package redlock_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/redlocktest"
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

func TestAWaitingWriterKeepsNewReadersOut(t *testing.T) {
	t.Parallel()
	inWorld(t, 5, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a"), w.locker(t, "b")
		in := rlock(t, a, "x")
		ctx, cancel := context.WithCancel(t.Context())
		writer := inBackground(func() (*redlock.Lock, error) { return b.RW("x").Lock(ctx) })
		for range 10 { // longer than an intent lives, at every point between two of the writer's attempts
			time.Sleep(700 * time.Millisecond)
			waiting(t, writer)
			for _, l := range []*redlock.Locker{a, b} {
				_, err := l.RW("x").TryRLock(t.Context())
				var he *redlock.HeldError
				require.ErrorAs(t, err, &he)
				assert.Equal(t, "writer", he.Kind)
			}
		}
		require.NoError(t, in.Extend(t.Context()), "who is in stays in")
		reader := inBackground(func() (*redlock.Lock, error) { return a.RW("x").RLock(t.Context()) })
		time.Sleep(2 * time.Second)
		waiting(t, reader)
		cancel()
		require.ErrorIs(t, ended(t, writer, 0).err, redlock.ErrHeld)
		got := ended(t, reader, 50*time.Millisecond)
		require.NoError(t, got.err, "the writer gave up")
		unlock(t, got.lock)
		unlock(t, in)
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

func TestAnIntentDiesWithTheWriterThatSetIt(t *testing.T) {
	t.Parallel()
	inWorld(t, 5, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a"), w.locker(t, "b")
		in := rlock(t, a, "x")
		writer := inBackground(func() (*redlock.Lock, error) { return b.RW("x").Lock(t.Context()) })
		time.Sleep(5 * time.Second)
		w.Host("b").Freeze()
		began := time.Now()
		got, err := a.RW("x").RLock(within(t, time.Minute))
		require.NoError(t, err)
		assert.Greater(t, time.Since(began), 10*time.Millisecond, "the intent was there")
		assert.LessOrEqual(t, time.Since(began), 4*time.Second)
		unlock(t, got)
		unlock(t, in)
		w.Host("b").Thaw()
		late := ended(t, writer, time.Minute)
		require.NoError(t, late.err)
		unlock(t, late.lock)
	})
}

func TestADeniedTryLockKeepsNoReaderOut(t *testing.T) {
	t.Parallel()
	inWorld(t, 5, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a"), w.locker(t, "b")
		in := rlock(t, a, "x")
		_, err := b.RW("x").TryLock(t.Context())
		require.ErrorIs(t, err, redlock.ErrHeld)
		unlock(t, rlock(t, b, "x"))
		unlock(t, in)
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

func TestADowngradeLeavesNoGap(t *testing.T) {
	t.Parallel()
	inWorld(t, 5, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a", redlock.WithFencing()), w.locker(t, "b", redlock.WithFencing(), patient)
		lk, err := a.RW("x").TryLock(t.Context())
		require.NoError(t, err)
		fence := lk.Fence()
		synctest.Wait() // a reader that is the first on some master has it count once more
		reader := inBackground(func() (*redlock.Lock, error) { return b.RW("x").RLock(t.Context()) })
		time.Sleep(time.Second)
		waiting(t, reader)
		w.Master(0).Crash()
		require.NoError(t, lk.Downgrade(t.Context()))
		got := ended(t, reader, 100*time.Millisecond)
		require.NoError(t, got.err, "a release woke it")
		assert.Equal(t, fence, got.lock.Fence(), "concurrent readers share the token of the first")
		assert.Equal(t, fence, lk.Fence())

		for _, l := range []*redlock.Locker{a, b} {
			_, err = l.RW("x").TryLock(t.Context())
			require.ErrorIs(t, err, redlock.ErrHeld)
		}
		unlock(t, got.lock)
		time.Sleep(3 * ttl)
		require.NoError(t, lk.Err(), "it is kept alive as a reader")
		next := inBackground(func() (*redlock.Lock, error) { return a.RW("x").Lock(t.Context()) })
		time.Sleep(time.Second)
		waiting(t, next, "a writer of the same process")
		unlock(t, lk)
		writer := ended(t, next, time.Second)
		require.NoError(t, writer.err)
		assert.Greater(t, writer.lock.Fence(), fence)
		unlock(t, writer.lock)
		require.ErrorIs(t, lk.Unlock(t.Context()), redlock.ErrReleased)
	})
}

func TestAnUnconfirmedDowngradeIsRepeated(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a"), w.locker(t, "b")
		lk, err := a.RW("x").TryLock(t.Context())
		require.NoError(t, err)
		for _, m := range w.some(0, 2) {
			m.BlackHole()
		}
		require.ErrorIs(t, lk.Downgrade(t.Context()), redlock.ErrNoQuorum)
		require.NoError(t, lk.Err())
		for _, m := range w.some(0, 2) {
			m.Heal()
		}
		time.Sleep(ttl / 2) // an extension came through
		unlock(t, rlock(t, b, "x"))
		unlock(t, lk)
		time.Sleep(time.Second)
		assert.Empty(t, w.leftovers("x"))
	})
}

// Whatever else its holder does at the same time, a downgraded lock is a reader's on every master, or gone.
func TestADowngradeDuringAnExtensionOrAnUnlock(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]func(*redlock.Lock) error{
		"extension": func(lk *redlock.Lock) error { return lk.Extend(context.Background()) },
		"unlock":    func(lk *redlock.Lock) error { return lk.Unlock(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 30 {
				inWorld(t, 3, func(t *testing.T, w *world) {
					w.Master(1).Delay(time.Millisecond, 3*time.Millisecond)
					a, b := w.locker(t, "a"), w.locker(t, "b")
					lk, err := a.RW("x").TryLock(t.Context())
					require.NoError(t, err)
					var both sync.WaitGroup
					both.Go(func() { assert.NoError(t, other(lk)) })
					both.Go(func() {
						if err := lk.Downgrade(context.Background()); err != nil {
							assert.ErrorIs(t, err, redlock.ErrReleased)
						}
					})
					both.Wait()
					time.Sleep(100 * time.Millisecond)
					if lk.Err() == nil {
						for i := range w.Masters() {
							holding, err := b.Inspect(t.Context(), "x")
							require.NoError(t, err)
							assert.Equal(t, "reader", holding.Nodes[i].Kind)
						}
						unlock(t, rlock(t, b, "x"))
						unlock(t, lk)
						time.Sleep(100 * time.Millisecond)
					}
					assert.Empty(t, w.leftovers("x"))
				})
			}
		})
	}
}

func TestOnlyAWriterCanBeDowngraded(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		for _, lk := range []*redlock.Lock{lock(t, l, "m"), rlock(t, l, "r"), reenter(t, l, "o", "me")} {
			require.ErrorContains(t, lk.Downgrade(t.Context()), "downgrade")
			require.NoError(t, lk.Err())
			unlock(t, lk)
			require.ErrorIs(t, lk.Downgrade(t.Context()), redlock.ErrReleased)
		}
	})
}

// An extension to a master that failed a moment ago is decided while it is submitted, and looks at the lock then.
func TestADowngradeDuringAnExtensionThatFailsAtOnceDoesNotHang(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 1)
	var other atomic.Bool
	var lk *redlock.Lock
	downgraded := make(chan error, 1)
	trace := &redlock.Trace{Extended: func(context.Context, redlock.ExtendedEvent) {
		if other.Swap(false) {
			go func() { downgraded <- lk.Downgrade(context.Background()) }()
			time.Sleep(50 * time.Millisecond) // it waits for the extension
		}
	}}
	l, err := redlock.Open(
		redlocktest.URLs(masters), redlock.WithTTL(time.Minute), redlock.WithTrace(trace), redlock.WithoutKeepalive(),
	)
	require.NoError(t, err)
	lk, err = l.RW("x").Lock(t.Context())
	require.NoError(t, err)
	masters[0].Stop()
	for err := error(nil); err == nil || !strings.Contains(err.Error(), "not asked"); {
		err = lk.Extend(t.Context()) // it finds out
		require.ErrorIs(t, err, redlock.ErrNoQuorum)
	}
	other.Store(true)
	extended := make(chan error, 1)
	go func() { extended <- lk.Extend(context.Background()) }()
	for _, ended := range []chan error{extended, downgraded} {
		select {
		case err := <-ended:
			require.ErrorIs(t, err, redlock.ErrNoQuorum)
		case <-time.After(30 * time.Second):
			t.Fatal("they wait for each other")
		}
	}
	require.NoError(t, l.Close())
}
