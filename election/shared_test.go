package election_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/election"
)

// waits are the ways to wait for what happens in an election.
var waits = map[string]func(ctx context.Context, e *election.Election){
	"Campaign": func(ctx context.Context, e *election.Election) { _, _ = e.Campaign(ctx) },
	"Run": func(ctx context.Context, e *election.Election) {
		_ = e.Run(ctx, func(ctx context.Context) error { return ctx.Err() })
	},
	"Observe": func(ctx context.Context, e *election.Election) {
		for range e.Observe(ctx) {
		}
	},
}

// The number of requests does not depend on how many wait: with Elections of their own, or with one.
func TestManyThatWaitAskNoMoreThanOne(t *testing.T) {
	t.Parallel()
	const counted = 20 * time.Second
	for what, wait := range waits {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			rates := make(map[int]int)
			for _, n := range []int{1, 100, 1000} {
				bubble(t, 3, func(t *testing.T, w world) {
					leader := campaign(t, w.candidate(t, "a"))
					ctx, cancel := context.WithCancel(t.Context())
					locker := w.locker(t, "b")
					one := election.New(locker, name)
					var wg sync.WaitGroup
					for i := range n {
						e := one
						if i%2 == 0 {
							e = election.New(locker, name)
						}
						wg.Go(func() { wait(ctx, e) })
					}
					asked := func() (n int) {
						for _, m := range w.Masters() {
							for cmd, times := range m.Counts() {
								if cmd != "PING" {
									n += times
								}
							}
						}
						return n
					}
					time.Sleep(5 * time.Second)
					before := asked()
					time.Sleep(counted)
					rates[n] = (asked() - before) / int(counted/time.Second)
					cancel()
					wg.Wait()
					assert.Zero(t, election.SharedReadings(locker))
					require.NoError(t, leader.Resign(t.Context()))
				})
			}
			t.Logf("commands a second of 3 masters by the number that waits: %v", rates)
			for n, rate := range rates {
				assert.LessOrEqual(t, rate, 60, "%d wait", n)
			}
		})
	}
}

// An observer that ends while it asks for all leaves the turn to the next one.
func TestAnObserverThatEndsDoesNotEndTheOthers(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w world) {
		locker := w.locker(t, "b")
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for range election.New(locker, name).Observe(ctx) {
			}
		}()
		time.Sleep(delay / 2)
		seen := make(chan election.Leader)
		second, stop := context.WithCancel(t.Context())
		defer stop()
		go func() {
			defer close(seen)
			for l := range election.New(locker, name).Observe(second) {
				seen <- l
			}
		}()
		time.Sleep(delay / 2)
		cancel()
		l := campaign(t, w.candidate(t, "a"))
		select {
		case got := <-seen:
			assert.Equal(t, l.Term(), got.Term)
		case <-time.After(2 * pace):
			require.Fail(t, "nobody asks")
		}
		stop()
		<-seen
		require.NoError(t, l.Resign(t.Context()))
	})
}

// Those that still observe share one reading with those that come, although others have gone.
func TestObserversThatGoLeaveTheReadingToTheOthers(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w world) {
		locker := w.locker(t, "a")
		observe := func() (stop func()) {
			ctx, cancel := context.WithCancel(t.Context())
			over := make(chan struct{})
			go func() {
				defer close(over)
				waits["Observe"](ctx, election.New(locker, name))
			}()
			time.Sleep(pace)
			assert.Equal(t, 1, election.SharedReadings(locker))
			return func() {
				cancel()
				<-over
			}
		}
		first, second := observe(), observe()
		second()
		assert.Equal(t, 1, election.SharedReadings(locker))
		third := observe()
		first()
		assert.Equal(t, 1, election.SharedReadings(locker))
		third()
		assert.Zero(t, election.SharedReadings(locker))
	})
}
