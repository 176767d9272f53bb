package kind_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/wire"
)

// The test compares each row of the table of kinds with the scripts. It also covers a new kind, by its row.
func TestScriptsFollowTheTableOfKinds(t *testing.T) {
	t.Parallel()
	one, two, other := tokenOf("one", "1"), tokenOf("one", "2"), tokenOf("other", "3")
	for _, k := range kind.All {
		of := func(token string) claim {
			return claim{Kind: k.Name, Names: []string{lockName}, Token: token, TTL: lockTTL}
		}
		for rule, check := range map[string]func(t *testing.T, s *server){
			"the name finds the kind": func(t *testing.T, _ *server) {
				assert.Same(t, k, kind.Named(k.Name))
			},
			"sharing": func(t *testing.T, s *server) {
				require.True(t, s.grants(t, of(one).Ops().Acquire()))
				assert.Equal(t, k.Nested() || k.SharedByAll(), s.grants(t, of(two).Ops().Acquire()), "another hold of the owner")
				assert.Equal(t, k.Sharing == kind.WithAll, s.grants(t, of(other).Ops().Acquire()), "another owner's hold")
				third := of(two)
				third.Slot = 2
				assert.Equal(t, k.Slotted(), s.grants(t, third.Ops().Acquire()) && k.Slotted(), "another slot")
				third.Slot, third.Slots = 3, 3
				assert.False(t, k.Slotted() && s.grants(t, third.Ops().Acquire()), "another number of slots")
				for _, second := range kind.All {
					c := of(two)
					c.Kind = second.Name
					if second != k {
						assert.False(t, s.grants(t, c.Ops().Acquire()), "a %s", second.Name)
					}
				}
			},
			"layout": func(t *testing.T, s *server) {
				require.True(t, s.grants(t, of(one).Ops().Acquire()))
				assert.Equal(t, k.Layout == kind.PlainKey, s.do(t, "type", lockName) == "string")
				assert.Equal(t, k.Layout != kind.PlainKey, s.do(t, "type", lockName) == "zset")
			},
			"intents": func(t *testing.T, s *server) {
				if k.Intents == kind.IntentNever {
					return
				}
				waiter := of(one)
				waiter.Intent = "waiter"
				for _, holder := range append(kind.All, nil) {
					s.do(t, "flushall")
					if holder != nil {
						require.True(
							t, s.grants(t, claim{Kind: holder.Name, Names: []string{lockName}, Token: other, TTL: lockTTL}.Ops().Acquire()),
						)
					}
					v := s.ask(t, waiter.Probe(time.Second))
					left := k.Intents == kind.IntentAlways || holder == kind.Reader
					assert.Equal(t, left, s.do(t, "exists", kind.IntentKey(lockName)) == int64(1), "held by %v", holder)
					assert.Equal(t, left, k.LeftIntent(v), "held by %v", holder)
				}
			},
			"kept out by intents": func(t *testing.T, s *server) {
				s.do(t, "zadd", kind.IntentKey(lockName), in(time.Second), "waiter")
				assert.Equal(t, !k.KeptOut, s.grants(t, of(one).Probe(time.Second)), "probe")
				assert.Equal(t, !k.KeptOut, s.grants(t, of(one).Ops().Acquire()), "acquire")
			},
			"acquire removes the intent": func(t *testing.T, s *server) {
				if k.KeptOut {
					return
				}
				c := of(one)
				c.Intent = "waiter"
				s.do(t, "zadd", kind.IntentKey(lockName), in(time.Second), c.Intent)
				require.True(t, s.grants(t, c.Ops().Acquire()))
				assert.Equal(t, k.AcquireRemovesIntent(), s.do(t, "exists", kind.IntentKey(lockName)) == int64(0))
			},
		} {
			t.Run(fmt.Sprintf("%s: %s", k.Name, rule), func(t *testing.T) {
				t.Parallel()
				virtual().with(t, check)
			})
		}
	}
}

// grants reports whether the server grants an operation.
func (s *server) grants(t *testing.T, op *wire.Op) bool {
	t.Helper()
	v := s.ask(t, op)
	require.True(t, v.Verdict.Answered(), "%v", v.Err)
	return v.Verdict == wire.Granted
}
