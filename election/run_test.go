package election_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/election"
)

var errOwn = errors.New("the function's own")

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
	atTheLoss := []error{nil, errOwn, context.Canceled, fmt.Errorf("own: %w", context.Canceled)}
	for _, returned := range atTheLoss {
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

func TestRunEndsWithItsContext(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w world) {
		a, b := w.candidate(t, "a"), w.candidate(t, "b")
		for _, returned := range []error{nil, errOwn, context.Canceled, fmt.Errorf("own: %w", context.Canceled)} {
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
