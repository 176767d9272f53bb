package stacktest_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
)

type callKey struct{}

// assertAddsUp checks what the comment of LockStats says.
func assertAddsUp(t *testing.T, what string, s redlock.LockStats) {
	t.Helper()
	assert.Equal(t, s.Started, s.Waiting+s.Acquired+s.Refused+s.TimedOut+s.Canceled+s.Failed+s.ClosedWaiting, what)
	assert.Equal(t, s.Acquired, s.Waits.Count, what)
	assert.Equal(t, s.Acquired, s.Held+s.Released+s.HandedOver+s.Lost+s.ClosedHeld, what)
	assert.Equal(t, s.Acquired-s.Held, s.Holds.Count, what)
	for _, h := range []redlock.Histogram{s.Waits, s.Holds} {
		var n int64
		for _, c := range h.Counts {
			n += c
		}
		assert.Equal(t, h.Count, n, what)
		assert.Len(t, h.Counts, len(h.Bounds)+1)
	}
}

func assertSnapshotAddsUp(t *testing.T, s redlock.Stats) {
	t.Helper()
	assertAddsUp(t, "total", s.LockStats)
	var sum redlock.LockStats
	for _, k := range s.Kinds {
		assertAddsUp(t, string(k.Kind), k.LockStats)
		sum.Started, sum.Held, sum.Acquired = sum.Started+k.Started, sum.Held+k.Held, sum.Acquired+k.Acquired
	}
	assert.Equal(t, []int64{s.Started, s.Held, s.Acquired}, []int64{sum.Started, sum.Held, sum.Acquired})
}

// Calls with invalid arguments are no acquisitions.
func TestInvalidArgumentsAreNotCounted(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		_, err := l.Lock(t.Context(), "")
		require.Error(t, err)
		_, err = l.Lock(t.Context(), "x", redlock.WithTTL(-1))
		require.Error(t, err)
		assert.Zero(t, l.Stats().Started)
	})
}

// The event of a hand-over comes before the next holder has the lock.
func TestTheEndOfAHoldComesBeforeTheNextHold(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string][]redlock.LockOption{"handed over": nil, "released": {redlock.WithoutHandOver()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, 3, func(t *testing.T, w *world) {
				held, most := 0, 0
				l := w.locker(t, "a", redlock.WithTrace(&redlock.Trace{
					AcquireEnd: func(context.Context, redlock.AcquireEndEvent) { held++; most = max(most, held) },
					HoldEnd:    func(context.Context, redlock.HoldEndEvent) { held-- },
				}))
				var all sync.WaitGroup
				for range 5 {
					all.Go(func() {
						for range 20 {
							lk, err := l.Lock(t.Context(), "x", opt...)
							if assert.NoError(t, err) {
								time.Sleep(time.Millisecond)
								assert.NoError(t, lk.Unlock(t.Context()))
							}
						}
					})
				}
				all.Wait()
				assert.Equal(t, 1, most)
				assert.Zero(t, held)
			})
		})
	}
}

// A lock that ends by itself has its events with the values of the caller's context, which has ended.
func TestEventsAfterTheCallKeepTheValuesOfItsContext(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		var got error
		var held time.Duration
		l := w.locker(t, "a", redlock.WithTrace(&redlock.Trace{HoldEnd: func(ctx context.Context, e redlock.HoldEndEvent) {
			assert.NoError(t, ctx.Err())
			assert.Equal(t, 7, ctx.Value(callKey{}))
			got, held = e.Err, e.Held
		}}))
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), callKey{}, 7))
		lk, err := l.Lock(ctx, "x", redlock.WithoutKeepalive())
		require.NoError(t, err)
		cancel()
		time.Sleep(ttl)
		synctest.Wait()
		assert.ErrorIs(t, got, redlock.ErrLost)
		assert.Equal(t, lk.Err(), got)
		assert.InDelta(t, float64(ttl-drift), float64(held), float64(2*time.Millisecond))
		assert.ErrorIs(t, lk.Unlock(t.Context()), redlock.ErrLost)
		assert.EqualValues(t, 1, l.Stats().Lost)
		assert.Zero(t, l.Stats().Released)
	})
}

// kindOf returns the kind of the locks that a way acquires.
func kindOf(way string) string {
	for _, k := range []struct{ prefix, kind string }{
		{"RW.R", "reader"},
		{"RW.TryR", "reader"},
		{"RW.", "writer"},
		{"Reentrant.", "reentrant"},
		{"Semaphore.", "semaphore"},
	} {
		if strings.HasPrefix(way, k.prefix) {
			return k.kind
		}
	}
	return "mutex"
}

// Every event of an acquisition and of its hold has an id, the kind, and all names, in whatever way the lock is
// acquired.
func TestEveryEventNamesItsLock(t *testing.T) {
	t.Parallel()
	for name, acquire := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, 3, func(t *testing.T, w *world) {
				var mu sync.Mutex
				got := make(map[string]map[string]bool) // kind and name, by hook
				note := func(hook string, e any) {
					mu.Lock()
					defer mu.Unlock()
					v := reflect.ValueOf(e)
					assert.NotZero(t, v.FieldByName("ID").Uint(), hook)
					if got[hook] == nil {
						got[hook] = make(map[string]bool)
					}
					got[hook][fmt.Sprint(v.FieldByName("Kind"), " ", v.FieldByName("Name"))] = true
				}
				l := w.locker(t, "a", redlock.WithTrace(&redlock.Trace{
					AcquireStart: func(_ context.Context, e redlock.AcquireStartEvent) { note("AcquireStart", e) },
					Waiting:      func(_ context.Context, e redlock.WaitingEvent) { note("Waiting", e) },
					AcquireEnd:   func(_ context.Context, e redlock.AcquireEndEvent) { note("AcquireEnd", e) },
					Extended:     func(_ context.Context, e redlock.ExtendedEvent) { note("Extended", e) },
					HoldEnd:      func(_ context.Context, e redlock.HoldEndEvent) { note("HoldEnd", e) },
					Unlocked:     func(_ context.Context, e redlock.UnlockedEvent) { note("Unlocked", e) },
					Vote:         func(_ context.Context, e redlock.VoteEvent) { note("Vote", e) },
				}))
				w.foreign("x", time.Second)
				hooks := []string{"AcquireStart", "AcquireEnd", "Extended", "HoldEnd", "Unlocked", "Vote"}
				extend := func(lk *redlock.Lock) { assert.NoError(t, lk.Extend(t.Context())) }
				if strings.Contains(name, "Try") {
					require.ErrorIs(t, acquire(t.Context(), l, "x", extend), redlock.ErrHeld)
					time.Sleep(2 * time.Second)
				} else {
					hooks = append(hooks, "Waiting")
				}
				require.NoError(t, acquire(t.Context(), l, "x", extend))
				time.Sleep(time.Second) // for the last votes
				names := "x"
				if strings.HasSuffix(name, "All") {
					names = strings.Join(pair("x"), ",")
				}
				want := make(map[string]map[string]bool)
				for _, hook := range hooks {
					want[hook] = map[string]bool{kindOf(name) + " " + names: true}
				}
				mu.Lock()
				defer mu.Unlock()
				assert.Equal(t, want, got)
			})
		})
	}
}
