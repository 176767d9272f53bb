package election_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/election"
)

var (
	errOwn = errors.New("the function's own")
	// results are what a function may return when its context has ended.
	results = []error{nil, errOwn, context.Canceled, fmt.Errorf("own: %w", context.Canceled)}
)

func TestRunReturnsWhatTheFunctionReturns(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w world) {
		e := w.candidate(t, "a")
		for _, want := range []error{nil, errOwn, redlock.ErrLost} { // the last one is that of another lock
			err := e.Run(t.Context(), func(ctx context.Context) error {
				assert.NoError(t, e.IsLeader(ctx))
				lock, ok := redlock.FromContext(ctx)
				assert.True(t, ok)
				assert.NotZero(t, lock.Fence())
				return want
			})
			assert.Equal(t, want, err)
			require.ErrorIs(t, e.IsLeader(t.Context()), redlock.ErrReleased)
			_, err = e.Leader(t.Context())
			require.ErrorIs(t, err, election.ErrNoLeader, "it has resigned")
		}
	})
}

// lose takes the name from the leader, for a second.
func (w world) lose() {
	for _, m := range w.Masters() {
		m.Set(name, "another client's", time.Second)
	}
}

func TestRunCampaignsAgainAfterALoss(t *testing.T) {
	t.Parallel()
	for _, returned := range results {
		bubble(t, 3, func(t *testing.T, w world) {
			var terms []uint64
			e := w.candidate(t, "a", redlock.WithTTL(3*time.Second))
			err := e.Run(t.Context(), func(ctx context.Context) error {
				lock, _ := redlock.FromContext(ctx)
				if terms = append(terms, lock.Fence()); len(terms) == 3 {
					return nil
				}
				time.AfterFunc(990*time.Millisecond, w.lose) // just before an extension
				<-ctx.Done()
				assert.ErrorIs(t, context.Cause(ctx), redlock.ErrLost)
				assert.ErrorIs(t, e.IsLeader(ctx), redlock.ErrLost)
				return returned
			})
			require.NoError(t, err)
			require.Len(t, terms, 3)
			assert.Less(t, terms[0], terms[1])
			assert.Less(t, terms[1], terms[2])
		})
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w world) {
		a, b := w.candidate(t, "a"), w.candidate(t, "b")
		for _, returned := range results {
			ctx, cancel := context.WithCancel(t.Context())
			err := a.Run(ctx, func(ctx context.Context) error {
				cancel()
				<-ctx.Done()
				return returned
			})
			require.ErrorIs(t, err, context.Canceled)
			if returned != nil {
				require.ErrorIs(t, err, returned)
			}
		}
		l := campaign(t, a)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := b.Run(ctx, func(context.Context) error { panic("it does not lead") })
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, l.Resign(t.Context()))
	})
}

func TestRunResignsWhenTheFunctionPanics(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w world) {
		a := w.candidate(t, "a")
		var work context.Context
		assert.PanicsWithValue(t, "own", func() {
			_ = a.Run(t.Context(), func(ctx context.Context) error {
				work = ctx
				panic("own")
			})
		})
		require.Equal(t, context.Canceled, context.Cause(work), "it ended before the release")
		require.NoError(t, campaign(t, w.candidate(t, "b")).Resign(t.Context()))
	})
}

func TestRunFailsOnWhatWaitingCannotMend(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w world) {
		l := w.locker(t, "a")
		e := election.New(l, name)
		require.ErrorContains(t, e.Run(t.Context(), nil), "fn is nil")
		err := e.Run(t.Context(), func(ctx context.Context) error {
			go l.Close()
			<-ctx.Done()
			return nil
		})
		require.ErrorIs(t, err, redlock.ErrClosed)
	})
}

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

func TestRunReturnsAfterAFunctionThatUnlocks(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w world) {
		calls := 0
		require.ErrorIs(t, w.candidate(t, "a").Run(t.Context(), func(ctx context.Context) error {
			calls++
			lock, _ := redlock.FromContext(ctx)
			require.NoError(t, lock.Unlock(ctx))
			return errOwn
		}), errOwn)
		assert.Equal(t, 1, calls, "the leadership was not lost")
	})
}

func TestRunCampaignsAgainAfterALossThatOnlyTheReleaseFinds(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w world) {
		calls := 0
		require.NoError(t, w.candidate(t, "a").Run(t.Context(), func(context.Context) error {
			if calls++; calls == 1 {
				w.lose()
			}
			return nil
		}))
		assert.Equal(t, 2, calls)
	})
}
