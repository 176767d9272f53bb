package clients_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
	"github.com/redlock-go/redlock/redlocktest"
)

// Redsync and the lock under test on the same names of the same masters: two fleets, one history.
func TestAMixedFleetExcludesEachOther(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	groups := slices.Clone(traffic.PlainMutexes)
	for i := range groups { // redsync polls: while redlock's waiters get every release, it hardly finds a name free
		groups[i].Workers, groups[i].Rest = 1, traffic.Span{Least: traffic.TTL / 2, Below: 2 * traffic.TTL}
	}
	f, log := newFleet(t, 4, traffic.Config{URLs: redlocktest.URLs(masters), Groups: groups, Seed: 5})
	withRegisters(t, f)
	configure := f.Configure
	f.Configure = func(i int) traffic.Config {
		c := configure(i)
		c.Lock = []string{traffic.Quorum, traffic.Redsync}[i%2]
		return c
	}
	require.NoError(t, f.StartAll(t.Context()))
	acquired := map[string]bool{} // by client and name
	for began := time.Now(); len(acquired) < f.Size*len(
		traffic.Names("test:", traffic.PlainMutexes),
	); time.Sleep(20 * look) {
		require.Less(t, time.Since(began), 6*soon, "%v", acquired)
		for _, e := range read(t, f) {
			if e.Kind == history.Acquired {
				acquired[e.Client+" "+e.Name] = true
			}
		}
	}
	require.NoError(t, f.Quit(t.Context()))
	assert.Empty(t, log.all())
	events := read(t, f)
	assert.Empty(t, check.Exclusion(events).Findings)
	assert.Empty(t, check.WellFormed(events).Findings)
	assert.Empty(t, lostInTime(events))
}
