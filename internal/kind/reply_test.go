package kind_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/kind/kindtest"
	"github.com/redlock-go/redlock/internal/wire"
)

const mostExact = 1<<53 - 1 // the largest number that a script can compute

// list is a reply. Whole numbers are of the type that a client returns.
func list(fields ...any) []any {
	for i, field := range fields {
		if n, ok := field.(int); ok {
			fields[i] = int64(n)
		}
	}
	return fields
}

// readAll reads replies, by the verdict of their votes. The type of a reply depends on no stored data. After one of
// another type, the connection must end, since the reply may be the one to another command: wire.BadReply says so.
func readAll(t *testing.T, read func(reply any) wire.Vote, all map[wire.Verdict][]any) {
	t.Helper()
	for want, replies := range all {
		for _, reply := range replies {
			v := read(reply)
			assert.Equal(t, want, v.Verdict, "%.100v", reply)
			if want == wire.Unknown {
				kindtest.CheckMalformed(t, v)
			}
			if _, isList := reply.([]any); !isList && want == wire.Unknown {
				assert.Equal(t, wire.BadReply(reply), v)
			}
		}
	}
}

func TestRepliesOfAcquireAndProbe(t *testing.T) {
	t.Parallel()
	read := func(reply any) wire.Vote {
		v := kind.ReadClaim(reply, 2)
		checkClaim(t, v, 2)
		return v
	}
	readAll(t, read, map[wire.Verdict][]any{
		wire.Granted: {int64(1), int64(mostExact), list(1, 1), list(1, 7)},
		wire.Denied: {
			list(0, "mutex", -1), list(0, "mutex", math.MaxInt64), list(0, strings.Repeat("~", 64), 1),
			list(0, "reader", 0, 2), list(0, "ReJSON-RL", 5, 1, "token"), list(0, "reader", 5, 1, "token", 1),
			list(0, "semaphore", 1, 1, "1:1:token"), list(0, "semaphore", 1, 1, "1024:1024:"),
		},
		wire.Unknown: {
			nil, "OK", int64(0), int64(-1), int64(-100), int64(mostExact + 1), int64(math.MinInt64), strings.Repeat("x", 1<<20),
			list(), list(1), list(1, 0), list(1, mostExact+1), list(1, "7"), list(1, 7, 7), list(2, 7),
			list("0", "mutex", 1), list(nil, "mutex", 1), list(2, "mutex", 1), list(list(), list(), list()),
			// the kind
			list(0, 1, 1), list(0, "", 1), list(0, "a b", 1), list(0, "a\n", 1), list(0, "a\x7f", 1),
			list(0, strings.Repeat("a", 65), 1),
			// the TTL, and which of the names it is
			list(0, "mutex"), list(0, "mutex", "1"), list(0, "mutex", -2),
			list(0, "mutex", 1, 0), list(0, "mutex", 1, 3), list(0, "mutex", 1, "1"), list(0, "mutex", 1, math.MaxInt64),
			// the token, and whether an intent was left
			list(0, "mutex", 1, 1, nil), list(0, "mutex", 1, 1, "token", "1"), list(0, "mutex", 1, 1, "token", 2),
			list(0, "mutex", 1, 1, "token", 1, 1),
			// the slots in the token
			list(0, "semaphore", 1, 1, "token"), list(0, "semaphore", 1, 1, "2:1"), list(0, "semaphore", 1, 1, ":1:token"),
			list(0, "semaphore", 1, 1, "2::token"), list(0, "semaphore", 1, 1, "0:0:token"),
			list(0, "semaphore", 1, 1, "2:0:token"), list(0, "semaphore", 1, 1, "2:3:token"),
			list(0, "semaphore", 1, 1, "1025:1:token"),
		},
	})
}

// checkClaim checks what callers rely on.
func checkClaim(t *testing.T, v wire.Vote, names int) {
	t.Helper()
	b, ok := kind.BlockerOf(v)
	switch v.Verdict {
	case wire.Granted:
		require.Positive(t, v.Number)
		require.LessOrEqual(t, v.Number, int64(mostExact))
		require.NoError(t, v.Err)
	case wire.Denied:
		require.True(t, ok)
		require.NotEmpty(t, b.Kind)
		require.GreaterOrEqual(t, b.NameIndex, 0)
		require.Less(t, b.NameIndex, names)
		require.GreaterOrEqual(t, b.TTL, -time.Millisecond)
		require.GreaterOrEqual(t, v.Wait, time.Duration(0))
	default:
		kindtest.CheckMalformed(t, v)
	}
}

func TestWhatADenialReports(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		reply []any
		want  kind.Blocker
		wait  time.Duration
	}{
		{list(0, "mutex", -1), kind.Blocker{Kind: "mutex", TTL: -time.Millisecond}, 0},
		{
			list(0, "reader", 5, 2, "token", 1),
			kind.Blocker{Kind: "reader", TTL: 5 * time.Millisecond, NameIndex: 1, Token: "token", Intent: true},
			5 * time.Millisecond,
		},
		{list(0, "semaphore", 0, 1, "3:2:a:b"), kind.Blocker{Kind: "semaphore", Slots: 3, Token: "a:b"}, 0},
		{
			list(0, "mutex", math.MaxInt64),
			kind.Blocker{Kind: "mutex", TTL: math.MaxInt64 / time.Millisecond * time.Millisecond},
			math.MaxInt64 / time.Millisecond * time.Millisecond,
		},
	} {
		v := kind.ReadClaim(tt.reply, 2)
		assert.Equal(t, tt.want, v.Data, "%v", tt.reply)
		assert.Equal(t, tt.wait, v.Wait, "%v", tt.reply)
	}
	v := kind.ReadClaim(list(0, "mutex", 5, 2), 1)
	assert.Equal(t, wire.Unknown, v.Verdict, "the claim has one name")
}

func TestRepliesOfPermits(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	semaphore := kind.Semaphore.Name
	for _, tt := range []struct {
		reply any
		want  wire.Verdict
		data  any
	}{
		{int64(1), wire.Granted, nil},
		{list(1, "01"), wire.Granted, kind.Blocker{Kind: semaphore, Taken: "01"}},
		{list(0, "mutex", 5), wire.Denied, kind.Blocker{Kind: "mutex", TTL: 5 * ms}},
		{list(0, semaphore, 5, 1), wire.Denied, kind.Blocker{Kind: semaphore, TTL: 5 * ms, Slots: 1}},
		{list(0, semaphore, 5, 1024), wire.Denied, kind.Blocker{Kind: semaphore, TTL: 5 * ms, Slots: 1024}},
		{list(0, semaphore, 5, 2, "11"), wire.Denied, kind.Blocker{Kind: semaphore, TTL: 5 * ms, Slots: 2, Taken: "11"}},
	} {
		v := kind.ReadPermit(tt.reply, 2)
		assert.Equal(t, tt.want, v.Verdict, "%v", tt.reply)
		assert.Equal(t, tt.data, v.Data, "%v", tt.reply)
		if b, ok := kind.BlockerOf(v); ok {
			assert.Equal(t, b.TTL, v.Wait)
		}
	}
	read := func(reply any) wire.Vote { return kind.ReadPermit(reply, 2) }
	readAll(t, read, map[wire.Verdict][]any{wire.Unknown: {
		nil, int64(0),
		list(), list(1), list(1, 7), list(1, "0"), list(1, "012"), list(1, "02"), list(1, "01", "01"), list(2, "01"),
		list(0, "01"), list(1, "mutex", 5), list(0, "mutex", "5"), list(0, "", 5, 2), list(0, "", 5, 2, "11"),
		list(0, semaphore, 5, 0), list(0, semaphore, 5, 1025), list(0, semaphore, 5, "2"),
		list(0, semaphore, 5, 2, "1"), list(0, semaphore, 5, 2, "1x"), list(0, semaphore, 5, 2, 11),
		list(0, semaphore, 5, 3, "11"), list(0, semaphore, 5, 2, "11", 1),
	}})
}

func TestRepliesOfInspect(t *testing.T) {
	t.Parallel()
	readAll(t, kind.ReadState, map[wire.Verdict][]any{
		wire.Granted: {list()},
		wire.Denied: {
			list("mutex", 0, 0, "a", -1), list("mutex", mostExact, 0, "a", 5), list("reader", 0, 0, "a", 5, "b", 5),
			list("semaphore", 0, 0, "2:1:a", 5),
		},
		wire.Unknown: {
			nil, "OK", list("mutex", 0), list("mutex", 0, 0, "a"), list("mutex", 0, 0, "a", 5, "b"),
			list("mutex", 0, "0", "a", 5), list("mutex", 0, -1, "a", 5), list("mutex", 0, 1<<31, "a", 5),
			list("", 0, 0, "a", 5), list("mutex", "0", 0, "a", 5), list("mutex", -1, 0, "a", 5),
			list("mutex", mostExact+1, 0, "a", 5), list("mutex", 0, 0, 1, 5), list("mutex", 0, 0, "a", "5"),
			list("mutex", 0, 0, "a", -2), list("reader", 0, 0, "a", 5, "a", 5), list("reader", 0, 0, "a", 5, 5, "b"),
			list("semaphore", 0, 0, "a", 5),
		},
	})
	v := kind.ReadState(list("semaphore", 7, 0, "2:1:a", 5, "2:2:b", 6))
	assert.Equal(t, kind.NodeState{Kind: "semaphore", Fence: 7, Slots: 2, Holders: []kind.Holder{
		{Token: "a", TTL: 5 * time.Millisecond, Slot: 1}, {Token: "b", TTL: 6 * time.Millisecond, Slot: 2},
	}}, v.Data)
}

func TestRepliesOfRaise(t *testing.T) {
	t.Parallel()
	for reply, want := range map[any]wire.Verdict{
		int64(7): wire.Granted, int64(8): wire.Denied, int64(0): wire.Denied, int64(mostExact): wire.Denied,
		int64(mostExact + 1): wire.Unknown, nil: wire.Unknown, "7": wire.Unknown,
	} {
		assert.Equal(t, want, kind.ReadRaise(reply, 7).Verdict, "%v", reply)
	}
}

func FuzzReadClaim(f *testing.F) {
	kindtest.Seed(f)
	f.Fuzz(func(t *testing.T, seed []byte) {
		r := kindtest.Reply(&seed)
		for _, names := range []int{1, 2, 5} {
			checkClaim(t, kind.ReadClaim(r, names), names)
		}
		if v := kind.ReadRaise(r, 7); !v.Verdict.Answered() {
			kindtest.CheckMalformed(t, v)
		} else {
			require.True(t, v.Verdict == wire.Denied || v.Number == 7)
		}
	})
}
