package kind_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/wire"
)

// The short part of a script does the most frequent work, with few commands. The long part would do the same with more.
func TestTheShortPartsOfScriptsDoTheirWork(t *testing.T) {
	t.Parallel()
	fenced := claim{Kind: "mutex", Names: []string{lockName}, Token: lockToken, TTL: lockTTL, Fencing: true, Hint: most}
	counter := func(n int64) [][]any { return several{fenced.Names, true}.count(n) }
	renew := mutexOps(lockName, lockToken, lockTTL).Extend(0)
	permit := entryClaim("semaphore", holdToken, false)
	permitOf := func(slot string, ttl time.Duration) [][]any {
		return entries{entryOf("semaphore", "2:"+slot+":"+otherToken): ttl}.made(lockName)
	}
	for name, tt := range map[string]struct {
		given    [][]any
		op       *wire.Op
		commands int // but GETRANGE
	}{
		"a mutex with a fence":        {nil, fenced.Ops().Acquire(), 3},
		"and a counter of 16 digits":  {counter(most - 1), fenced.Ops().Acquire(), 3},
		"a mutex that is renewed":     {several{fenced.Names, true}.mine(), renew, 1},
		"a reader":                    {nil, entryClaim("reader", holdToken, false).Ops().Acquire(), 5},
		"a writer":                    {nil, entryClaim("writer", holdToken, false).Ops().Acquire(), 4},
		"a reentrant lock":            {nil, entryClaim("reentrant", holdToken, false).Ops().Acquire(), 5},
		"a permit":                    {nil, permit.Ops().Acquire(), 4},
		"a permit beside another":     {permitOf("2", time.Second), permit.Ops().Acquire(), 6},
		"a permit beside a long one":  {permitOf("2", time.Hour), permit.Ops().Acquire(), 5},
		"a permit after another ends": {permitOf("1", -time.Second), permit.Ops().Acquire(), 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			virtual().with(t, func(t *testing.T, s *server) {
				for _, args := range tt.given {
					s.do(t, args...)
				}
				count := func() (n int) {
					for _, cmd := range scriptCommands(t) {
						n += s.master.CountNested(cmd)
					}
					return n
				}
				before := count()
				require.Equal(t, wire.Granted, s.ask(t, tt.op).Verdict)
				assert.Equal(t, tt.commands, count()-before)
			})
		})
	}
}
