package stacktest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/simnet"
)

func TestNodesSaysWhoMayVoteAndWhyNot(t *testing.T) {
	inWorld(t, 9, func(t *testing.T, w *world) {
		w.Master(1).Delay(5*time.Millisecond, 0)
		w.Master(2).Crash()
		w.Master(3).Info("role", "slave")
		w.Master(4).Info("uptime_in_seconds", "4")
		w.Master(5).Info("loading", "1")
		l := w.locker(t, "a")
		rows, err := l.Nodes(t.Context())
		require.NoError(t, err)
		require.Len(t, rows, 9)
		for i, row := range rows {
			assert.Equal(t, w.Addr(i), row.Node)
			assert.Equal(t, i != 2, row.Reachable)
			assert.Equal(t, i < 2 || i > 5, row.MayVote)
			assert.Equal(t, row.MayVote, row.Err == nil)
			if row.Err != nil {
				var one *redlock.NodeError
				require.ErrorAs(t, row.Err, &one)
				assert.Equal(t, w.Addr(i), one.Node)
			}
			if row.Reachable {
				assert.Equal(t, "7.0.15", row.Version)
				assert.Equal(t, w.Master(i).RunID(), row.RunID)
			}
		}
		assert.Equal(t, 10*time.Millisecond, rows[1].RoundTrip, "of a connection that is made")
		assert.Equal(t, "master", rows[0].Role)
		assert.Equal(t, 24*time.Hour, rows[0].Uptime)
		assert.ErrorContains(t, rows[2].Err, "refused")
		assert.ErrorContains(t, rows[3].Err, "slave")
		assert.ErrorContains(t, rows[4].Err, "restarted")
		assert.InDelta(t, float64(ttl+drift-3*time.Second), float64(rows[4].VoteIn), float64(time.Second))
		assert.ErrorContains(t, rows[5].Err, "loading its dataset")
		assert.Zero(t, rows[5].VoteIn, "unknown")
		assert.Zero(t, rows[0].VoteIn)

		w.Master(6).Crash()
		rows, err = l.Nodes(t.Context())
		require.ErrorIs(t, err, redlock.ErrNoQuorum)
		assert.ErrorContains(t, err, "4 of 9")
		require.Len(t, rows, 9)
		assert.False(t, rows[6].Reachable)
	})
}

func TestACanceledInspectReturnsTheContextsError(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		each(w.Masters(), (*simnet.Master).Freeze)
		_, err := l.Nodes(within(t, 10*time.Millisecond))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = l.Inspect(within(t, 10*time.Millisecond), "x")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, l.Release(within(t, 10*time.Millisecond), "x", "token"), context.DeadlineExceeded)
		w.Heal()
		time.Sleep(time.Second)
	})
}

// Nodes and Stats say the same of a master that refuses what a vote needs.
func TestNodesAndStatsAgreeOnAMasterThatRefuses(t *testing.T) {
	t.Parallel()
	for _, commands := range [][]string{{"EVALSHA", "EVAL"}, {"INFO"}} {
		subWorld(t, commands[0], 3, func(t *testing.T, w *world) {
			refusal := fmt.Sprintf("NOPERM this user has no permissions to run the '%s' command", commands[0])
			w.Master(0).Reply(refusal, commands...)
			l := w.locker(t, "a")
			unlock(t, lock(t, l, "x"))
			time.Sleep(time.Second)
			rows, err := l.Nodes(t.Context())
			require.NoError(t, err)
			stats := l.Stats().Nodes
			for i := range rows {
				assert.Equal(t, stats[i].State, rows[i].State, i)
				assert.Equal(t, stats[i].MayVote, rows[i].MayVote, i)
				assert.Equal(t, stats[i].Err == nil, rows[i].Err == nil, i)
			}
			assert.Equal(t, redlock.NodeBarred, rows[0].State)
		})
	}
}
