package redlock_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/kind/kindtest"
	"github.com/redlock-go/redlock/internal/wire"
)

const mostExact = 1<<53 - 1 // the largest number that a script can compute

func list(fields ...any) []any { return fields }

// checkMalformed: a malformed reply is a vote that is released, and its error says what came, at no great length.
func checkMalformed(t *testing.T, v wire.Vote) {
	t.Helper()
	require.Equal(t, wire.Unknown, v.Verdict)
	require.ErrorContains(t, v.Err, "the reply ")
	require.Less(t, len(v.Err.Error()), 1200) // a hundred runes, each escaped at worst
	require.Nil(t, v.Data)
}

func TestRepliesOfInspect(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		reply any
		want  wire.Verdict
	}{
		{list(), wire.Granted},
		{list("mutex", int64(0), int64(0), "token", int64(-1)), wire.Denied},
		{list("reader", int64(mostExact), int64(0), "a", int64(1), "b", int64(0)), wire.Denied},
		{list("hash", int64(0), int64(0), "", int64(math.MaxInt64)), wire.Denied},

		{nil, wire.Unknown},
		{int64(1), wire.Unknown},
		{"", wire.Unknown},
		{list("mutex"), wire.Unknown},
		{list("reentrant", int64(1)), wire.Unknown},
		{list("mutex", int64(1), int64(0), "token"), wire.Unknown},
		{list(nil, int64(1), int64(0), "token", int64(1)), wire.Unknown},
		{list("", int64(1), int64(0), "token", int64(1)), wire.Unknown},
		{list("mutex", "1", int64(0), "token", int64(1)), wire.Unknown},
		{list("mutex", int64(-1), int64(0), "token", int64(1)), wire.Unknown},
		{list("mutex", int64(mostExact+1), int64(0), "token", int64(1)), wire.Unknown},
		{list("mutex", int64(1), int64(0), nil, int64(1)), wire.Unknown},
		{list("mutex", int64(1), int64(0), "token", nil), wire.Unknown},
		{list("mutex", int64(1), int64(0), "token", int64(-2)), wire.Unknown},
		{list("reader", int64(1), int64(0), "a", int64(1), "b"), wire.Unknown},
		{list("reader", int64(1), int64(0), "a", int64(1), "a", int64(1)), wire.Unknown},
		{list("reader", int64(1), int64(0), "a", int64(1), int64(1), "b"), wire.Unknown},
	} {
		v := kind.ReadState(tt.reply)
		assert.Equal(t, tt.want, v.Verdict, "%v", tt.reply)
		checkState(t, v)
	}
}

func checkState(t *testing.T, v wire.Vote) {
	t.Helper()
	if !v.Verdict.Answered() {
		checkMalformed(t, v)
	}
	free, held := kind.ReadState(list()), kind.ReadState(list("mutex", int64(1), int64(0), "other", int64(1)))
	for _, votes := range [][]wire.Vote{{v}, {v, v, v}, {v, free, held}, {held, v, held}, {free, held, v, v, free}} {
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
