package kind_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/wire"
)

const (
	tooLarge = 1 << 53      // a double does not hold the next number
	largest  = tooLarge - 1 // the largest fencing token
)

// given returns the commands before an operation of the claim on a name with a fence.
func (c claim) given(op *wire.Op, fence []any) [][]any {
	if op.Name == "acquire" {
		return [][]any{fence}
	}
	return append(c.held(), fence)
}

// brokenFences are the commands that make fences that no script can use, by what the error says.
func brokenFences() map[string][][]any {
	fence := kind.FenceKey(lockName)
	all := map[string][][]any{"WRONGTYPE": {{"rpush", fence, "foreign"}}}
	for refused, texts := range map[string][]string{
		"is no fence": {"foreign", "7:x", "1e2", "-5", "+5", "0x10", " 7 ", "7.0", "7\n", "7\x00"},
		"delete the key on every master": {
			"9007199254740992", "7:9007199254740992", "99999999999999999999", "00000000000000007",
		},
	} {
		for _, text := range texts {
			all[refused] = append(all[refused], []any{"set", fence, text, "px", 5000})
		}
	}
	return all
}

// boundSteps are the steps of every operation with a broken fence, with a used-up one, and with one without a TTL.
func boundSteps() map[string]step {
	all := make(map[string]step)
	fence := kind.FenceKey(lockName)
	for refused, commands := range brokenFences() {
		for _, command := range commands {
			add := func(who string, op *wire.Op, given [][]any) {
				all[fmt.Sprintf("%s, %s: a fence of %q by %s", op.Name, who, command[2], command[0])] = step{
					given: given, op: op, vote: broken, refused: refused,
				}
			}
			for who, c := range claimsOfAll(true) {
				for _, op := range []*wire.Op{c.Ops().Acquire(), c.Ops().Raise(hint), c.Ops().Extend(hint)} {
					add(who, op, c.given(op, command))
				}
			}
			add("a mutex", inspectOp(lockName), append(claimOf("mutex", holdToken, true).held(), command))
		}
	}
	for who, c := range claimsOfAll(true) {
		// The fence of a mutex also gets a shorter TTL than it had: the hold that set it has ended.
		longer := []any{"set", fence, 7, "px", (2 * fenceLife).Milliseconds()}
		if c.Kind == "mutex" {
			all["acquire, "+who+": a fence with a longer TTL"] = step{
				given: [][]any{longer}, op: c.Ops().Acquire(), vote: grant(hint), then: keeps,
			}
		}
		for _, last := range []string{"7", "7:7", fmt.Sprint(hint + 7)} {
			without := []any{"set", fence, last}
			for _, op := range []*wire.Op{c.Ops().Acquire(), c.Ops().Raise(hint + 9), c.Ops().Extend(hint + 9)} {
				number := map[string]int64{"acquire": hint, "raise": hint + 9, "extend": 1}[op.Name]
				if op.Name == "acquire" && last == fmt.Sprint(hint+7) {
					number = hint + 8
				}
				all[fmt.Sprintf("%s, %s: a fence of %s without a TTL", op.Name, who, last)] = step{
					given: c.given(op, without), op: op, vote: grant(number), then: keeps,
				}
			}
		}
	}
	claim := claimsOfAll(true)["a semaphore"]
	all["acquire, a permit: no token of its slot is left"] = step{
		given: [][]any{{"set", fence, largest - 1, "px", 5000}}, op: claim.Ops().Acquire(), vote: broken,
		refused: "the fencing tokens of " + fence + " are used up",
	}
	claim = claimOf("reentrant", holdToken, false)
	for _, op := range []*wire.Op{claim.Ops().Acquire(), claim.Ops().Extend(0)} {
		st := step{given: [][]any{{"set", fence, "7:7"}}, op: op, vote: one, then: keeps}
		if op.Name == "extend" {
			st.vote = healed
		}
		all[op.Name+", a reentrant without fencing: a fence of an earlier owner without a TTL"] = st
	}
	return all
}

// keeps asserts that the fence of the name expires a day and a TTL from now.
func keeps(t *testing.T, s *server) {
	t.Helper()
	left := s.left(t, kind.FenceKey(lockName))
	assertLeft(t, lockTTL+fenceLife, left)
	assert.Positive(t, left, "it has a TTL")
}

// Clients send whole numbers. A script that gets anything else must change nothing.
func TestScriptsRefuseInvalidFencingTokens(t *testing.T) {
	t.Parallel()
	fence := kind.FenceKey(lockName)
	on(t, []place{virtual(), real(t, "redis-server", "")}, func(t *testing.T, p place) {
		for _, k := range allKinds() {
			for _, text := range []string{
				"1.5", "1e3", "0x10", " 7", "+7", "nan", "inf", "7:5", "-1", "9007199254740992", "99999999999999999999",
			} {
				p.with(t, func(t *testing.T, s *server) {
					s.do(t, "set", fence, 7, "px", 5000)
					before := s.snapshot(t)
					keys := []string{lockName, fence, kind.IntentKey(lockName)}
					err := s.client.Eval(t.Context(), kind.Named(k).AcquireScript(), keys, acquireArgs(k, text)...).Err()
					require.ErrorContains(t, err, "is no fencing token", "%s %q", k, text)
					assert.Equal(t, before, s.snapshot(t), "%s %q", k, text)
				})
			}
		}
	})
}

// acquireArgs are the arguments of a kind's acquire script with a hint that no client sends.
func acquireArgs(k, text string) []any {
	ttl, keep := lockTTL.Milliseconds(), (lockTTL + fenceLife).Milliseconds()
	if k == "mutex" {
		return []any{holdToken, ttl, text, keep}
	}
	return []any{k, holdToken, ttl, text, keep, ""}
}

// largeNames are the commands that put much at the name, or at one of its other keys, by what they put there.
func largeNames() map[string][][]any {
	const many, long = 2000, 1 << 20
	last := in(time.Minute)
	zadd := func(n int, member func(i int) string) []any {
		args := []any{"zadd", lockName}
		for i := range n {
			args = append(args, in(time.Hour-time.Duration(i)*time.Second), member(i))
		}
		return args
	}
	holders := func(k string) []any {
		return zadd(many, func(i int) string { return entryOf(k, fmt.Sprintf("%s:%032d", strings.Repeat("o", 1024), i)) })
	}
	text := strings.Repeat("7", long)
	all := map[string][][]any{
		"readers":         {holders("reader")},
		"a deep hold":     {holders("reentrant")},
		"a large value":   {{"set", lockName, text}},
		"a large member":  {{"zadd", lockName, last, text}},
		"a large token":   {{"zadd", lockName, last, entryOf("reader", text)}},
		"a large kind":    {{"zadd", lockName, last, "redlock:" + strings.Repeat("k", long) + ":x"}},
		"a large fence":   {{"set", kind.FenceKey(lockName), text}, {"set", lockName, "other"}},
		"a large intent":  {{"zadd", kind.IntentKey(lockName), last, text}},
		"a large element": {{"rpush", lockName, text}},
		"equal beginnings": {zadd(3, func(i int) string {
			return entryOf("reader", strings.Repeat("x", 10_000)+fmt.Sprint(i))
		})},
		"other entries": {
			zadd(many, func(i int) string { return fmt.Sprint("no entry ", i) }),
			{"zadd", lockName, in(2 * time.Hour), entryOf("reader", "mine")},
		},
		"permits": {zadd(kind.MaxSlots, func(i int) string {
			return entryOf("semaphore", fmt.Sprintf("%d:%d:%s:%032d", kind.MaxSlots, i+1, strings.Repeat("o", 1024), i))
		})},
	}
	fields := []any{"hset", lockName}
	for i := range many {
		fields = append(fields, i, strings.Repeat("v", 1000))
	}
	all["a large hash"] = [][]any{fields}
	return all
}

// No reply grows with what many clients, or another program, put at a name.
func TestRepliesAreBounded(t *testing.T) {
	t.Parallel()
	on(t, []place{
		virtual(), onSockets(t), real(t, "redis-server", ""), real(t, "redis-server, without GETRANGE", rights),
	}, func(t *testing.T, p place) {
		for what, given := range largeNames() {
			t.Run(what, func(t *testing.T) {
				p.with(t, func(t *testing.T, s *server) {
					for _, args := range given {
						s.do(t, args...)
					}
					for _, op := range everyOp() {
						reply, err := s.client.Do(t.Context(), op.Arguments()...).Result()
						assert.Less(t, sizeOf(reply)+sizeOf(fmt.Sprint(err)), 128<<10, "%s: %.100v", op.Name, reply)
						if op.Name == "inspect" && err == nil {
							assert.True(t, kind.ReadState(reply).Verdict.Answered(), "it can be read")
						}
					}
				})
			})
		}
	})
}

// everyOp returns the operations of every kind.
func everyOp() (ops []*wire.Op) {
	for _, k := range allKinds() {
		for _, fencing := range []bool{false, true} {
			c := claimOf(k, holdToken, fencing)
			c.Slots, c.Intent = kind.MaxSlots, "waiter"
			life := c.Ops()
			ops = append(ops, c.Probe(time.Second), life.Acquire(), life.Extend(0), life.Raise(hint),
				life.Keep(time.Second), life.Release(true), c.Withdraw())
		}
	}
	return append([]*wire.Op{inspectOp(lockName), inspectAloneOp(lockName)}, ops...)
}

// sizeOf returns about how many bytes a reply has.
func sizeOf(reply any) (n int) {
	switch r := reply.(type) {
	case string:
		return len(r)
	case []any:
		for _, one := range r {
			n += sizeOf(one)
		}
	}
	return n + 16
}

func TestInspectCountsTheHoldersThatItLeavesOut(t *testing.T) {
	t.Parallel()
	on(t, []place{virtual(), real(t, "redis-server", "")}, func(t *testing.T, p place) {
		for _, n := range []int{1, 2, 1023, 1024, 1025, 1026, 2048, 4097} {
			p.with(t, func(t *testing.T, s *server) {
				args := []any{"zadd", lockName}
				for i := range n {
					args = append(args, in(time.Minute+time.Duration(i)*time.Second), entryOf("reader", fmt.Sprint(i)))
				}
				for i := range 100 {
					args = append(args, in(-time.Minute), entryOf("reader", fmt.Sprint("ended", i)))
				}
				s.do(t, args...)
				v := s.ask(t, inspectOp(lockName))
				require.Equal(t, wire.Denied, v.Verdict, "%v", v.Err)
				state := v.Data.(kind.NodeState)
				assert.Len(t, state.Holders, min(n, 1024))
				assert.Equal(t, n-len(state.Holders), state.Others)
				assert.Equal(t, fmt.Sprint(n-1), state.Longest().Token, "it lists those with the longest TTLs")
			})
		}
	})
}

// A mutex does not read the whole of a value that another program has at its name: the master would stall for a
// millisecond a megabyte, at each attempt of a waiter.
func TestAMutexReadsNoLargeValueWhole(t *testing.T) {
	t.Parallel()
	allowed := rights + " +getrange +config +flushall"
	on(t, []place{real(t, "redis-server", allowed)}, func(t *testing.T, p place) { p.with(t, readsNoLargeValue) })
}

func readsNoLargeValue(t *testing.T, s *server) {
	t.Helper()
	s.do(t, "set", lockName, strings.Repeat("x", 5000))
	s.do(t, "config", "resetstat")
	for _, fencing := range []bool{false, true} {
		c := claimOf("mutex", holdToken, fencing)
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
}
