package stacktest_test

import (
	"context"
	"fmt"
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

// share counts the permits of one process.
type share struct {
	mu      sync.Mutex
	permits int
	longest time.Duration // the longest wait
}

// waited records a wait, also that of a call that failed.
func (s *share) waited(wait time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.longest = max(s.longest, wait)
	if err == nil {
		s.permits++
	}
}

// A process that is further from the masters than another gets permits, too, while both want all of them.
func TestAFarProcessGetsPermits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		far   time.Duration // its round trip; that of the near one is 0.1 ms
		slots int
		least int // of the far process's permits, in hundredths of the near one's
	}{{2 * time.Millisecond, 1, 25}, {2 * time.Millisecond, 3, 25}, {10 * time.Millisecond, 2, 5}} {
		subWorld(t, fmt.Sprint(tt.far, ", ", tt.slots), 3, func(t *testing.T, w *world) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			var near, far share
			var all sync.WaitGroup
			wantPermits(ctx, t, &all, w, "near", 100*time.Microsecond, 3*tt.slots, tt.slots, &near)
			wantPermits(ctx, t, &all, w, "far", tt.far, 3*tt.slots, tt.slots, &far)
			all.Wait()
			assert.GreaterOrEqual(t, 100*far.permits, tt.least*near.permits, "%d, %d", near.permits, far.permits)
			assert.Less(t, far.longest, 2*time.Second)
		})
	}
}

// wantPermits has callers acquire permits and hold them for 5 ms, again and again until ctx ends.
func wantPermits(
	ctx context.Context, t *testing.T, all *sync.WaitGroup, w *world, host string, trip time.Duration,
	callers, slots int, s *share,
) {
	t.Helper()
	l := w.locker(t, host, redlock.WithoutHandOver())
	w.distance(host, trip/2)
	for range callers {
		all.Go(func() {
			for ctx.Err() == nil {
				began := time.Now()
				permit, err := l.Semaphore("x", slots).Acquire(ctx)
				s.waited(time.Since(began), err)
				if err != nil {
					return // ctx has ended
				}
				time.Sleep(5 * time.Millisecond)
				assert.NoError(t, permit.Unlock(context.WithoutCancel(ctx)))
			}
		})
	}
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

// Processes that never wait for long do not keep another one out.
func TestAProcessMoreThanSlotsGetsPermits(t *testing.T) {
	t.Parallel()
	for _, slots := range []int{2, 4} {
		bubble(t, 3, func(t *testing.T, w *world) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			shares := make([]share, slots+1)
			var all sync.WaitGroup
			for i := range shares {
				wantPermits(ctx, t, &all, w, fmt.Sprint("host-", i), time.Millisecond, 1, slots, &shares[i])
			}
			all.Wait()
			sum := 0
			for i := range shares {
				sum += shares[i].permits
			}
			for i := range shares {
				least := sum / (slots + 1) / 4
				assert.GreaterOrEqual(t, shares[i].permits, least, "of %d permits, %d slots", sum, slots)
				assert.Less(t, shares[i].longest, 2*time.Second)
			}
		})
	}
}
