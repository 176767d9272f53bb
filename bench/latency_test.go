package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func silent() *progress { return &progress{w: discard} }

func TestRoundsInterleaveContestantsInAnotherOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d diary
		var contestants []*contestant
		for _, name := range []string{"a", "b", "c"} {
			contestants = append(contestants, &contestant{Name: name, pairer: noting{&fake{lock: ms}, name, &d}})
		}
		plan := latencyPlan{rounds: 3, callers: []int{1, 2}, slice: 10 * ms}
		rows, err := measureLatency(t.Context(), plan, contestants, silent())
		require.NoError(t, err)

		assert.Equal(t, []string{
			"a", "b", "c", "a", "b", "c",
			"b", "c", "a", "b", "c", "a",
			"c", "a", "b", "c", "a", "b",
		}, slices.Compact(d.turns))
		require.Len(t, rows, 6)
		for _, r := range rows {
			assert.Len(t, r.Rounds, 3)
		}
	})
}

type diary struct {
	mu    sync.Mutex
	turns []string
}

// noting notes whose turn it is.
type noting struct {
	pairer
	name string
	*diary
}

func (n noting) Pair(ctx context.Context, name string) (marks, error) {
	n.mu.Lock()
	n.turns = append(n.turns, n.name)
	n.mu.Unlock()
	return n.pairer.Pair(ctx, name)
}

func TestASliceThatFailsNamesContestantAndCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &contestant{Name: "broken", pairer: &fake{lock: ms, fail: func(int) error { return errors.New("refused") }}}
		plan := latencyPlan{rounds: 1, callers: []int{3}, slice: 10 * ms}
		require.NoError(t, warmUp(t.Context(), plan, []*contestant{c}, silent()), "a first connection may fail")
		_, err := measureLatency(t.Context(), plan, []*contestant{c}, silent())
		assert.ErrorContains(t, err, "broken, 3 callers: no pair was completed")
		assert.ErrorContains(t, err, "refused")
	})
}

// aging is masters that may vote at a given age.
type aging struct{ until time.Time }

func (a aging) Nodes(context.Context) ([]redlock.NodeStatus, error) {
	left := time.Until(a.until)
	if left <= 0 {
		return []redlock.NodeStatus{{MayVote: true}, {MayVote: true}}, nil
	}
	return []redlock.NodeStatus{{MayVote: true}, {VoteIn: left, Err: errors.New("it has just started")}}, redlock.ErrNoQuorum
}

func TestAwaitVotesReturnsWhenEveryMasterMayVote(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		require.NoError(t, awaitVotes(t.Context(), aging{begun.Add(8 * time.Second)}, 8*time.Second, silent()))
		assert.InDelta(t, 8*time.Second, time.Since(begun), float64(time.Second))
	})
}

func TestAwaitVotesGivesUpWithTheMastersReason(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		err := awaitVotes(t.Context(), aging{time.Now().Add(time.Hour)}, 8*time.Second, silent())
		require.ErrorContains(t, err, "not every master may vote after 23s")
		assert.ErrorContains(t, err, "it has just started")
	})
}
