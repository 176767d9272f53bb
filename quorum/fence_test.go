package quorum_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/quorum"
)

// numbered is a vote that carries a fencing token.
func numbered(v *wire.Vote, number int64) *wire.Vote {
	v.Number = number
	return v
}

// fencing are terms with a fencing token.
func fencing() quorum.Terms {
	with := terms
	with.Fencing = true
	return with
}

// acquireFenced is like acquire, with a fencing token.
func acquireFenced(t *testing.T, ctx context.Context, q *quorum.Quorum, terms quorum.Terms) <-chan outcome {
	t.Helper()
	return acquireWith(t, ctx, q, ops{}, terms)
}

// overlapping are operations of a lease that may overlap others.
type overlapping struct{ ops }

func (overlapping) Overlaps() bool { return true }

func acquireWith(
	t *testing.T, ctx context.Context, q *quorum.Quorum, ops quorum.Ops, terms quorum.Terms,
) <-chan outcome {
	t.Helper()
	out := make(chan outcome, 1)
	go func() {
		lease, err := q.Acquire(ctx, ops, &terms, quorum.NoFirst, new(quorum.PermanentFailures))
		out <- outcome{lease, err}
	}()
	synctest.Wait()
	return out
}

// fencedOverThree acquires a fenced lease over three masters, of which A counts 5 and B 7, and C has not answered: 7 is
// written back to A and C.
func fencedOverThree(t *testing.T) (<-chan outcome, []*fake) {
	t.Helper()
	return fencedWith(t, t.Context())
}

func fencedWith(t *testing.T, ctx context.Context, change ...func(*quorum.Config)) (<-chan outcome, []*fake) {
	t.Helper()
	q, fakes := council(t, 3, change...)
	out := acquireFenced(t, ctx, q, fencing())
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

// overlappingOverThree acquires a fenced lease that may overlap others. A counts 5 and B 7, and C has not answered: 7
// is written back to A.
func overlappingOverThree(t *testing.T) (<-chan outcome, []*fake) {
	t.Helper()
	q, fakes := council(t, 3)
	out := acquireWith(t, t.Context(), q, overlapping{}, fencing())
	fakes[0].vote(t, "acquire", numbered(granted(), 5))
	fakes[1].vote(t, "acquire", numbered(granted(), 7))
	return out, fakes
}

// A node whose grant is not known may have granted the lease with more than the token, and would take it nevertheless.
func TestATokenOfOverlappingLeasesIsRaisedWhereTheGrantIsKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out, fakes := overlappingOverThree(t)
		pending(t, out, "no majority agrees on a token")
		require.Len(t, fakes[0].asked("raise"), 1)
		require.Empty(t, fakes[1].asked("raise"), "it granted the token")
		require.Empty(t, fakes[2].asked("raise"), "it has not answered")
		fakes[2].vote(t, "acquire", numbered(granted(), 9))
		pending(t, out, "the token is 7")
		fakes[0].vote(t, "raise", numbered(granted(), 7))
		got := decided(t, out)
		require.NoError(t, got.err)
		assert.EqualValues(t, 7, got.lease.Fence())
	})
}

// A node whose grant arrives during the write-back may take the place of one that does not answer it.
func TestATokenOfOverlappingLeasesIsRaisedAgainAfterMoreGrants(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out, fakes := overlappingOverThree(t)
		pending(t, out, "the token is to be raised")
		fakes[2].vote(t, "acquire", numbered(granted(), 9))
		fakes[0].vote(t, "raise", unknown())
		pending(t, out, "the token is 9 now")
		require.Len(t, fakes[1].asked("raise"), 1)
		require.Empty(t, fakes[2].asked("raise"), "it granted the token")
		fakes[1].vote(t, "raise", numbered(granted(), 9))
		got := decided(t, out)
		require.NoError(t, got.err)
		assert.EqualValues(t, 9, got.lease.Fence())
	})
}

func TestATokenOfOverlappingLeasesThatNoMajorityTakesEndsTheAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out, fakes := overlappingOverThree(t)
		pending(t, out, "the token is to be raised")
		fakes[0].vote(t, "raise", unknown())
		require.ErrorIs(t, decided(t, out).err, quorum.ErrNoQuorum)
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

func TestATokenOfAMajorityIsNotWrittenBack(t *testing.T) {
	inCouncil(t, 3, func(t *testing.T, q *quorum.Quorum, fakes []*fake) {
		out := acquireFenced(t, t.Context(), q, fencing())
		require.True(t, fakes[0].asked("acquire")[0].RequireTrusted)
		fakes[0].vote(t, "acquire", numbered(granted(), 7))
		fakes[1].vote(t, "acquire", numbered(granted(), 7))
		got := decided(t, out)
		require.NoError(t, got.err)
		assert.EqualValues(t, 7, got.lease.Fence())
		for _, f := range fakes {
			assert.Empty(t, f.asked("raise"))
		}
	})
}

func TestATokenThatIsWrittenBackCountsWhereItWasGranted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var traced []string
		out, fakes := fencedWith(t, t.Context(), func(c *quorum.Config) {
			c.OnVote = func(master string, op *wire.Op, _ wire.Vote) { traced = append(traced, master+" "+op.Name) }
		})
		assert.Equal(t, []string{"A acquire", "B acquire"}, traced, "B gives no vote: it is not asked")
		fakes[0].vote(t, "raise", numbered(granted(), 7))
		got := decided(t, out)
		require.NoError(t, got.err)
		assert.EqualValues(t, 7, got.lease.Fence())
	})
}

func TestATokenThatIsWrittenBackTooLateDoesNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out, fakes := fencedOverThree(t)
		time.Sleep(terms.TTL)
		fakes[0].vote(t, "raise", numbered(granted(), 7))
		require.ErrorIs(t, decided(t, out).err, quorum.ErrNoQuorum)
	})
}

func TestTheWriteBackEndsWithItsContextAndTheQuorum(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		out, _ := fencedWith(t, ctx)
		cancel()
		require.ErrorIs(t, decided(t, out).err, context.Canceled)

		closing := make(chan struct{})
		out, _ = fencedWith(t, t.Context(), func(c *quorum.Config) { c.Closing = closing })
		close(closing)
		require.ErrorIs(t, decided(t, out).err, quorum.ErrClosing)
	})
}

// A round with fencing waits for more votes only if they could prevent a new token for an owner that has one.
func TestWhenARoundWithFencingIsDecided(t *testing.T) {
	t.Parallel()
	owned := func(number int64) *wire.Vote {
		v := numbered(granted(), number)
		v.Owned = true
		return v
	}
	for _, tt := range []struct {
		name    string
		votes   []*wire.Vote // of five nodes
		decided bool
		token   int64 // of a majority; 0: none
	}{
		{"nothing yet", nil, false, 0},
		{"two of five", []*wire.Vote{numbered(granted(), 7), numbered(granted(), 7)}, false, 0},
		{"a majority of one number", []*wire.Vote{owned(7), owned(7), owned(7)}, true, 7},
		{"a majority of several numbers", []*wire.Vote{
			numbered(granted(), 5), numbered(granted(), 6), numbered(granted(), 7),
		}, true, 0},
		{"one is the owner's", []*wire.Vote{numbered(granted(), 5), owned(7), numbered(granted(), 6)}, false, 0},
		{"one is the owner's, and so is a fourth", []*wire.Vote{
			numbered(granted(), 5), owned(7), numbered(granted(), 6), owned(7),
		}, false, 0},
		{"one is the owner's, and all have voted", []*wire.Vote{
			numbered(granted(), 5), owned(7), numbered(granted(), 6), owned(7), denied(),
		}, true, 0},
		{"a majority in the end", []*wire.Vote{
			numbered(granted(), 5), owned(7), numbered(granted(), 6), owned(7), owned(7),
		}, true, 7},
		{"a denial with the number does not count", []*wire.Vote{
			numbered(denied(), 7), numbered(granted(), 7), numbered(granted(), 7), numbered(granted(), 6), owned(5),
		}, true, 0},
		{"lost", []*wire.Vote{denied(), denied(), denied()}, true, 0},
		{"too few are left to answer", []*wire.Vote{denied(), failed(), failed(), failed()}, true, 0},
		{"lost, and the reason is open", []*wire.Vote{denied(), denied(), failed()}, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tally := quorum.NewTally(5, 3)
			for i, v := range tt.votes {
				tally.Add(i, *v)
			}
			token, ok := tally.MajorityFence()
			assert.Equal(t, tt.token, token)
			assert.Equal(t, tt.token != 0, ok)
			assert.Equal(t, tt.decided, tally.FenceDecided())
		})
	}
}

// The owner's other holds have the token 7. The round continues until a majority has returned it.
func TestAnAcquireWaitsForTheTokenOfTheOwner(t *testing.T) {
	inCouncil(t, 3, func(t *testing.T, q *quorum.Quorum, fakes []*fake) {
		for _, f := range []*fake{fakes[0], fakes[1]} {
			f.answers(numbered(granted(), 7))
		}
		out := acquireFenced(t, t.Context(), q, fencing())
		require.NoError(t, decided(t, out).err)

		owned := numbered(granted(), 7)
		owned.Owned = true
		for _, other := range []int64{5, 9} {
			q, fakes = council(t, 3)
			out = acquireFenced(t, t.Context(), q, fencing())
			fakes[0].vote(t, "acquire", numbered(granted(), other))
			fakes[1].vote(t, "acquire", owned)
			pending(t, out, "C may know the owner's token")
			assert.Empty(t, fakes[0].asked("raise"))
			fakes[2].vote(t, "acquire", owned)
			got := decided(t, out)
			require.NoError(t, got.err)
			assert.EqualValues(t, 7, got.lease.Fence())
		}
	})
}
