package quorum_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

// numbered is a vote that carries a fencing token.
func numbered(v *node.Vote, number int64) *node.Vote {
	v.Number = number
	return v
}

// fencedOverThree acquires a fenced lease over three masters, of which A counts 5 and B 7, and C has not answered: 7 is
// written back to A and C.
func fencedOverThree(t *testing.T) (<-chan outcome, []*fake) {
	t.Helper()
	q, fakes := council(t, 3)
	fencing := terms
	fencing.Fencing = true
	out := make(chan outcome, 1)
	ctx := t.Context()
	go func() {
		lease, err := q.Acquire(ctx, ops{}, fencing, quorum.NoFirst, new(quorum.PermanentFailures))
		out <- outcome{lease, err}
	}()
	synctest.Wait()
	fakes[0].vote(t, "acquire", numbered(granted(), 5))
	fakes[1].vote(t, "acquire", numbered(granted(), 7))
	pending(t, out, "no majority agrees on a token")
	require.Empty(t, fakes[1].asked("raise"), "it granted the token")
	return out, fakes
}

// Two concurrent readers see different counts, and each writes back the count that it saw. The reader that finds a
// larger count shares it.
func TestATokenThatAnotherReaderRaisedIsShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out, fakes := fencedOverThree(t)
		fakes[0].vote(t, "raise", numbered(denied(), 9))
		pending(t, out, "7 may still get a majority")
		fakes[2].vote(t, "raise", numbered(denied(), 9))
		pending(t, out, "9 has none yet")
		require.Len(t, fakes[1].asked("raise"), 1, "B counted 7, which is not the token any more")
		fakes[0].vote(t, "raise", numbered(granted(), 9))
		pending(t, out, "one master is no majority")
		fakes[1].vote(t, "raise", numbered(granted(), 9))
		got := decided(t, out)
		require.NoError(t, got.err)
		assert.EqualValues(t, 9, got.lease.Fence())
	})
}

func TestATokenThatNoMajorityTakesEndsTheAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out, fakes := fencedOverThree(t)
		fakes[0].vote(t, "raise", denied()) // the lease's token is gone
		fakes[2].vote(t, "raise", denied())
		require.ErrorIs(t, decided(t, out).err, quorum.ErrNoQuorum)
		assert.Len(t, fakes[0].asked("raise"), 1)
		assert.Len(t, fakes[0].asked("release"), 1)
	})
}

func TestATokenIsNotRaisedBeyondTheValidity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out, fakes := fencedOverThree(t)
		time.Sleep(terms.TTL)
		fakes[0].vote(t, "raise", numbered(denied(), 9))
		fakes[2].vote(t, "raise", numbered(denied(), 9))
		require.ErrorIs(t, decided(t, out).err, quorum.ErrNoQuorum)
		assert.Len(t, fakes[0].asked("raise"), 1)
	})
}
