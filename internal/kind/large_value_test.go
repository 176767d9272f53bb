package kind_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/wire"
)

// A mutex does not read the whole of a value that another program has at its name: the master would stall for a
// millisecond a megabyte, at each attempt of a waiter.
func TestAMutexReadsNoLargeValueWhole(t *testing.T) {
	t.Parallel()
	p := real(t, "redis-server", rights+" +getrange +config +flushall")
	p.need(t)
	p.with(t, func(t *testing.T, s *server) {
		s.do(t, "set", lockName, strings.Repeat("x", 5000))
		s.do(t, "config", "resetstat")
		for _, fencing := range []bool{false, true} {
			c := entryClaim("mutex", holdToken, fencing)
			life := c.Ops()
			for _, op := range []*wire.Op{
				c.Probe(lockTTL), life.Extend(0), life.Raise(hint), life.Keep(lockTTL), life.Release(true), c.Withdraw(),
			} {
				assert.Equal(t, wire.Denied, s.ask(t, op).Verdict, op.Name)
			}
		}
		stats, err := s.client.Info(t.Context(), "commandstats").Result()
		require.NoError(t, err)
		assert.Contains(t, stats, "cmdstat_getrange:")
		assert.NotContains(t, stats, "cmdstat_get:")
	})
}
