package stacktest_test

import (
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

// The numbers of each NodeStats are those that its master's node has counted. The test fails if a number is always that
// of another field.
func TestStatsReportsEachNumberOfEachMaster(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.over(t, "a", w.nodes(t, "a"))
		deployment, err := seam.DeploymentOf(l)
		require.NoError(t, err)
		nodes := deployment.Nodes
		fields := []string{
			"Granted", "Denied", "Failed", "Unknown", "Dropped", "Latency", "Queued", "InFlight", "Batches", "Requests",
			"Unconfirmed",
		}
		seen := make(map[string]map[string]bool) // texts of the values, by field
		differ := make(map[[2]string]bool)       // fields that were not equal at some time
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
					if seen[fields[n]] == nil {
						seen[fields[n]] = make(map[string]bool)
					}
					seen[fields[n]][fmt.Sprint(want)] = true
					for m := range n {
						other := got.FieldByName(fields[m])
						if other.Kind() == reflect.Struct {
							other = other.FieldByName("Count")
						}
						if fmt.Sprint(other) != fmt.Sprint(want) {
							differ[[2]string{fields[m], fields[n]}] = true
						}
					}
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
		for n, field := range fields {
			assert.Greater(t, len(seen[field]), 1, "%s was always the same", field)
			for m := range n {
				assert.True(t, differ[[2]string{fields[m], field}], "%s was always %s", fields[m], field)
			}
		}
	})
}

// A master that was barred and then fails is suspect, until it answers.
func TestTheStateOfABarredMasterThatFailsIsSuspect(t *testing.T) {
	t.Parallel()
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
