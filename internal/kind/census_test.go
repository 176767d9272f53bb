package kind_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/quorum"
)

const noTTL = -time.Millisecond

// reports returns an answer with holders.
func reports(kindName string, holders ...kind.Holder) quorum.Answer {
	return counts(0, kindName, holders...)
}

// counts returns an answer with a fence, too.
func counts(fence int64, kindName string, holders ...kind.Holder) quorum.Answer {
	state := kind.NodeState{Kind: kindName, Fence: fence, Holders: holders}
	return quorum.Answer{Voted: true, Vote: wire.Vote{Verdict: wire.Denied, Data: state}}
}

func free() quorum.Answer {
	return quorum.Answer{Voted: true, Vote: wire.Vote{Verdict: wire.Granted, Data: kind.NodeState{}}}
}

func failed() quorum.Answer {
	return quorum.Answer{Voted: true, Vote: wire.Vote{Verdict: wire.Failed, Err: errors.New("down")}}
}

func holds(token string, ttl time.Duration) kind.Holder { return kind.Holder{Token: token, TTL: ttl} }

func TestStandingHasTheTokensOfAMajority(t *testing.T) {
	t.Parallel()
	a, b := reports("mutex", holds("a", 5)), reports("mutex", holds("b", 5))
	reader := func(holders ...kind.Holder) quorum.Answer { return reports("reader", holders...) }
	for name, tt := range map[string]struct {
		answers []quorum.Answer
		want    []kind.MajorityHolder
	}{
		"free":       {[]quorum.Answer{free(), free(), free()}, nil},
		"failed":     {[]quorum.Answer{failed(), failed(), failed()}, nil},
		"a minority": {[]quorum.Answer{a, free(), failed()}, nil},
		"split":      {[]quorum.Answer{a, b, free()}, nil},
		"readers, sorted": {
			[]quorum.Answer{reader(holds("b", 5), holds("a", 4)), reader(holds("a", 6), holds("b", 3)), free()},
			[]kind.MajorityHolder{
				{Token: "a", Kind: "reader", Votes: 2, TTL: 4}, {Token: "b", Kind: "reader", Votes: 2, TTL: 3},
			},
		},
		"two readers, one of a minority": {
			[]quorum.Answer{reader(holds("a", 5)), reader(holds("a", 5), holds("b", 5)), reader(holds("a", 5))},
			[]kind.MajorityHolder{{Token: "a", Kind: "reader", Votes: 3, TTL: 5}},
		},
		"a minority of another kind": {
			[]quorum.Answer{reader(holds("b", 5)), a, a}, []kind.MajorityHolder{{Token: "a", Kind: "mutex", Votes: 2, TTL: 5}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, kind.NewCensus(tt.answers).MajorityHolders(2))
		})
	}
}

// A key without a TTL exists longest. One with a TTL of 0 has just expired.
func TestTheTTLOfAMajority(t *testing.T) {
	t.Parallel()
	for want, all := range map[time.Duration][][]time.Duration{
		7: {{5, 9, 7}}, 9: {{noTTL, 9}}, noTTL: {{noTTL, noTTL}}, 0: {{9, 0}, {0, 9}},
	} {
		for _, ttls := range all {
			var answers []quorum.Answer
			for _, ttl := range ttls {
				answers = append(answers, reports("mutex", holds("a", ttl)))
			}
			holder := kind.MajorityHolder{Token: "a", Kind: "mutex", Votes: len(ttls), TTL: want}
			assert.Equal(t, []kind.MajorityHolder{holder}, kind.NewCensus(answers).MajorityHolders(2), "%v", ttls)
		}
	}
}

// The masters that report holders which they do not list must agree on the kind.
func TestOthersAreOfTheKindOfAMajority(t *testing.T) {
	t.Parallel()
	many := reports("reader")
	many.Vote.Data = kind.NodeState{Kind: "reader", Holders: make([]kind.Holder, 1024), Others: 76}
	one, few := reports("mutex", holds("a", 5)), reports("reader", holds("b", 5))
	for name, tt := range map[string]struct {
		answers []quorum.Answer
		kind    string
		others  int
	}{
		"a mutex on one":    {[]quorum.Answer{many, one, failed()}, "", 0},
		"a mutex on two":    {[]quorum.Answer{many, one, one}, "", 0},
		"a reader on two":   {[]quorum.Answer{many, one, few}, "reader", 1},
		"many on two":       {[]quorum.Answer{many, one, many}, "reader", 1100},
		"everything listed": {[]quorum.Answer{few, one, few}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, _, n := kind.NewCensus(tt.answers).Others(2, 0)
			assert.Equal(t, tt.kind, k)
			assert.Equal(t, tt.others, n)
		})
	}
}

func TestFenceNeedsAMajority(t *testing.T) {
	t.Parallel()
	for want, fences := range map[int64][3]int64{7: {7, 7, 9}, 9: {9, 7, 9}, 0: {7, 8, 9}} {
		var answers []quorum.Answer
		for _, f := range fences {
			answers = append(answers, counts(f, "mutex", holds("a", 5)))
		}
		assert.Equal(t, want, kind.NewCensus(answers).Fence(2))
	}
}

func TestTheHoldsOfANestedOwnerMayBeOnDifferentMasters(t *testing.T) {
	t.Parallel()
	one, two, three := kind.NewToken("me"), kind.NewToken("me"), kind.NewToken("me")
	census := kind.NewCensus([]quorum.Answer{
		reports("reentrant", holds(one, 5), holds(two, 5)), reports("reentrant", holds(two, 5), holds(three, 5)),
		reports("mutex", holds(kind.NewToken("me"), 5)),
	})
	owner, ok := census.NestedOwner(2)
	assert.True(t, ok)
	assert.Equal(t, "me", owner)
	assert.Equal(t, 3, census.Depth("me"), "a mutex is no hold of the owner")
	assert.Zero(t, census.Depth("you"))
	_, ok = census.NestedOwner(3)
	assert.False(t, ok)

	kept := holds(kind.KeptToken(two), 5)
	census = kind.NewCensus([]quorum.Answer{reports("reentrant", holds(one, 5)), reports("reentrant", kept)})
	assert.Equal(t, 1, census.Depth("me"), "a hold that has ended is none")
	_, ok = census.NestedOwner(2)
	assert.True(t, ok, "but its owner still has the name")

	many := reports("reentrant")
	many.Vote.Data = kind.NodeState{Kind: "reentrant", Holders: []kind.Holder{holds(one, 5)}, Others: 6}
	assert.Equal(t, 7, kind.NewCensus([]quorum.Answer{many}).Depth("me"), "with those that are not listed")
	assert.Zero(t, kind.NewCensus([]quorum.Answer{many}).Depth("you"))
}

func TestTheLongestHolder(t *testing.T) {
	t.Parallel()
	for want, ttls := range map[time.Duration][]time.Duration{0: {0, 0}, 7: {0, 7, 5}, noTTL: {5, noTTL, 7}} {
		var s kind.NodeState
		for _, ttl := range ttls {
			s.Holders = append(s.Holders, kind.Holder{TTL: ttl})
		}
		assert.Equal(t, want, s.Longest().TTL, "%v", ttls)
	}
	ending := kind.Holder{Token: "me"}
	assert.Equal(t, ending, kind.NodeState{Holders: []kind.Holder{ending}}.Longest())
}
