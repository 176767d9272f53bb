package suite

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/bench/internal/load"
	"github.com/redlock-go/redlock/bench/internal/peers"
)

func silent() *progress { return &progress{w: io.Discard} }

func TestRoundsInterleaveContestantsInAnotherOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d turnLog
		var contestants []*peers.Contestant
		for _, name := range []string{"a", "b", "c"} {
			contestants = append(contestants, &peers.Contestant{Name: name, Pairer: turnLogger{&fakePairer{lock: ms}, name, &d}})
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

type turnLog struct {
	mu    sync.Mutex
	turns []string
}

// turnLogger logs the contestant of every pair.
type turnLogger struct {
	load.Pairer
	name string
	*turnLog
}

func (n turnLogger) Pair(ctx context.Context, name string) (load.Timestamps, error) {
	n.mu.Lock()
	n.turns = append(n.turns, n.name)
	n.mu.Unlock()
	return n.Pairer.Pair(ctx, name)
}

func TestASliceThatFailsNamesContestantAndCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &peers.Contestant{
			Name: "broken", Pairer: &fakePairer{lock: ms, fail: func(int) error { return errors.New("refused") }},
		}
		plan := latencyPlan{rounds: 1, callers: []int{3}, slice: 10 * ms}
		require.NoError(t, warmUp(t.Context(), plan, []*peers.Contestant{c}, silent()), "a first connection may fail")
		_, err := measureLatency(t.Context(), plan, []*peers.Contestant{c}, silent())
		assert.ErrorContains(t, err, "broken, 3 callers: no pair was completed")
		assert.ErrorContains(t, err, "refused")
	})
}

// aging simulates masters that may vote from a certain time on.
type aging struct{ until time.Time }

func (a aging) Nodes(context.Context) ([]redlock.NodeStatus, error) {
	left := time.Until(a.until)
	voting := redlock.NodeStatus{NodeState: redlock.NodeState{MayVote: true}}
	if left <= 0 {
		return []redlock.NodeStatus{voting, voting}, nil
	}
	young := redlock.NodeStatus{NodeState: redlock.NodeState{VoteIn: left, Err: errors.New("it has just started")}}
	return []redlock.NodeStatus{voting, young}, redlock.ErrNoQuorum
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
