package stacktest_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/simnet"
)

// hooked is a Trace that calls one function from every callback. Node has no context.
func hooked(f func(ctx context.Context, callback string, event any)) *redlock.Trace {
	return &redlock.Trace{
		AcquireStart: func(ctx context.Context, e redlock.AcquireStartEvent) { f(ctx, "AcquireStart", e) },
		Waiting:      func(ctx context.Context, e redlock.WaitingEvent) { f(ctx, "Waiting", e) },
		AcquireEnd:   func(ctx context.Context, e redlock.AcquireEndEvent) { f(ctx, "AcquireEnd", e) },
		Extended:     func(ctx context.Context, e redlock.ExtendedEvent) { f(ctx, "Extended", e) },
		HoldEnd:      func(ctx context.Context, e redlock.HoldEndEvent) { f(ctx, "HoldEnd", e) },
		Unlocked:     func(ctx context.Context, e redlock.UnlockedEvent) { f(ctx, "Unlocked", e) },
		Vote:         func(ctx context.Context, e redlock.VoteEvent) { f(ctx, "Vote", e) },
		Node:         func(e redlock.NodeEvent) { f(context.Background(), "Node", e) },
	}
}

// goroutine is the name of the caller's goroutine.
func goroutine() string {
	var buf [64]byte
	name, _, _ := strings.Cut(string(buf[:runtime.Stack(buf[:], false)]), "[")
	return name
}

// A panic in Close skips no other lock.
func TestACallbackThatPanicsInCloseKeepsNoLock(t *testing.T) {
	t.Parallel()
	bubble(t, 3, func(t *testing.T, w *world) {
		var panicked atomic.Bool
		a := w.locker(t, "a", redlock.WithTrace(hooked(func(_ context.Context, which string, _ any) {
			if which == "HoldEnd" && !panicked.Swap(true) {
				panic("the callback's")
			}
		})))
		var held []*redlock.Lock
		for _, name := range []string{"x", "y", "z"} {
			held = append(held, lock(t, a, name))
		}
		assert.PanicsWithValue(t, "the callback's", func() { _ = a.Close() })
		for _, lk := range held {
			require.ErrorIs(t, context.Cause(lk.Context()), redlock.ErrClosed)
			unlock(t, lock(t, w.locker(t, "b"), lk.Name()))
		}
	})
}

// Any callback that panics in the caller's goroutine, in any call, leaves nothing locked in the
// process or on the masters, if the caller recovers.
func TestACallbackThatPanicsDisablesNoName(t *testing.T) {
	t.Parallel()
	const taking = "AcquireStart Vote AcquireEnd Waiting HoldEnd Unlocked"
	can := map[string]string{"Unlock": "HoldEnd Unlocked", "Extend": "Vote Extended"} // in the caller's goroutine
	for name := range ways {
		can[name] = taking
		if strings.Contains(name, "Try") {
			can[name] = strings.Replace(taking, "Waiting", "", 1)
		}
	}
	for name, callbacks := range can {
		for callback := range strings.FieldsSeq(callbacks) {
			subWorld(t, name+", "+callback, 5, func(t *testing.T, w *world) {
				var panics atomic.Pointer[string]
				a := w.locker(t, "a", redlock.WithTrace(hooked(func(_ context.Context, which string, _ any) {
					if who := panics.Load(); which == callback && who != nil && *who == goroutine() {
						panic("the callback's")
					}
				})))
				b := w.locker(t, "b")
				w.warm(t, a)
				held, hindering := (*redlock.Lock)(nil), (*redlock.Lock)(nil)
				switch {
				case name == "Unlock" || name == "Extend":
					held = lock(t, a, "x")
				case callback == "Waiting":
					hindering = lock(t, b, "x")
				}
				down := 2 // they refuse at once, in the caller's goroutine
				if callback == "Extended" {
					down = 5
				}
				each(w.some(0, down), (*simnet.Master).Stop)
				for range 2 { // that the connections have ended, and that there are no new ones
					_, err := a.Inspect(t.Context(), "x")
					require.Equal(t, down > 2, err != nil)
					synctest.Wait()
				}
				panicked := func() (panicked bool) {
					me := goroutine()
					panics.Store(&me)
					defer func() {
						panics.Store(nil)
						if r := recover(); r != nil {
							assert.Equal(t, "the callback's", fmt.Sprint(r))
							panicked = true
						}
					}()
					switch ctx := within(t, time.Minute); name {
					case "Unlock":
						_ = held.Unlock(ctx)
					case "Extend":
						_ = held.Extend(ctx)
					default:
						_ = ways[name](ctx, a, "x", func(*redlock.Lock) {})
					}
					return false
				}()
				assert.True(t, panicked)
				each(w.some(0, down), (*simnet.Master).Restart)
				if name == "Extend" {
					time.Sleep(2 * ttl)
					require.NoError(t, held.Err(), "it is kept alive")
					unlock(t, held)
				}
				if hindering != nil {
					unlock(t, hindering)
				}
				for _, l := range []*redlock.Locker{a, b, a} {
					lk, err := l.Lock(within(t, time.Second), "x")
					require.NoError(t, err, "it is free")
					unlock(t, lk)
					lk, err = l.Reentrant("x", "you").Lock(within(t, time.Second))
					require.NoError(t, err, "it is free")
					unlock(t, lk)
				}
				time.Sleep(time.Second)
				assert.Empty(t, w.leftovers("x"))
			})
		}
	}
}

// Close also releases a lock whose caller does not get it because a callback panicked.
func TestCloseReleasesALockWhoseCallbackPanicked(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		var l *redlock.Locker
		closed := make(chan error, 1)
		l = w.locker(t, "a", redlock.WithTrace(&redlock.Trace{
			HoldEnd: func(_ context.Context, e redlock.HoldEndEvent) {
				if e.Outcome == redlock.OutcomeHandedOver {
					go func() { closed <- l.Close() }()
					<-l.Closed()
					panic("the callback's")
				}
			},
			AcquireEnd: func(_ context.Context, e redlock.AcquireEndEvent) {
				if e.Outcome == redlock.OutcomeFailed {
					assert.NoError(t, <-closed)
				}
			},
		}))
		first := lock(t, l, "x")
		out := inBackground(func() (lk *redlock.Lock, err error) {
			defer func() { err = fmt.Errorf("panicked: %v", recover()) }()
			return l.Lock(t.Context(), "x")
		})
		unlock(t, first)
		require.EqualError(t, ended(t, out, time.Minute).err, "panicked: the callback's")
		time.Sleep(time.Second)
		assert.Zero(t, w.keys())
	})
}

// Callbacks run without a mutex: one may use the queues of the Locker. It does not ask the masters, since the goroutine
// that calls it may be the one that would bring their answers.
func TestACallbackMayUseTheLocker(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		var held atomic.Pointer[redlock.Locker] // holds "held"
		var used sync.Map
		var nested atomic.Bool
		a := w.locker(t, "a", redlock.WithTrace(hooked(func(_ context.Context, callback string, _ any) {
			used.Store(callback, true)
			if l := held.Load(); l != nil {
				assert.Positive(t, l.Stats().Held)
				if !nested.CompareAndSwap(false, true) {
					return // the TryLock below has events, too
				}
				defer nested.Store(false)
				_, err := l.TryLock(context.Background(), "held") // the queue answers
				assert.ErrorIs(t, err, redlock.ErrHeld)
			}
		})))
		keep := lock(t, a, "held")
		each(w.some(0, 2), (*simnet.Master).Crash) // they refuse at once, in whatever goroutine asks
		for i := range 30 {
			synctest.Wait()
			held.Store(a)
			lk, err := a.Lock(within(t, time.Minute), "x")
			require.NoError(t, err)
			next := locking(within(t, time.Minute), a, "x", redlock.WithoutHandOver())
			quits := locking(within(t, time.Duration(i)*time.Millisecond), a, "x")
			if i%3 == 0 {
				_ = lk.Extend(t.Context())
			}
			time.Sleep(time.Duration(i) * time.Millisecond)
			unlock(t, lk)
			if got := ended(t, next, time.Second); assert.NoError(t, got.err) {
				unlock(t, got.lock)
			}
			if got := ended(t, quits, time.Second); got.err == nil {
				unlock(t, got.lock)
			}
			synctest.Wait()
		}
		hindering := lock(t, w.locker(t, "b"), "y")
		waits := locking(within(t, time.Minute), a, "y")
		time.Sleep(100 * time.Millisecond)
		unlock(t, hindering)
		unlock(t, ended(t, waits, 2*time.Second).lock)
		synctest.Wait()
		held.Store(nil)
		unlock(t, keep)
		for _, callback := range strings.Fields("AcquireStart Waiting AcquireEnd Extended HoldEnd Unlocked Vote Node") {
			_, was := used.Load(callback)
			assert.True(t, was, callback)
		}
	})
}

// A majority agrees on one token only after the write-back, so each master's own token is told.
func TestVotesHaveTheTokensOfTheMasters(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		for i, without := range []int{2, 1} { // the counters now differ
			host := fmt.Sprint("a", i)
			w.Host(host).To(without).BlackHole()
			unlock(t, lock(t, w.locker(t, host), "x", redlock.WithFencing()))
		}
		w.Host("b").To(0).BlackHole()
		tokens := map[redlock.Op][]uint64{} // by operation
		var mu sync.Mutex
		b := w.locker(t, "b", redlock.WithTrace(&redlock.Trace{Vote: func(_ context.Context, e redlock.VoteEvent) {
			mu.Lock()
			defer mu.Unlock()
			if e.Verdict == "granted" {
				tokens[e.Op] = append(tokens[e.Op], e.Fence)
			}
		}}))
		lk := lock(t, b, "x", redlock.WithFencing())
		require.NoError(t, lk.Extend(t.Context()))
		mu.Lock()
		defer mu.Unlock()
		assert.ElementsMatch(t, []uint64{lk.Fence() - 1, lk.Fence()}, tokens["acquire"])
		assert.Equal(t, []uint64{lk.Fence()}, tokens["raise"])
		assert.Equal(t, []uint64{0, 0}, tokens["extend"])
	})
}
