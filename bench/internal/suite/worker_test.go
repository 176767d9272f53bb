package suite

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/bench/internal/load"
)

// turnstile is a lock within one process: a channel with capacity 1. If broken, it lets every caller in.
type turnstile struct {
	place  chan struct{}
	broken bool
	hold   time.Duration
}

func (s *turnstile) Acquire(ctx context.Context, _ string) (load.HeldLock, error) {
	if s.broken {
		return broken{}, nil
	}
	select {
	case s.place <- struct{}{}:
		return s, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (*turnstile) Extend(context.Context) error { return nil }

func (s *turnstile) Unlock(context.Context) error {
	time.Sleep(s.hold)
	<-s.place
	return nil
}

func (*turnstile) Close() error { return nil }

type broken struct{}

func (broken) Extend(context.Context) error { return nil }

func (broken) Unlock(context.Context) error { time.Sleep(ms); return nil }

// Slots are the control of what a process may see at once: as many holders as there are slots, and not one more.
func TestContendCountsHoldersBeyondTheSlots(t *testing.T) {
	t.Parallel()
	for slots, want := range map[int]bool{3: true, 4: false} {
		synctest.Test(t, func(t *testing.T) {
			s := &turnstile{place: make(chan struct{}, 4)}
			r := roundOf([]results{job{Goroutines: 8, Slots: slots, Hold: 10 * ms, Window: time.Second}.contend(t.Context(), s)})
			assert.Equal(t, want, r.Overlaps > 0, slots)
			assert.InDelta(t, 400, r.PerSecond, 10)
			assert.InDelta(t, 1, r.Least, 0.1)
		})
	}
}

func TestContendCountsTurnsAndWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &turnstile{place: make(chan struct{}, 1), hold: 10 * ms}
		r := roundOf([]results{job{Goroutines: 4, Ramp: 100 * ms, Window: time.Second}.contend(t.Context(), s)})
		assert.InDelta(t, 100, r.PerSecond, 3, "one every 10 ms")
		assert.InDelta(t, 30_000, r.Waits.P50, 1000, "after three others")
		assert.Greater(t, r.Goroutines, 0.9)
		assert.Zero(t, r.Failed)
	})
}

// TestAWaitThatTheEndCutsShortCounts checks that a goroutine that waits for the whole window shows in the results.
func TestAWaitThatTheEndCutsShortCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &turnstile{place: make(chan struct{}, 1)}
		s.place <- struct{}{} // another caller holds it and never releases it
		r := roundOf([]results{job{Goroutines: 2, Window: time.Second}.contend(t.Context(), s)})
		assert.Zero(t, r.Acquired)
		assert.InDelta(t, 1e6, r.Waits.Longest, 1000)
		assert.InDelta(t, 1e6, r.Waits.Half, 1e4)
	})
}

// TestTwoAtOnceAreSeen is the control for overlaps. Its lock lets every caller in.
func TestTwoAtOnceAreSeen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := job{Goroutines: 8, Window: 100 * ms}.contend(t.Context(), &turnstile{broken: true})
		assert.Positive(t, h.Overlaps)
	})
}
