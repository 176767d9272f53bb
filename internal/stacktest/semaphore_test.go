package stacktest_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/simnet"
)

func TestASemaphoreHasNPermits(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3, 5} {
		bubble(t, n, func(t *testing.T, w *world) {
			lockers := []*redlock.Locker{w.locker(t, "a"), w.locker(t, "b")}
			ctx := t.Context()
			var permits []*redlock.Lock
			for i := range 3 {
				p, err := lockers[i%2].Semaphore("x", 3).TryAcquire(ctx)
				require.NoError(t, err, "permit %d", i)
				permits = append(permits, p)
			}
			for _, l := range lockers {
				_, err := l.Semaphore("x", 3).TryAcquire(ctx)
				assert.EqualValues(t, "semaphore", heldError(t, err).Kind)
				_, err = l.TryLock(ctx, "x")
				require.ErrorIs(t, err, redlock.ErrHeld, "one name is one lock")
				_, err = l.RW("x").TryRLock(ctx)
				require.ErrorIs(t, err, redlock.ErrHeld)
			}
			h := inspect(t, lockers[0], "x")
			assert.EqualValues(t, "semaphore", h.Kind)
			assert.Equal(t, 3, h.Slots)
			slots := []int{}
			for _, holder := range h.Holders {
				slots = append(slots, holder.Slot)
			}
			assert.ElementsMatch(t, []int{1, 2, 3}, slots)
			for _, p := range permits {
				unlock(t, p)
			}
			time.Sleep(10 * time.Millisecond) // Unlock returns at the majority
			assert.Zero(t, w.keys(), "no key stays")
			unlock(t, lock(t, lockers[1], "x"))
		})
	}
}

func TestAWaiterGetsTheReleasedPermitByMessage(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		acquires := 0
		a, b := w.locker(t, "a"), w.locker(t, "b", redlock.WithTrace(countAcquires(&acquires)))
		var permits []*redlock.Lock
		for range 4 {
			p, err := a.Semaphore("x", 4).Acquire(t.Context())
			require.NoError(t, err)
			permits = append(permits, p)
		}
		out := inBackground(func() (*redlock.Lock, error) {
			return b.Semaphore("x", 4).Acquire(t.Context(), redlock.WithRetry(time.Minute, time.Hour))
		})
		waiting(t, out)
		time.Sleep(3 * time.Second)
		waiting(t, out)
		acquires = 0
		unlock(t, permits[2])
		got := granted(t, out, 20*time.Millisecond)
		synctest.Wait()
		assert.LessOrEqual(t, acquires, 5, "the message has the slot: one round")
		unlock(t, got)
	})
}

// countAcquires counts the votes on acquisitions. The caller reads the number when no goroutine asks.
func countAcquires(n *int) *redlock.Trace {
	var mu sync.Mutex
	return &redlock.Trace{Vote: func(_ context.Context, e redlock.VoteEvent) {
		mu.Lock()
		defer mu.Unlock()
		if e.Op == "acquire" {
			*n++
		}
	}}
}

// The first majority of the answers need not show that a majority has another number.
func TestAnotherNumberOfSlotsIsNamedByTheSlowMasters(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		a := w.locker(t, "a")
		w.warm(t, a)
		for i, m := range w.Masters() {
			permit := "redlock:semaphore:3:1:b:0123456789abcdef0123456789abcdef"
			if i > 2 {
				permit = "redlock:semaphore:1:1:gone:0123456789abcdef0123456789abcdef"
			}
			_, err := m.Redis().ZAdd("x", float64(time.Now().Add(time.Minute).UnixMilli()), permit)
			require.NoError(t, err)
		}
		each(w.some(1, 3), func(m *simnet.Master) { m.Delay(20*time.Millisecond, 0) })
		_, err := a.Semaphore("x", 1).TryAcquire(t.Context())
		var slots *redlock.SlotsError
		require.ErrorAs(t, err, &slots)
		assert.Equal(t, redlock.SlotsError{Name: "x", Want: 1, Have: 3}, *slots)
		require.NotErrorIs(t, err, redlock.ErrHeld)
	})
}
