package quorum_test

import (
	"fmt"
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

// overlapping are operations of a lease that may overlap others.
type overlapping struct{ ops }

func (overlapping) Overlaps() bool { return true }

// The votes on a fenced acquire over three masters, in order. Only the last one decides. Masters that count differently
// are asked to take the largest token: it is written back.
func TestWhichTokenAFencedAcquireGets(t *testing.T) {
	t.Parallel()
	type turn struct {
		master int
		op     string
		vote   *wire.Vote
	}
	counts := func(master int, n int64) turn { return turn{master, "acquire", numbered(granted(), n)} }
	owned := func(master int, n int64) turn {
		grant := counts(master, n)
		grant.vote.Owned = true
		return grant
	}
	takes := func(master int, n int64) turn { return turn{master, "raise", numbered(granted(), n)} }
	hasMore := func(master int, n int64) turn { return turn{master, "raise", numbered(denied(), n)} }
	gone := func(master int) turn { return turn{master, "raise", denied()} } // the lease's token is
	silent := func(master int) turn { return turn{master, "raise", unknown()} }
	for name, tt := range map[string]struct {
		ops    quorum.Ops
		votes  []turn
		late   time.Duration // after the first two votes
		token  int64         // 0: no majority has it
		raised [3]int        // how often each master is asked to take a token
	}{
		"a majority counts it": {votes: []turn{counts(0, 7), counts(1, 7)}, token: 7},
		"a master takes it":    {votes: []turn{counts(0, 5), counts(1, 7), takes(0, 7)}, token: 7, raised: [3]int{1, 0, 1}},
		"it is taken too late": {
			votes: []turn{counts(0, 5), counts(1, 7), takes(0, 7)}, late: terms.TTL, raised: [3]int{1, 0, 1},
		},
		"no majority takes it": {votes: []turn{counts(0, 5), counts(1, 7), gone(0), gone(2)}, raised: [3]int{1, 0, 1}},
		"another reader's, later": {
			votes: []turn{counts(0, 5), counts(1, 7), hasMore(0, 9), hasMore(2, 9)}, late: terms.TTL, raised: [3]int{1, 0, 1},
		},
		// Two concurrent readers write back what each saw. The one that finds a larger count shares it.
		"another reader's": {
			votes:  []turn{counts(0, 5), counts(1, 7), hasMore(0, 9), hasMore(2, 9), takes(0, 9), takes(1, 9)},
			token:  9,
			raised: [3]int{2, 1, 2},
		},
		// The owner's other holds have 7. The round continues until a majority has returned it.
		"the owner's":               {votes: []turn{counts(0, 5), owned(1, 7), owned(2, 7)}, token: 7},
		"the owner's, one has more": {votes: []turn{counts(0, 9), owned(1, 7), owned(2, 7)}, token: 7},
		// A node whose grant is not known may have granted the lease with more, and would take the token nevertheless.
		"overlapping: a known grant takes it": {
			ops: overlapping{}, votes: []turn{counts(0, 5), counts(1, 7), counts(2, 9), takes(0, 7)}, token: 7,
			raised: [3]int{1, 0, 0},
		},
		// A node whose grant arrives during the write-back may take the place of one that does not answer it.
		"overlapping: raised again after more grants": {
			ops: overlapping{}, votes: []turn{counts(0, 5), counts(1, 7), counts(2, 9), silent(0), takes(1, 9)}, token: 9,
			raised: [3]int{2, 1, 0},
		},
		"overlapping: no majority takes it": {
			ops: overlapping{}, votes: []turn{counts(0, 5), counts(1, 7), silent(0)}, raised: [3]int{1, 0, 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				traced := 0
				q, fakes := council(t, 3, func(c *quorum.Config) {
					c.OnVote = func(string, *wire.Op, wire.Vote) { traced++ }
				})
				fencing := fencing()
				out := asking{ops: tt.ops, terms: &fencing, first: quorum.NoFirst}.acquire(t, q)
				require.True(t, fakes[0].asked("acquire")[0].RequireTrusted)
				for i, v := range tt.votes {
					pending(t, out, fmt.Sprintf("before vote %d", i))
					if i == 2 {
						time.Sleep(tt.late)
					}
					fakes[v.master].vote(t, v.op, v.vote)
				}
				got := decided(t, out)
				assert.Equal(t, len(tt.votes), traced, "a master that is not asked gives no vote")
				for i, f := range fakes {
					assert.Len(t, f.asked("raise"), tt.raised[i], f.name)
				}
				if tt.token == 0 {
					require.ErrorIs(t, got.err, quorum.ErrNoQuorum)
					assert.Len(t, fakes[0].asked("release"), 1)
					return
				}
				require.NoError(t, got.err)
				assert.Equal(t, tt.token, got.lease.Fence())
			})
		})
	}
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
