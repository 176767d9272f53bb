package stacktest_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/simnet"
)

func TestEverythingSaysClosedAfterClose(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		held, released, lost := lock(t, l, "held"), lock(t, l, "released"), lock(t, l, "lost", redlock.WithoutKeepalive())
		unlock(t, released)
		time.Sleep(ttl)
		require.ErrorIs(t, lost.Err(), redlock.ErrLost)
		require.NoError(t, l.Close())
		require.NoError(t, l.Close(), "a second Close has nothing to do")
		synctest.Wait()
		dials := w.Master(0).Dials()

		ctx := t.Context()
		for what, err := range everyCall(ctx, l) {
			require.ErrorIs(t, err, redlock.ErrClosed, what)
		}
		for _, lk := range []*redlock.Lock{held, released, lost} {
			require.ErrorIs(t, lk.Extend(ctx), redlock.ErrClosed, lk.Name())
			require.ErrorIs(t, lk.Unlock(ctx), redlock.ErrClosed, lk.Name())
			require.ErrorIs(t, lk.Unlock(ctx), redlock.ErrClosed, "%s, again", lk.Name())
		}
		require.ErrorIs(t, held.Err(), redlock.ErrClosed)
		require.ErrorIs(t, context.Cause(held.Context()), redlock.ErrClosed)
		require.ErrorIs(t, released.Err(), redlock.ErrReleased, "why it ended does not change any more")
		require.ErrorIs(t, lost.Err(), redlock.ErrLost)
		synctest.Wait()
		assert.Equal(t, dials, w.Master(0).Dials())
		assert.Zero(t, w.keys())
		assert.Zero(t, w.Open(), "connections")
	})
}

// spiedClock calls read before each reading.
type spiedClock struct {
	clock.Clock
	read func()
}

func (c *spiedClock) Now() time.Time {
	c.read()
	return c.Clock.Now()
}

// Close can no longer release the lock, and the masters must not be gone when the Unlock comes to it.
func TestCloseWaitsForAnUnlockThatHasNotSentItsRelease(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		var over atomic.Pointer[context.Context] // the lock's
		var stopped atomic.Bool
		reached, goOn := make(chan struct{}), make(chan struct{})
		clk := &spiedClock{w.Host("a").Clock(), func() { // blocks the first reader after the end of the lock
			if over := over.Load(); over != nil && (*over).Err() != nil && stopped.CompareAndSwap(false, true) {
				close(reached)
				<-goOn
			}
		}}
		l := w.locker(t, "a", redlock.WithClock(clk))
		lk := lock(t, l, "x")
		synctest.Wait()
		require.Equal(t, 5, w.keys())
		ctx := lk.Context()
		over.Store(&ctx)
		unlocked, closed := make(chan error, 1), make(chan error, 1)
		go func() { unlocked <- lk.Unlock(context.Background()) }()
		<-reached
		go func() { closed <- l.Close() }()
		synctest.Wait()
		assert.Empty(t, closed, "a Close that does not wait")
		assert.Equal(t, 5, w.keys(), "the release is still to come")
		close(goOn)
		require.NoError(t, <-unlocked)
		require.NoError(t, <-closed)
		assert.Zero(t, w.keys())
	})
}

// The loss is delivered a little early, and the release is sent at Until.
func TestCloseWaitsForALostLockThatIsKeptUntilItsEnd(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		lk := lock(t, l, "x", redlock.WithoutKeepalive())
		<-lk.Context().Done()
		require.Positive(t, time.Until(lk.Until()))
		assert.Equal(t, 5, w.keys())
		require.NoError(t, l.Close())
		assert.Zero(t, w.keys())
	})
}

func TestCloseSaysWhatItCouldNotConfirm(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l, log := w.logged(t, "a")
		lock(t, l, "x")
		synctest.Wait()
		w.Master(1).Freeze()
		require.NoError(t, l.Close())
		said := log.lines("unconfirmed")
		require.Len(t, said, 1)
		assert.Contains(t, said[0], w.Addr(1))
		assert.NotContains(t, said[0], w.Addr(0))
		w.Heal()
	})
}

// No call hangs, no key is left, and every lock has ended.
func TestCloseAmongEverythingElse(t *testing.T) {
	t.Parallel()
	for seed := range 20 {
		bubble(t, 3, func(t *testing.T, w *world) {
			each(w.Masters(), func(m *simnet.Master) { m.Delay(0, time.Millisecond) })
			var acquisitions atomic.Int64 // and holds, that have not ended
			l := w.locker(t, "a", redlock.WithTTL(time.Second), redlock.WithTrace(&redlock.Trace{
				AcquireStart: func(context.Context, redlock.AcquireStartEvent) { acquisitions.Add(1) },
				AcquireEnd: func(_ context.Context, e redlock.AcquireEndEvent) {
					if e.Err != nil {
						acquisitions.Add(-1)
					}
				},
				HoldEnd: func(context.Context, redlock.HoldEndEvent) { acquisitions.Add(-1) },
			}))
			var wg sync.WaitGroup
			for i := range 10 {
				wg.Go(func() {
					for {
						assertSnapshotAddsUp(t, l.Stats())
						lk, err := l.Lock(t.Context(), fmt.Sprint(i%3))
						if err != nil {
							assert.ErrorIs(t, err, redlock.ErrClosed)
							return
						}
						if i%2 == 0 {
							_ = lk.Extend(t.Context())
						}
						if err := lk.Unlock(t.Context()); err != nil {
							assert.ErrorIs(t, err, redlock.ErrClosed)
						}
						assert.Error(t, lk.Err())
					}
				})
			}
			time.Sleep(20*time.Millisecond + time.Duration(seed)*137*time.Microsecond)
			require.NoError(t, l.Close())
			wg.Wait()
			w.Heal()
			time.Sleep(100 * time.Millisecond)
			assert.Zero(t, w.keys(), "seed %d", seed)
			assert.Zero(t, acquisitions.Load(), "each has one end")
			assertSnapshotAddsUp(t, l.Stats())
		})
	}
}

// TestCloseIsBoundedInEveryPhase closes a Locker at every moment of what it may be doing: while the first node is
// asked, the others, or a fencing token is written back; while a waiter looks at what is in its way; and so on. The
// masters are so slow that each step takes nearly the node timeout, or silent.
func TestCloseIsBoundedInEveryPhase(t *testing.T) {
	t.Parallel()
	const (
		nodeTimeout = 5 * time.Second
		bound       = time.Second + 2*nodeTimeout
		long        = 5 * time.Minute // a TTL that ends nothing
	)
	opts := []redlock.Option{
		redlock.WithNodeTimeout(nodeTimeout), redlock.WithTTL(long), redlock.WithMaxTTL(time.Hour),
	}
	fenced, ctx := redlock.WithFencing(), context.Background()
	for name, call := range map[string]func(l *redlock.Locker, held *redlock.Lock) error{
		"Lock":    func(l *redlock.Locker, _ *redlock.Lock) error { return errorOf(l.Lock(ctx, "x", fenced)) },
		"TryLock": func(l *redlock.Locker, _ *redlock.Lock) error { return errorOf(l.TryLock(ctx, "x", fenced)) },
		"Lock of a held": func(l *redlock.Locker, _ *redlock.Lock) error {
			return errorOf(l.Lock(ctx, "foreign", fenced, patient))
		},
		"RW.Lock of a held": func(l *redlock.Locker, _ *redlock.Lock) error { return errorOf(l.RW("foreign").Lock(ctx)) },
		"Inspect":           func(l *redlock.Locker, _ *redlock.Lock) error { return errorOf(l.Inspect(ctx, "x")) },
		"Nodes":             func(l *redlock.Locker, _ *redlock.Lock) error { return errorOf(l.Nodes(ctx)) },
		"Release":           func(l *redlock.Locker, _ *redlock.Lock) error { return l.Release(ctx, "held", "token") },
		"five wait for a held": func(l *redlock.Locker, _ *redlock.Lock) error {
			var all errgroup.Group
			for range 5 {
				all.Go(func() error { return errorOf(l.Lock(ctx, "foreign", patient)) })
			}
			return all.Wait()
		},
		"ten Locks": func(l *redlock.Locker, _ *redlock.Lock) (err error) {
			for i := 0; i < 10 && err == nil; i++ {
				_, err = l.Lock(ctx, fmt.Sprint(i))
			}
			return err
		},
		"Unlock": func(_ *redlock.Locker, held *redlock.Lock) error { return held.Unlock(ctx) },
		"Extend": func(_ *redlock.Locker, held *redlock.Lock) error { return held.Extend(ctx) },
	} {
		for fault, do := range map[string]func(m *simnet.Master, i int){
			"well":                  func(*simnet.Master, int) {},
			"down":                  func(m *simnet.Master, _ int) { m.Crash() },
			"slow":                  func(m *simnet.Master, _ int) { m.Delay(2400*time.Millisecond, 0) },
			"frozen":                func(m *simnet.Master, _ int) { m.Freeze() },
			"one frozen, two slow":  func(m *simnet.Master, i int) { freezeOrDelay(m, i == 0) },
			"another one is frozen": func(m *simnet.Master, i int) { freezeOrDelay(m, i == 1) },
			"the last one is":       func(m *simnet.Master, i int) { freezeOrDelay(m, i == 2) },
		} {
			t.Run(name+", "+fault, func(t *testing.T) {
				t.Parallel()
				for at := 100 * time.Millisecond; at < 16*time.Second; at += 1400 * time.Millisecond {
					bubble(t, 3, func(t *testing.T, w *world) {
						for i, m := range w.Masters() { // they disagree on the fencing token, which is written back
							m.Set(kind.FenceKey("x"), fmt.Sprint(int64(2e15)+int64(i)), 0)
							m.Set(kind.FenceKey("foreign"), fmt.Sprint(int64(2e15)+int64(i)), 0)
						}
						l := w.locker(t, "a", opts...)
						w.warm(t, l)
						held := lock(t, l, "held")
						synctest.Wait()
						w.foreign("foreign", 3*time.Second)
						var done sync.WaitGroup
						waits := strings.Contains(name, "held")
						var err error
						var over time.Time // when the call returned
						called := func() { err, over = call(l, held), time.Now() }
						if waits { // and asks one node first when the foreign keys end, a moment after the fault
							done.Go(called)
							time.Sleep(2950 * time.Millisecond)
						}
						for i, m := range w.Masters() {
							do(m, i)
						}
						if !waits {
							done.Go(called)
						}
						time.Sleep(at)
						began := time.Now()
						require.NoError(t, l.Close())
						assert.LessOrEqual(t, time.Since(began), bound, "closed at %v", at)
						done.Wait()
						assert.LessOrEqual(t, time.Since(began), bound, "closed at %v: the call", at)
						if !over.Before(began) && name != "Unlock" && name != "Extend" {
							assert.Equal(t, began, over, "closed at %v: it did not wait for the masters", at)
							assert.ErrorIs(t, err, redlock.ErrClosed, "closed at %v", at)
						}
						time.Sleep(5 * time.Second) // the foreign keys end
						for _, m := range w.Masters() {
							for _, key := range m.Keys() {
								kept := strings.HasPrefix(key, "redlock:") // fences stay, and an intent for a while
								assert.True(t, kept || fault != "slow" && fault != "well", "closed at %v: %q is left", at, key)
							}
						}
						w.Heal()
					})
				}
			})
		}
	}
}

func freezeOrDelay(m *simnet.Master, frozen bool) {
	if frozen {
		m.Freeze()
	} else {
		m.Delay(2400*time.Millisecond, 0)
	}
}
