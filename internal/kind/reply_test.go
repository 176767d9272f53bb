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

func list(fields ...any) []any { return fields }

func TestRepliesOfAcquireAndProbe(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		reply any
		want  wire.Verdict
	}{
		{int64(1), wire.Granted},
		{int64(mostExact), wire.Granted},
		{list(int64(1), int64(7)), wire.Granted},
		{list(int64(0), "mutex", int64(-1)), wire.Denied},
		{list(int64(0), "reader", int64(0), int64(2)), wire.Denied},
		{list(int64(0), "ReJSON-RL", int64(5), int64(1), "token"), wire.Denied},
		{list(int64(0), "reader", int64(5), int64(1), "token", int64(1)), wire.Denied},
		{list(int64(0), "mutex", int64(math.MaxInt64)), wire.Denied},
		{list(int64(1), int64(1)), wire.Granted},
		{list(int64(0), strings.Repeat("~", 64), int64(1)), wire.Denied},
		{list(int64(0), "semaphore", int64(1), int64(1), "1:1:token"), wire.Denied},
		{list(int64(0), "semaphore", int64(1), int64(1), "1024:1024:"), wire.Denied},

		{nil, wire.Unknown},
		{"OK", wire.Unknown},
		{int64(0), wire.Unknown},
		{int64(-1), wire.Unknown},
		{int64(-100), wire.Unknown},
		{int64(mostExact + 1), wire.Unknown},
		{int64(math.MinInt64), wire.Unknown},
		{list(), wire.Unknown},
		{list(int64(1)), wire.Unknown},
		{list(int64(1), int64(0)), wire.Unknown},
		{list(int64(1), int64(mostExact+1)), wire.Unknown},
		{list(int64(1), "7"), wire.Unknown},
		{list(int64(1), int64(7), int64(7)), wire.Unknown},
		{list("0", "mutex", int64(1)), wire.Unknown},
		{list(nil, "mutex", int64(1)), wire.Unknown},
		{list(int64(2), "mutex", int64(1)), wire.Unknown},
		{list(int64(0), "mutex"), wire.Unknown},
		{list(int64(0), int64(1), int64(1)), wire.Unknown},
		{list(int64(0), "", int64(1)), wire.Unknown},
		{list(int64(0), "a b", int64(1)), wire.Unknown},
		{list(int64(0), "a\n", int64(1)), wire.Unknown},
		{list(int64(0), strings.Repeat("a", 65), int64(1)), wire.Unknown},
		{list(int64(0), "mutex", "1"), wire.Unknown},
		{list(int64(0), "mutex", int64(-2)), wire.Unknown},
		{list(int64(0), "mutex", int64(1), int64(0)), wire.Unknown},
		{list(int64(0), "mutex", int64(1), int64(3)), wire.Unknown},
		{list(int64(0), "mutex", int64(1), "1"), wire.Unknown},
		{list(int64(0), "mutex", int64(1), int64(math.MaxInt64)), wire.Unknown},
		{list(int64(0), "mutex", int64(1), int64(1), nil), wire.Unknown},
		{list(int64(0), "mutex", int64(1), int64(1), "token", "1"), wire.Unknown},
		{list(int64(0), "mutex", int64(1), int64(1), "token", int64(2)), wire.Unknown},
		{list(int64(0), "mutex", int64(1), int64(1), "token", int64(1), int64(1)), wire.Unknown},
		{list(list(), list(), list()), wire.Unknown},
		{list(int64(2), int64(7)), wire.Unknown},
		{list(int64(0), "a\x7f", int64(1)), wire.Unknown},
		{list(int64(0), "semaphore", int64(1), int64(1), "token"), wire.Unknown},
		{list(int64(0), "semaphore", int64(1), int64(1), "2:1"), wire.Unknown},
		{list(int64(0), "semaphore", int64(1), int64(1), ":1:token"), wire.Unknown},
		{list(int64(0), "semaphore", int64(1), int64(1), "2::token"), wire.Unknown},
		{list(int64(0), "semaphore", int64(1), int64(1), "0:0:token"), wire.Unknown},
		{list(int64(0), "semaphore", int64(1), int64(1), "2:0:token"), wire.Unknown},
		{list(int64(0), "semaphore", int64(1), int64(1), "2:3:token"), wire.Unknown},
		{list(int64(0), "semaphore", int64(1), int64(1), "1025:1:token"), wire.Unknown},
		{strings.Repeat("x", 1<<20), wire.Unknown},
	} {
		v := kind.ReadClaim(tt.reply, 2)
		assert.Equal(t, tt.want, v.Verdict, "%.100v", tt.reply)
		checkClaim(t, v, 2)
	}
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
		require.GreaterOrEqual(t, b.Name, 0)
		require.Less(t, b.Name, names)
		require.GreaterOrEqual(t, b.TTL, -time.Millisecond)
		require.GreaterOrEqual(t, v.Wait, time.Duration(0))
	default:
		checkMalformed(t, v)
	}
}

// checkMalformed checks that the vote of a malformed reply is Unknown, and that its error quotes the reply, shortened.
func checkMalformed(t *testing.T, v wire.Vote) {
	t.Helper()
	require.Equal(t, wire.Unknown, v.Verdict)
	require.ErrorContains(t, v.Err, "the reply ")
	require.Less(t, len(v.Err.Error()), 1200) // at most a hundred runes, all escaped
	require.Nil(t, v.Data)
}

func TestWhatADenialReports(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		reply []any
		want  kind.Blocker
		wait  time.Duration
	}{
		{list(int64(0), "mutex", int64(-1)), kind.Blocker{Kind: "mutex", TTL: -time.Millisecond}, 0},
		{
			list(int64(0), "reader", int64(5), int64(2), "token", int64(1)),
			kind.Blocker{Kind: "reader", TTL: 5 * time.Millisecond, Name: 1, Token: "token", Intent: true},
			5 * time.Millisecond,
		},
		{
			list(int64(0), "semaphore", int64(0), int64(1), "3:2:a:b"),
			kind.Blocker{Kind: "semaphore", Slots: 3, Token: "a:b"},
			0,
		},
		{
			list(int64(0), "mutex", int64(math.MaxInt64)),
			kind.Blocker{Kind: "mutex", TTL: math.MaxInt64 / time.Millisecond * time.Millisecond},
			math.MaxInt64 / time.Millisecond * time.Millisecond,
		},
	} {
		v := kind.ReadClaim(tt.reply, 2)
		assert.Equal(t, tt.want, v.Data, "%v", tt.reply)
		assert.Equal(t, tt.wait, v.Wait, "%v", tt.reply)
	}
	v := kind.ReadClaim(list(int64(0), "mutex", int64(5), int64(2)), 1)
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
		{list(int64(1), "01"), wire.Granted, kind.Blocker{Kind: semaphore, Taken: "01"}},
		{list(int64(0), "mutex", int64(5)), wire.Denied, kind.Blocker{Kind: "mutex", TTL: 5 * ms}},
		{list(int64(0), semaphore, int64(5), int64(1)), wire.Denied, kind.Blocker{Kind: semaphore, TTL: 5 * ms, Slots: 1}},
		{
			list(int64(0), semaphore, int64(5), int64(1024)), wire.Denied,
			kind.Blocker{Kind: semaphore, TTL: 5 * ms, Slots: 1024},
		},
		{
			list(int64(0), semaphore, int64(5), int64(2), "11"), wire.Denied,
			kind.Blocker{Kind: semaphore, TTL: 5 * ms, Slots: 2, Taken: "11"},
		},

		{nil, wire.Unknown, nil},
		{int64(0), wire.Unknown, nil},
		{list(), wire.Unknown, nil},
		{list(int64(1)), wire.Unknown, nil},
		{list(int64(1), int64(7)), wire.Unknown, nil},
		{list(int64(1), "0"), wire.Unknown, nil},
		{list(int64(1), "012"), wire.Unknown, nil},
		{list(int64(1), "02"), wire.Unknown, nil},
		{list(int64(1), "01", "01"), wire.Unknown, nil},
		{list(int64(2), "01"), wire.Unknown, nil},
		{list(int64(0), "01"), wire.Unknown, nil},
		{list(int64(1), "mutex", int64(5)), wire.Unknown, nil},
		{list(int64(0), "mutex", "5"), wire.Unknown, nil},
		{list(int64(0), "", int64(5), int64(2)), wire.Unknown, nil},
		{list(int64(0), "", int64(5), int64(2), "11"), wire.Unknown, nil},
		{list(int64(0), semaphore, int64(5), int64(0)), wire.Unknown, nil},
		{list(int64(0), semaphore, int64(5), int64(1025)), wire.Unknown, nil},
		{list(int64(0), semaphore, int64(5), "2"), wire.Unknown, nil},
		{list(int64(0), semaphore, int64(5), int64(2), "1"), wire.Unknown, nil},
		{list(int64(0), semaphore, int64(5), int64(2), "1x"), wire.Unknown, nil},
		{list(int64(0), semaphore, int64(5), int64(2), int64(11)), wire.Unknown, nil},
		{list(int64(0), semaphore, int64(5), int64(3), "11"), wire.Unknown, nil},
		{list(int64(0), semaphore, int64(5), int64(2), "11", int64(1)), wire.Unknown, nil},
	} {
		v := kind.ReadPermit(tt.reply, 2)
		assert.Equal(t, tt.want, v.Verdict, "%v", tt.reply)
		if tt.want == wire.Unknown {
			checkMalformed(t, v)
			continue
		}
		assert.Equal(t, tt.data, v.Data, "%v", tt.reply)
		if b, ok := kind.BlockerOf(v); ok {
			assert.Equal(t, b.TTL, v.Wait)
		}
	}
}

func TestRepliesOfInspect(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		reply any
		want  wire.Verdict
	}{
		{list(), wire.Granted},
		{list("mutex", int64(0), int64(0), "a", int64(-1)), wire.Denied},
		{list("mutex", int64(mostExact), int64(0), "a", int64(5)), wire.Denied},
		{list("reader", int64(0), int64(0), "a", int64(5), "b", int64(5)), wire.Denied},
		{list("semaphore", int64(0), int64(0), "2:1:a", int64(5)), wire.Denied},

		{nil, wire.Unknown},
		{"OK", wire.Unknown},
		{list("mutex", int64(0)), wire.Unknown},
		{list("mutex", int64(0), int64(0), "a"), wire.Unknown},
		{list("mutex", int64(0), int64(0), "a", int64(5), "b"), wire.Unknown},
		{list("", int64(0), int64(0), "a", int64(5)), wire.Unknown},
		{list("mutex", "0", int64(0), "a", int64(5)), wire.Unknown},
		{list("mutex", int64(-1), int64(0), "a", int64(5)), wire.Unknown},
		{list("mutex", int64(mostExact+1), int64(0), "a", int64(5)), wire.Unknown},
		{list("mutex", int64(0), int64(0), int64(1), int64(5)), wire.Unknown},
		{list("mutex", int64(0), int64(0), "a", "5"), wire.Unknown},
		{list("mutex", int64(0), int64(0), "a", int64(-2)), wire.Unknown},
		{list("reader", int64(0), int64(0), "a", int64(5), "a", int64(5)), wire.Unknown},
		{list("reader", int64(0), int64(0), "a", int64(5), int64(5), "b"), wire.Unknown},
		{list("semaphore", int64(0), int64(0), "a", int64(5)), wire.Unknown},
	} {
		v := kind.ReadState(tt.reply)
		assert.Equal(t, tt.want, v.Verdict, "%v", tt.reply)
	}
	v := kind.ReadState(list("semaphore", int64(7), int64(0), "2:1:a", int64(5), "2:2:b", int64(6)))
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
			checkMalformed(t, v)
		} else {
			require.True(t, v.Verdict == wire.Denied || v.Number == 7)
		}
	})
}
