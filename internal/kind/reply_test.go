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
	"github.com/redlock-go/redlock/node"
)

const mostExact = 1<<53 - 1 // the largest number that a script can compute

func list(fields ...any) []any { return fields }

func TestRepliesOfAcquireAndProbe(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		reply any
		want  node.Verdict
	}{
		{int64(1), node.Granted},
		{int64(mostExact), node.Granted},
		{list(int64(1), int64(7)), node.Granted},
		{list(int64(0), "mutex", int64(-1)), node.Denied},
		{list(int64(0), "reader", int64(0), int64(2)), node.Denied},
		{list(int64(0), "ReJSON-RL", int64(5), int64(1), "token"), node.Denied},
		{list(int64(0), "reader", int64(5), int64(1), "token", int64(1)), node.Denied},
		{list(int64(0), "mutex", int64(math.MaxInt64)), node.Denied},

		{nil, node.Unknown},
		{"OK", node.Unknown},
		{int64(0), node.Unknown},
		{int64(-1), node.Unknown},
		{int64(-100), node.Unknown},
		{int64(mostExact + 1), node.Unknown},
		{int64(math.MinInt64), node.Unknown},
		{list(), node.Unknown},
		{list(int64(1)), node.Unknown},
		{list(int64(1), int64(0)), node.Unknown},
		{list(int64(1), int64(mostExact+1)), node.Unknown},
		{list(int64(1), "7"), node.Unknown},
		{list(int64(1), int64(7), int64(7)), node.Unknown},
		{list("0", "mutex", int64(1)), node.Unknown},
		{list(nil, "mutex", int64(1)), node.Unknown},
		{list(int64(2), "mutex", int64(1)), node.Unknown},
		{list(int64(0), "mutex"), node.Unknown},
		{list(int64(0), int64(1), int64(1)), node.Unknown},
		{list(int64(0), "", int64(1)), node.Unknown},
		{list(int64(0), "a b", int64(1)), node.Unknown},
		{list(int64(0), "a\n", int64(1)), node.Unknown},
		{list(int64(0), strings.Repeat("a", 65), int64(1)), node.Unknown},
		{list(int64(0), "mutex", "1"), node.Unknown},
		{list(int64(0), "mutex", int64(-2)), node.Unknown},
		{list(int64(0), "mutex", int64(1), int64(0)), node.Unknown},
		{list(int64(0), "mutex", int64(1), int64(3)), node.Unknown},
		{list(int64(0), "mutex", int64(1), "1"), node.Unknown},
		{list(int64(0), "mutex", int64(1), int64(math.MaxInt64)), node.Unknown},
		{list(int64(0), "mutex", int64(1), int64(1), nil), node.Unknown},
		{list(int64(0), "mutex", int64(1), int64(1), "token", "1"), node.Unknown},
		{list(int64(0), "mutex", int64(1), int64(1), "token", int64(2)), node.Unknown},
		{list(int64(0), "mutex", int64(1), int64(1), "token", int64(1), int64(1)), node.Unknown},
		{list(list(), list(), list()), node.Unknown},
		{strings.Repeat("x", 1<<20), node.Unknown},
	} {
		v := kind.ReadClaim(tt.reply, 2)
		assert.Equal(t, tt.want, v.Verdict, "%.100v", tt.reply)
		checkClaim(t, v, 2)
	}
}

// checkClaim checks what callers rely on.
func checkClaim(t *testing.T, v node.Vote, names int) {
	t.Helper()
	b, ok := kind.BlockerOf(v)
	switch v.Verdict {
	case node.Granted:
		require.Positive(t, v.Number)
		require.LessOrEqual(t, v.Number, int64(mostExact))
		require.NoError(t, v.Err)
	case node.Denied:
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
func checkMalformed(t *testing.T, v node.Vote) {
	t.Helper()
	require.Equal(t, node.Unknown, v.Verdict)
	require.ErrorContains(t, v.Err, "the reply ")
	require.Less(t, len(v.Err.Error()), 1200) // at most a hundred runes, all escaped
	require.Nil(t, v.Data)
}

func TestRepliesOfRaise(t *testing.T) {
	t.Parallel()
	for reply, want := range map[any]node.Verdict{
		int64(7): node.Granted, int64(8): node.Denied, int64(0): node.Denied, int64(mostExact): node.Denied,
		int64(mostExact + 1): node.Unknown, nil: node.Unknown, "7": node.Unknown,
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
			require.True(t, v.Verdict == node.Denied || v.Number == 7)
		}
	})
}
