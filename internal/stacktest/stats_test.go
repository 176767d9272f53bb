package stacktest_test

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/seam"
	"github.com/redlock-go/redlock/internal/wire"
)

func kindStats(t *testing.T, l *redlock.Locker, name redlock.Kind) redlock.LockStats {
	t.Helper()
	for _, k := range l.Stats().Kinds {
		if k.Kind == name {
			return k.LockStats
		}
	}
	require.Fail(t, "no such kind", name)
	return redlock.LockStats{}
}

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
		w.Master(0).Start()
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

func TestStatsCountsWhatEachMasterWasAsked(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		w.warm(t, l)
		before := l.Stats().Nodes[0]
		w.foreign("taken", time.Minute)
		_, err := l.TryLock(t.Context(), "taken")
		require.ErrorIs(t, err, redlock.ErrHeld)
		lk := lock(t, l, "x")
		synctest.Wait()
		after := l.Stats().Nodes[0]
		assert.EqualValues(t, 1, after.Granted-before.Granted)
		assert.Positive(t, after.Denied-before.Denied)
		assert.GreaterOrEqual(t, after.Requests-before.Requests, int64(2))
		assert.LessOrEqual(t, after.Batches-before.Batches, after.Requests-before.Requests)
		assert.Equal(t, after.Granted+after.Denied, after.Latency.Count)
		assert.Zero(t, after.Unconfirmed)

		w.Master(0).Freeze()
		unlock(t, lk)
		frozen := l.Stats().Nodes[0]
		assert.Zero(t, frozen.Unconfirmed, "its release is not late yet")
		assert.Equal(t, 1, frozen.InFlight+frozen.Queued)
		time.Sleep(timeout + time.Millisecond)
		late := l.Stats().Nodes[0]
		assert.EqualValues(t, 1, late.Unknown)
		assert.Equal(t, 1, late.Unconfirmed)
		w.Master(0).Thaw()
		time.Sleep(time.Minute)
		assert.Zero(t, l.Stats().Nodes[0].Unconfirmed)
	})
}

// A vote counts as denied only if the master refused something.
func TestDeniedVotesAreRefusals(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a"), w.locker(t, "b")
		denied := func() (each []int64) {
			synctest.Wait()
			for _, n := range a.Stats().Nodes {
				each = append(each, n.Denied)
			}
			return each
		}
		held := lock(t, b, "x")
		w.Master(2).Freeze()
		unlock(t, lock(t, a, "y")) // the release reaches a master that never had the key
		w.Master(2).Del("y", "", "")
		w.Heal()
		time.Sleep(time.Minute)
		_, err := a.Inspect(t.Context(), "x")
		require.NoError(t, err)
		assert.Equal(t, []int64{0, 0, 0}, denied())
		for i := range int64(10) {
			_, err := a.TryLock(t.Context(), "x")
			require.ErrorIs(t, err, redlock.ErrHeld)
			for _, n := range denied() {
				assert.LessOrEqual(t, n, i+1, "no release counts again")
			}
		}
		before := denied()
		assert.GreaterOrEqual(t, before[0]+before[1]+before[2], int64(10*2), "a majority denied each attempt")
		unlock(t, held)
		synctest.Wait() // until all masters have released it
		_, err = a.Inspect(t.Context(), "x")
		require.NoError(t, err)
		unlock(t, lock(t, a, "x"))
		assert.Equal(t, before, denied())
	})
}

// The numbers of each NodeStats are those that its master's node has counted.
func TestStatsReportsEachNumberOfEachMaster(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.over(t, "a", w.nodes(t, "a"))
		deployment, err := seam.DeploymentOf(l)
		require.NoError(t, err)
		nodes := deployment.Nodes
		fields := []string{
			"Granted", "Denied", "Failed", "Unknown", "Dropped", "Latency", "Queued", "InFlight", "Batches", "Requests",
			"Unconfirmed",
		}
		compare := func() {
			synctest.Wait()
			for i, row := range l.Stats().Nodes {
				s := nodes[i].Stats()
				got := reflect.ValueOf(row)
				for n, want := range []any{
					s.Votes[wire.Granted], s.Votes[wire.Denied], s.Votes[wire.Failed], s.Votes[wire.Unknown], s.Dropped,
					s.Latency.Count(), s.Queued, s.InFlight, s.Batches, s.Requests, s.Unconfirmed,
				} {
					value := got.FieldByName(fields[n])
					if value.Kind() == reflect.Struct {
						assert.Equal(t, s.Latency.Sum, row.Latency.Sum)
						value = value.FieldByName("Count")
					}
					assert.EqualValues(t, want, value.Interface(), "%s of %s", fields[n], row.Node)
				}
			}
		}
		w.Master(0).Freeze() // before there is a connection
		first := lock(t, l, "first")
		compare()
		time.Sleep(time.Minute) // its requests are dropped or late
		compare()
		w.Master(0).Thaw()
		time.Sleep(time.Minute) // until it has the lock, too
		w.foreign("taken", time.Hour)
		for range 3 {
			_, err := l.TryLock(t.Context(), "taken")
			require.ErrorIs(t, err, redlock.ErrHeld)
		}
		var all sync.WaitGroup
		for i := range 20 { // at once: they share batches
			all.Go(func() { unlock(t, lock(t, l, fmt.Sprint("x", i))) })
		}
		compare()
		all.Wait()
		compare()
		w.Master(1).Freeze()
		unlock(t, first)
		compare()
		time.Sleep(time.Second)
		compare()
		w.Heal()
		time.Sleep(time.Minute)
		first = lock(t, l, "first")
		synctest.Wait()
		w.Master(1).Freeze()
		unlock(t, first)
		time.Sleep(100 * time.Millisecond)
		unlock(t, lock(t, l, "dropped")) // while the release is on the wire
		w.Master(1).Thaw()
		time.Sleep(time.Minute)
		compare()
		w.Master(2).Reply("ERR it is ill", "SET", "EVALSHA", "EVAL")
		unlock(t, lock(t, l, "ill"))
		compare()
	})
}

// A master that was barred and then fails is suspect, until it answers.
func TestTheStateOfABarredMasterThatFailsIsSuspect(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		state := func() redlock.State {
			unlock(t, lock(t, l, "x"))
			time.Sleep(time.Second)
			return l.Stats().Nodes[0].State
		}
		w.Master(0).Reply("NOPERM this user has no permissions to run the 'evalsha' command", "EVALSHA", "EVAL")
		assert.Equal(t, redlock.NodeBarred, state())
		w.Master(0).Freeze()
		assert.Equal(t, redlock.NodeSuspect, state())
		w.Master(0).Thaw()
		assert.Equal(t, redlock.NodeBarred, state())
	})
}
