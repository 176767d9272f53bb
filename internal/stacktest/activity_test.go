package stacktest_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

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

// The event of a hand-over comes before the next holder has the lock.
func TestTheEndOfAHoldComesBeforeTheNextHold(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string][]redlock.LockOption{"handed over": nil, "released": {redlock.WithoutHandOver()}} {
		subWorld(t, name, 3, func(t *testing.T, w *world) {
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
	}
}
