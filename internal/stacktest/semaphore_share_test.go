package stacktest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock"
)

// share counts the permits of one process.
type share struct {
	mu      sync.Mutex
	permits int
	longest time.Duration // the longest wait
}

func (s *share) count() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.permits++
}

// waited records a wait, also that of a call that failed.
func (s *share) waited(wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.longest = max(s.longest, wait)
}

// A process that is further from the masters than another gets permits, too, while both want all of them.
func TestAFarProcessGetsPermits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		far   time.Duration // its round trip; that of the near one is 0.1 ms
		slots int
		least int // of the far process's permits, in hundredths of the near one's
	}{{2 * time.Millisecond, 1, 25}, {2 * time.Millisecond, 3, 25}, {10 * time.Millisecond, 2, 5}} {
		t.Run(fmt.Sprint(tt.far, ", ", tt.slots), func(t *testing.T) {
			t.Parallel()
			inWorld(t, 3, func(t *testing.T, w *world) {
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				var near, far share
				var all sync.WaitGroup
				wantPermits(ctx, t, &all, w, "near", 100*time.Microsecond, 3*tt.slots, tt.slots, &near)
				wantPermits(ctx, t, &all, w, "far", tt.far, 3*tt.slots, tt.slots, &far)
				all.Wait()
				assert.GreaterOrEqual(t, 100*far.permits, tt.least*near.permits, "near %d, far %d", near.permits, far.permits)
				assert.Less(t, far.longest, 2*time.Second)
			})
		})
	}
}

// Processes that never wait for long do not keep another one out.
func TestAProcessMoreThanSlotsGetsPermits(t *testing.T) {
	t.Parallel()
	for _, slots := range []int{2, 4} {
		inWorld(t, 3, func(t *testing.T, w *world) {
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
				assert.GreaterOrEqual(t, shares[i].permits, least, "%d of %d permits, %d slots", shares[i].permits, sum, slots)
				assert.Less(t, shares[i].longest, 2*time.Second)
			}
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
	for m := range w.Masters() {
		w.Host(host).To(m).Delay(trip/2, 0)
	}
	for range callers {
		all.Go(func() {
			for ctx.Err() == nil {
				began := time.Now()
				permit, err := l.Semaphore("x", slots).Acquire(ctx)
				s.waited(time.Since(began))
				if err != nil {
					return // ctx has ended
				}
				s.count()
				time.Sleep(5 * time.Millisecond)
				assert.NoError(t, permit.Unlock(context.WithoutCancel(ctx)))
			}
		})
	}
}
