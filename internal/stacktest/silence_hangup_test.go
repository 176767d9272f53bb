package stacktest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
)

// A master that has answered, and then ends each new connection, has no vote and is suspect. The others go on without
// it, its releases are repeated, and it is not dialed all the time. When it accepts connections again, it votes.
func TestAMasterThatEndsEachNewConnection(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"the first command", "the first command of a lock"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			inWorld(t, 3, func(t *testing.T, w *world) {
				var log logbook
				l := w.locker(t, "a", redlock.WithLogger(log.logger()))
				w.warm(t, l)
				held := lock(t, l, "held")
				synctest.Wait()
				m := w.Master(0)
				m.HangUp(func(args []string) bool {
					handshake := args[0] == "HELLO" || args[0] == "hello" || args[0] == "INFO" || args[0] == "info"
					return at == "the first command" || !handshake
				})
				m.Disconnect()
				dials := m.Dials()
				for range 100 {
					lk := lock(t, l, "x")
					require.NoError(t, lk.Unlock(t.Context()))
					time.Sleep(100 * time.Millisecond)
				}
				require.NoError(t, held.Err(), "the keepalive needs a majority")
				n := l.Stats().Nodes[0]
				assert.Equal(t, redlock.NodeSuspect, n.State)
				require.Error(t, n.Err)
				assert.Less(t, m.Dials()-dials, 110, "not more than once for each lock, and a few")
				before := m.Dials()
				time.Sleep(time.Minute)
				assert.LessOrEqual(t, m.Dials()-before, 90, "rarely, while nobody asks")
				assert.Len(t, log.lines("a master does not answer"), 1)
				w.Master(1).Freeze()
				_, err := l.TryLock(t.Context(), "y")
				require.ErrorIs(t, err, redlock.ErrNoQuorum)
				require.Len(t, redlock.NodeErrors(err), 2)
				m.HangUp(nil)
				time.Sleep(time.Minute)
				unlock(t, lock(t, l, "z"))
				n = l.Stats().Nodes[0]
				assert.Equal(t, redlock.NodeVoting, n.State)
				assert.Zero(t, n.Unconfirmed)
				w.Master(1).Thaw()
				unlock(t, held)
			})
		})
	}
}
