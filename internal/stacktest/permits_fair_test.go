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

// waited records a wait, also that of a call that failed.
func (s *share) waited(wait time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.longest = max(s.longest, wait)
	if err == nil {
		s.permits++
	}
}

// wantPermits has callers of a process acquire permits and hold them for 5 ms, again and again until ctx ends.
func (w *world) wantPermits(
	ctx context.Context, t *testing.T, all *sync.WaitGroup, host string, trip time.Duration, callers, slots int,
) *share {
	t.Helper()
	l, s := w.locker(t, host, redlock.WithoutHandOver()), new(share)
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
	return s
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
			ctx := within(t, 3*time.Second)
			var all sync.WaitGroup
			near := w.wantPermits(ctx, t, &all, "near", 100*time.Microsecond, 3*tt.slots, tt.slots)
			far := w.wantPermits(ctx, t, &all, "far", tt.far, 3*tt.slots, tt.slots)
			all.Wait()
			assert.GreaterOrEqual(t, 100*far.permits, tt.least*near.permits, "%d, %d", near.permits, far.permits)
			assert.Less(t, far.longest, 2*time.Second)
		})
	}
}

// Processes that never wait for long do not keep another one out.
func TestAProcessMoreThanSlotsGetsPermits(t *testing.T) {
	t.Parallel()
	for _, slots := range []int{2, 4} {
		bubble(t, 3, func(t *testing.T, w *world) {
			ctx := within(t, 3*time.Second)
			var shares []*share
			var all sync.WaitGroup
			for i := range slots + 1 {
				shares = append(shares, w.wantPermits(ctx, t, &all, fmt.Sprint("host-", i), time.Millisecond, 1, slots))
			}
			all.Wait()
			sum := 0
			for _, s := range shares {
				sum += s.permits
			}
			for _, s := range shares {
				assert.GreaterOrEqual(t, s.permits, sum/(slots+1)/4, "of %d permits, %d slots", sum, slots)
				assert.Less(t, s.longest, 2*time.Second)
			}
		})
	}
}
