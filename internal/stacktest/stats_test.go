package stacktest_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/seam"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/internal/wire"
)

// What Stats reports of a master follows the master's life.
func TestStatsReportsTheStateOfEachMaster(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		states := func() (states []redlock.State) {
			for _, n := range l.Stats().Nodes {
				states = append(states, n.State)
				assert.Equal(t, n.State == redlock.NodeVoting || n.State == redlock.NodeUnknown, n.Err == nil, n.State)
				assert.Equal(t, n.State == redlock.NodeRestarting, n.VoteIn > 0, n.State)
			}
			return states
		}
		use := func() {
			require.NoError(t, l.Do(t.Context(), "x", func(context.Context) error { return nil }))
		}
		const voting, unknown = redlock.NodeVoting, redlock.NodeUnknown
		assert.Equal(t, []redlock.State{unknown, unknown, unknown}, states())
		use()
		synctest.Wait()
		assert.Equal(t, []redlock.State{voting, voting, voting}, states())
		w.Master(0).Stop()
		for range 2 {
			use()
			time.Sleep(10 * time.Millisecond)
		}
		assert.Equal(t, []redlock.State{redlock.NodeSuspect, voting, voting}, states())
		w.Master(0).Restart()
		time.Sleep(time.Second)
		use()
		time.Sleep(10 * time.Millisecond)
		assert.Equal(t, []redlock.State{redlock.NodeRestarting, voting, voting}, states())
		rows, err := l.Nodes(t.Context())
		require.NoError(t, err)
		voteIn := l.Stats().Nodes[0].VoteIn
		assert.InDelta(t, float64(ttl+drift), float64(voteIn), float64(3*time.Second))
		assert.Equal(t, rows[0].VoteIn, voteIn)
		time.Sleep(voteIn - time.Millisecond)
		assert.Equal(t, redlock.NodeRestarting, states()[0])
		time.Sleep(2 * time.Millisecond)
		assert.Equal(t, []redlock.State{voting, voting, voting}, states())
	})
}

// Each number is what the master's node has counted under its name.
func TestStatsCountsWhatEachMasterWasAsked(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		deployment, err := seam.DeploymentOf(l)
		require.NoError(t, err)
		stats := func() redlock.NodeStats {
			got, s := l.Stats().Nodes[0], deployment.Nodes[0].Stats()
			want := redlock.NodeStats{
				NodeState: got.NodeState, Latency: got.Latency,
				Granted: s.Votes[wire.Granted], Denied: s.Votes[wire.Denied],
				Failed: s.Votes[wire.Failed], Unknown: s.Votes[wire.Unknown],
				Dropped: s.Dropped, Queued: s.Queued, InFlight: s.InFlight, Batches: s.Batches, Requests: s.Requests,
				Unconfirmed: s.Unconfirmed,
			}
			assert.Equal(t, want, got)
			assert.Equal(t, []any{s.Latency.Count(), s.Latency.Sum}, []any{got.Latency.Count, got.Latency.Sum})
			return got
		}
		w.warm(t, l)
		each(w.some(1, 3), func(m *simnet.Master) { m.Delay(time.Millisecond, 0) }) // no round ends before it is asked
		before := stats()
		w.foreign("taken", time.Minute)
		_, err = l.TryLock(t.Context(), "taken")
		require.ErrorIs(t, err, redlock.ErrHeld)
		lk := lock(t, l, "x")
		synctest.Wait()
		well := stats()
		assert.EqualValues(t, 1, well.Granted-before.Granted)
		assert.Equal(t, well.Granted+well.Denied, well.Latency.Count)

		w.Master(0).Freeze()
		unlock(t, lk)
		assert.Equal(t, 1, stats().InFlight)
		for i := range 3 { // what is over before the master thaws is not sent, and the rest shares a batch
			unlock(t, lock(t, l, fmt.Sprint(i)))
		}
		assert.Positive(t, stats().Queued)
		w.Master(0).Thaw()
		time.Sleep(time.Minute)
		lk = lock(t, l, "x")
		synctest.Wait()
		w.Master(0).Freeze()
		unlock(t, lk)
		time.Sleep(timeout + time.Millisecond)
		assert.Positive(t, stats().Unconfirmed)
		w.Master(0).Thaw()
		time.Sleep(time.Minute)
		w.Master(0).Reply("ERR it is ill", "SET", "EVALSHA", "EVAL")
		unlock(t, lock(t, l, "ill"))
		synctest.Wait()
		ill := stats()
		assert.Less(t, ill.Batches, ill.Requests)
		for _, n := range []int64{ill.Denied, ill.Failed, ill.Unknown, ill.Dropped, ill.Batches} {
			assert.Positive(t, n, "%+v", ill)
		}
	})
}

type callKey struct{}

// assertAddsUp checks what the comment of LockStats says.
func assertAddsUp(t *testing.T, what string, s redlock.LockStats) {
	t.Helper()
	assert.Equal(t, s.Started, s.Waiting+s.Acquired+s.Refused+s.TimedOut+s.Canceled+s.Failed+s.ClosedWaiting, what)
	assert.Equal(t, s.Acquired, s.Waits.Count, what)
	assert.Equal(t, s.Acquired, s.Held+s.Released+s.HandedOver+s.Lost+s.ClosedHeld, what)
	assert.Equal(t, s.Acquired-s.Held, s.Holds.Count, what)
	for _, h := range []redlock.Histogram{s.Waits, s.Holds} {
		var n int64
		for _, c := range h.Counts {
			n += c
		}
		assert.Equal(t, h.Count, n, what)
		assert.Len(t, h.Counts, len(h.Bounds)+1)
	}
}

func assertSnapshotAddsUp(t *testing.T, s redlock.Stats) {
	t.Helper()
	assertAddsUp(t, "total", s.LockStats)
	var sum redlock.LockStats
	for _, k := range s.Kinds {
		assertAddsUp(t, string(k.Kind), k.LockStats)
		sum.Started, sum.Held, sum.Acquired = sum.Started+k.Started, sum.Held+k.Held, sum.Acquired+k.Acquired
	}
	assert.Equal(t, []int64{s.Started, s.Held, s.Acquired}, []int64{sum.Started, sum.Held, sum.Acquired})
}
