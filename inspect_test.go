package redlock_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/kind/kindtest"
	"github.com/redlock-go/redlock/node"
)

const mostExact = 1<<53 - 1 // the largest number that a script can compute

func list(fields ...any) []any { return fields }

// checkMalformed: a malformed reply is a vote that is released, and its error says what came, at no great length.
func checkMalformed(t *testing.T, v node.Vote) {
	t.Helper()
	require.Equal(t, node.Unknown, v.Verdict)
	require.ErrorContains(t, v.Err, "the reply ")
	require.Less(t, len(v.Err.Error()), 1200) // a hundred runes, each escaped at worst
	require.Nil(t, v.Data)
}

func TestRepliesOfInspect(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		reply any
		want  node.Verdict
	}{
		{list(), node.Granted},
		{list("mutex", int64(0), int64(0), "token", int64(-1)), node.Denied},
		{list("reader", int64(mostExact), int64(0), "a", int64(1), "b", int64(0)), node.Denied},
		{list("hash", int64(0), int64(0), "", int64(math.MaxInt64)), node.Denied},

		{nil, node.Unknown},
		{int64(1), node.Unknown},
		{"", node.Unknown},
		{list("mutex"), node.Unknown},
		{list("reentrant", int64(1)), node.Unknown},
		{list("mutex", int64(1), int64(0), "token"), node.Unknown},
		{list(nil, int64(1), int64(0), "token", int64(1)), node.Unknown},
		{list("", int64(1), int64(0), "token", int64(1)), node.Unknown},
		{list("mutex", "1", int64(0), "token", int64(1)), node.Unknown},
		{list("mutex", int64(-1), int64(0), "token", int64(1)), node.Unknown},
		{list("mutex", int64(mostExact+1), int64(0), "token", int64(1)), node.Unknown},
		{list("mutex", int64(1), int64(0), nil, int64(1)), node.Unknown},
		{list("mutex", int64(1), int64(0), "token", nil), node.Unknown},
		{list("mutex", int64(1), int64(0), "token", int64(-2)), node.Unknown},
		{list("reader", int64(1), int64(0), "a", int64(1), "b"), node.Unknown},
		{list("reader", int64(1), int64(0), "a", int64(1), "a", int64(1)), node.Unknown},
		{list("reader", int64(1), int64(0), "a", int64(1), int64(1), "b"), node.Unknown},
	} {
		v := kind.ReadState(tt.reply)
		assert.Equal(t, tt.want, v.Verdict, "%v", tt.reply)
		checkState(t, v)
	}
}

func checkState(t *testing.T, v node.Vote) {
	t.Helper()
	if !v.Verdict.Answered() {
		checkMalformed(t, v)
	}
	free, held := kind.ReadState(list()), kind.ReadState(list("mutex", int64(1), int64(0), "other", int64(1)))
	for _, votes := range [][]node.Vote{{v}, {v, v, v}, {v, free, held}, {held, v, held}, {free, held, v, v, free}} {
		h := redlock.Gather(votes, len(votes)/2+1)
		for _, one := range h.Holders {
			require.LessOrEqual(t, one.Votes, len(votes), "a master has one vote")
		}
		require.Less(t, h.Fence, uint64(1)<<53)
	}
}

func FuzzReadState(f *testing.F) {
	kindtest.Seed(f)
	f.Fuzz(func(t *testing.T, seed []byte) { checkState(t, kind.ReadState(kindtest.Reply(&seed))) })
}
