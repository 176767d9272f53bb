package redlock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/kind/kindtest"
	"github.com/redlock-go/redlock/internal/wire"
)

func list(fields ...any) []any { return fields }

// checkMalformed: a malformed reply is a vote that is released, and its error says what came, at no great length.
func checkMalformed(t *testing.T, v wire.Vote) {
	t.Helper()
	require.Equal(t, wire.Unknown, v.Verdict)
	require.ErrorContains(t, v.Err, "the reply ")
	require.Less(t, len(v.Err.Error()), 1200) // a hundred runes, each escaped at worst
	require.Nil(t, v.Data)
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
