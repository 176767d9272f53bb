package keyed_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/keyed"
	"github.com/redlock-go/redlock/redlocktest"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// inBubble is a parallel test with three masters in virtual time. open returns another Locker over them.
func inBubble(t *testing.T, f func(t *testing.T, masters []*redlocktest.Master, open opener)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		masters := redlocktest.StartVirtual(t, 3)
		f(t, masters, func(opts ...redlock.Option) *redlock.Locker {
			l, err := redlock.Open(redlocktest.URLs(masters), opts...)
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, l.Close()) })
			return l
		})
	})
}

type opener func(opts ...redlock.Option) *redlock.Locker

const ttl = 10 * time.Second // the default

// locking calls Lock in the background, and returns when the caller waits or has its answer.
func locking(ctx context.Context, k *keyed.Keyed) <-chan error {
	out := make(chan error, 1)
	go func() { out <- k.Lock(ctx, "x") }()
	synctest.Wait()
	return out
}

// lose locks x in a Keyed that does not extend its locks, and waits until the lock is lost.
func lose(t *testing.T, l *redlock.Locker) *keyed.Keyed {
	t.Helper()
	k := keyed.New(l, redlock.WithoutKeepalive())
	require.NoError(t, k.Lock(t.Context(), "x"))
	time.Sleep(2 * ttl)
	return k
}

// requireFree locks x in a Locker, and unlocks it.
func requireFree(t *testing.T, l *redlock.Locker, why string) {
	t.Helper()
	x, err := l.TryLock(t.Context(), "x")
	require.NoError(t, err, why)
	require.NoError(t, x.Unlock(t.Context()))
}

func TestAKeyIsTheNameOfAMutex(t *testing.T) {
	inBubble(t, func(t *testing.T, _ []*redlocktest.Master, open opener) {
		l := open()
		k := keyed.New(l)
		require.NoError(t, k.Lock(t.Context(), "x"))
		require.NoError(t, k.Lock(t.Context(), "y"))
		for _, other := range []*redlock.Locker{l, open()} {
			_, err := other.TryLock(t.Context(), "x")
			require.ErrorIs(t, err, redlock.ErrHeld)
		}
		require.NoError(t, k.Unlock(t.Context(), "x"))
		x, err := l.TryLock(t.Context(), "x")
		require.NoError(t, err)
		ok, err := k.TryLock(t.Context(), "x")
		require.NoError(t, err)
		assert.False(t, ok)
		require.NoError(t, x.Unlock(t.Context()))
		require.NoError(t, k.Unlock(t.Context(), "y"))
	})
}

func TestTryLock(t *testing.T) {
	inBubble(t, func(t *testing.T, masters []*redlocktest.Master, open opener) {
		var fenced int
		a := open(redlock.WithTrace(&redlock.Trace{AcquireEnd: func(_ context.Context, e redlock.AcquireEndEvent) {
			if e.Fence > 0 {
				fenced++
			}
		}}))
		k, b := keyed.New(a, redlock.WithFencing()), keyed.New(open())
		for range 2 {
			for _, of := range []struct {
				keyed *keyed.Keyed
				want  bool
			}{{k, true}, {k, false}, {b, false}} {
				ok, err := of.keyed.TryLock(t.Context(), "x")
				require.NoError(t, err)
				require.Equal(t, of.want, ok)
			}
			require.NoError(t, k.Unlock(t.Context(), "x"))
		}
		assert.Equal(t, 2, fenced, "the options apply")
		masters[0].Freeze()
		masters[1].Freeze()
		ok, err := k.TryLock(t.Context(), "x")
		require.ErrorIs(t, err, redlock.ErrNoQuorum)
		assert.False(t, ok)
		masters[0].Thaw()
		masters[1].Thaw()
	})
}

func TestUnlockOfAKeyThatIsNotHeld(t *testing.T) {
	inBubble(t, func(t *testing.T, _ []*redlocktest.Master, open opener) {
		k := keyed.New(open())
		err := k.Unlock(t.Context(), "x")
		require.ErrorIs(t, err, redlock.ErrReleased)
		require.ErrorContains(t, err, `unlock "x": no caller of this Keyed holds the key: call Lock before`)
		require.NoError(t, k.Lock(t.Context(), "x"))
		require.NoError(t, k.Unlock(t.Context(), "x"))
		require.ErrorIs(t, k.Unlock(t.Context(), "x"), redlock.ErrReleased)
		require.Error(t, k.Lock(t.Context(), ""))
		ok, err := k.TryLock(t.Context(), "")
		require.Error(t, err)
		assert.False(t, ok)
	})
}

func TestCallersGetAKeyInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, _ []*redlocktest.Master, open opener) {
		k := keyed.New(open())
		require.NoError(t, k.Lock(t.Context(), "x"))
		var order []int
		var callers sync.WaitGroup
		ctx := t.Context()
		for i := range 10 {
			callers.Go(func() {
				assert.NoError(t, k.Lock(ctx, "x"))
				order = append(order, i)
				assert.NoError(t, k.Unlock(ctx, "x"))
			})
			synctest.Wait()
		}
		require.Empty(t, order)
		require.NoError(t, k.Unlock(ctx, "x"))
		callers.Wait()
		assert.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, order)
	})
}

// Were the key free after the loss, the late Unlock of the first caller would unlock the key of the second.
func TestALostKeyIsTakenUntilItIsUnlocked(t *testing.T) {
	inBubble(t, func(t *testing.T, _ []*redlocktest.Master, open opener) {
		acquisitions := 0
		k := lose(t, open(redlock.WithTrace(&redlock.Trace{
			AcquireStart: func(context.Context, redlock.AcquireStartEvent) { acquisitions++ },
		})))
		x, err := open().TryLock(t.Context(), "x")
		require.NoError(t, err, "other processes need not wait for the caller")
		ok, err := k.TryLock(t.Context(), "x")
		require.NoError(t, err)
		require.False(t, ok)

		next := locking(t.Context(), k)
		time.Sleep(ttl)
		require.Empty(t, next)
		require.Equal(t, 1, acquisitions, "the name is taken from other processes once")
		require.ErrorIs(t, k.Unlock(t.Context(), "x"), redlock.ErrLost)
		synctest.Wait()
		require.ErrorIs(t, k.Unlock(t.Context(), "x"), redlock.ErrReleased, "it leaves the next caller alone")
		require.Empty(t, next, "it waits for the other process")
		require.NoError(t, x.Unlock(t.Context()))
		require.NoError(t, <-next)
		require.NoError(t, k.Unlock(t.Context(), "x"))
	})
}

// While a caller of TryLock acquires the lock, another caller gets the key and loses the lock.
func TestTryLockLeavesALostKeyAlone(t *testing.T) {
	inBubble(t, func(t *testing.T, _ []*redlocktest.Master, open opener) {
		var k *keyed.Keyed
		first := true
		k = keyed.New(open(redlock.WithTrace(&redlock.Trace{
			AcquireStart: func(ctx context.Context, _ redlock.AcquireStartEvent) {
				if first {
					first = false
					assert.NoError(t, k.Lock(ctx, "x"))
					time.Sleep(2 * ttl)
				}
			},
		})), redlock.WithoutKeepalive())
		ok, err := k.TryLock(t.Context(), "x")
		require.NoError(t, err)
		assert.False(t, ok)
		requireFree(t, open(), "TryLock keeps nothing")
		require.ErrorIs(t, k.Unlock(t.Context(), "x"), redlock.ErrLost)
	})
}

func TestWhatEndsTheWaitForAKey(t *testing.T) {
	t.Parallel()
	for _, state := range []struct {
		name string
		lost bool
		text string // of the error when ctx ends
	}{
		{"held", false, "held by another"},
		{"lost", true, "a caller of this Keyed has lost it, and must call Unlock"},
	} {
		t.Run(state.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, _ []*redlocktest.Master, open opener) {
				l := open()
				k := keyed.New(l)
				if state.lost {
					k = lose(t, l)
				} else {
					require.NoError(t, k.Lock(t.Context(), "x"))
				}
				short, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				err := k.Lock(short, "x")
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.ErrorIs(t, err, redlock.ErrHeld)
				require.ErrorContains(t, err, state.text)

				waiter := locking(t.Context(), k)
				require.Empty(t, waiter)
				require.NoError(t, l.Close())
				synctest.Wait()
				require.ErrorIs(t, <-waiter, redlock.ErrClosed)
				require.ErrorIs(t, k.Lock(t.Context(), "x"), redlock.ErrClosed)
				require.ErrorIs(t, k.Unlock(t.Context(), "x"), redlock.ErrClosed)
			})
		})
	}
}

// A callback that panics leaves no key taken.
func TestAPanicLeavesNoKeyTaken(t *testing.T) {
	inBubble(t, func(t *testing.T, _ []*redlocktest.Master, open opener) {
		panics := ""
		do := func(callback string) {
			if callback == panics {
				panic("the caller's")
			}
		}
		k := keyed.New(open(redlock.WithTrace(&redlock.Trace{
			AcquireEnd: func(context.Context, redlock.AcquireEndEvent) { do("acquire") },
			Unlocked:   func(context.Context, redlock.UnlockedEvent) { do("unlock") },
		})))
		panics = "acquire"
		assert.Panics(t, func() { _ = k.Lock(t.Context(), "x") })
		assert.Panics(t, func() { _, _ = k.TryLock(t.Context(), "x") })
		panics = "unlock"
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.NoError(t, k.Lock(ctx, "x"))
		assert.Panics(t, func() { _ = k.Unlock(ctx, "x") })
		panics = ""
		require.NoError(t, k.Lock(ctx, "x"))
		require.NoError(t, k.Unlock(ctx, "x"))
	})
}

// New copies the options: the caller may change the slice afterwards.
func TestNewCopiesTheOptions(t *testing.T) {
	inBubble(t, func(t *testing.T, _ []*redlocktest.Master, open opener) {
		opts := []redlock.LockOption{redlock.WithTTL(ttl)}
		k := keyed.New(open(), opts...)
		opts[0] = redlock.WithTTL(-1)
		require.NoError(t, k.Lock(t.Context(), "x"))
		require.NoError(t, k.Unlock(t.Context(), "x"))
		ok, err := k.TryLock(t.Context(), "x")
		require.NoError(t, err)
		assert.True(t, ok)
	})
}

func TestALossPassesTheKeyToNoWaiter(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func([]*redlocktest.Master){
		"the second caller waits for the lock": func([]*redlocktest.Master) { time.Sleep(ttl) },
		// The first caller has not noticed it yet, and the Locker may grant the name again.
		"an operator releases the name": func(masters []*redlocktest.Master) {
			for _, m := range masters {
				m.Release("x")
			}
			synctest.Wait()
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, masters []*redlocktest.Master, open opener) {
				k, other := keyed.New(open(), redlock.WithoutKeepalive()), open()
				require.NoError(t, k.Lock(t.Context(), "x"))
				next := locking(t.Context(), k)
				lose(masters)
				time.Sleep(time.Second)
				require.Empty(t, next)
				requireFree(t, other, "the waiter keeps nothing")
				require.ErrorIs(t, k.Unlock(t.Context(), "x"), redlock.ErrLost)
				require.NoError(t, <-next)
				require.NoError(t, k.Unlock(t.Context(), "x"))
			})
		})
	}
}
