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
	for _, p := range []place{
		virtual(), onSockets(t), real(t, "redis-server", ""), real(t, "redis-server, without GETRANGE", rights),
	} {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.need(t)
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
}

// everyOp returns the operations of every kind.
func everyOp() (ops []*wire.Op) {
	for _, k := range allKinds() {
		for _, fencing := range []bool{false, true} {
			c := entryClaim(k, holdToken, fencing)
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
	for _, p := range []place{virtual(), real(t, "redis-server", "")} {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.need(t)
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
}
