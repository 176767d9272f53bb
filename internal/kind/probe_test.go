package kind_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/quorum"
)

// blocked is the vote of a master where a lock blocks.
func blocked(b kind.Blocker) wire.Vote { return wire.Vote{Verdict: wire.Denied, Data: b} }

// granting is the vote of a master that grants, and reports its slots.
func granting(taken string) wire.Vote {
	return wire.Vote{Verdict: wire.Granted, Data: kind.Blocker{Kind: kind.Semaphore.Name, Taken: taken}}
}

func full(slots int, taken string) wire.Vote {
	return blocked(kind.Blocker{Kind: kind.Semaphore.Name, Slots: slots, Taken: taken})
}

func TestTheSlotsThatAMajorityMayGrant(t *testing.T) {
	t.Parallel()
	unknown := wire.Vote{Verdict: wire.Unknown, Data: kind.Blocker{Kind: kind.Semaphore.Name, Taken: "000"}}
	for _, tt := range []struct {
		name  string
		votes []wire.Vote // of five masters
		want  []int
	}{
		{"no master reported", nil, nil},
		{"votes that say nothing", []wire.Vote{{Verdict: wire.Granted}, {Verdict: wire.Failed}, unknown}, nil},
		{"all are free", []wire.Vote{granting("000"), granting("000"), granting("000")}, []int{1, 2, 3}},
		{"one is free everywhere", []wire.Vote{granting("101"), full(3, "101"), granting("001")}, []int{2}},
		{"the least taken", []wire.Vote{granting("110"), full(3, "011"), full(3, "101"), granting("010")}, []int{1, 3}},
		{"the last one", []wire.Vote{full(3, "110"), full(3, "110"), granting("000")}, []int{3}},
		{"all are taken on a majority", []wire.Vote{full(3, "111"), full(3, "111"), full(3, "111")}, nil},
		{"all are taken on as many as a majority can spare", []wire.Vote{full(3, "111"), full(3, "111")}, []int{1, 2, 3}},
		{"another number of slots", []wire.Vote{full(2, "00"), full(4, ""), granting("110")}, []int{3}},
		{"another kind", []wire.Vote{blocked(kind.Blocker{Kind: "mutex"}), granting("011")}, []int{1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := kind.NewOccupancy(3, 5)
			for _, v := range tt.votes {
				o.Add(v)
			}
			assert.Equal(t, tt.want, o.Free(3))
		})
	}
}

func TestMastersWithAnotherNumberOfSlots(t *testing.T) {
	t.Parallel()
	o := kind.NewOccupancy(3, 5)
	o.Add(full(3, "111"))
	o.Add(blocked(kind.Blocker{Kind: "mutex", Slots: 4}))
	o.Add(blocked(kind.Blocker{Kind: kind.Semaphore.Name}))
	assert.False(t, o.AnyDiffers())
	o.Add(full(1, ""))
	assert.True(t, o.AnyDiffers())
	o.Add(full(1, ""))
	slots, ok := o.MajorityDiffers(3)
	assert.False(t, ok, "a minority")
	assert.Zero(t, slots)
	o.Add(full(1, ""))
	slots, ok = o.MajorityDiffers(3)
	assert.True(t, ok)
	assert.Equal(t, 1, slots)
}

func voted(v wire.Vote) quorum.Answer { return quorum.Answer{Voted: true, Vote: v} }

func TestProbeResultCountsTheMasters(t *testing.T) {
	t.Parallel()
	one := kind.Blocker{Kind: "mutex", TTL: 5, Token: "a"}
	r := kind.NewProbeResult([]quorum.Answer{
		{},
		{},
		voted(wire.Vote{Verdict: wire.Granted}), voted(blocked(one)), voted(blocked(one)),
		voted(wire.Vote{Verdict: wire.Failed}), voted(wire.Vote{Verdict: wire.Unknown, Data: one}),
		voted(wire.Vote{Verdict: wire.Denied}),
	})
	assert.Equal(t, 2, r.Pending)
	assert.Equal(t, 1, r.Free)
	assert.Equal(t, 3, r.Failed, "so does a denial without a blocker")
	assert.Equal(t, 2, r.MostMasters())
	assert.Equal(t, []time.Duration{5, 5}, r.TTLs)
	assert.Empty(t, r.Owners())
	nothing := kind.NewProbeResult(nil)
	assert.Zero(t, nothing.MostMasters())
}

// The blocker without a TTL lasts longest.
func TestProbeResultFindsTheLongestBlocker(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		ttls []time.Duration
		want int // the index
	}{
		{"the first", []time.Duration{9, 5, 7}, 0},
		{"the last", []time.Duration{5, 7, 9}, 2},
		{"the last of equals", []time.Duration{5, 5}, 1},
		{"the only one, which has just expired", []time.Duration{0}, 0},
		{"two that have just expired", []time.Duration{0, 0}, 1},
		{"one has just expired", []time.Duration{5, 0}, 0},
		{"without a TTL, first", []time.Duration{noTTL, 9, 0}, 0},
		{"without a TTL, last", []time.Duration{9, noTTL}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var answers []quorum.Answer
			for i, ttl := range tt.ttls {
				answers = append(answers, voted(blocked(kind.Blocker{Kind: "mutex", NameIndex: i, TTL: ttl})))
			}
			r := kind.NewProbeResult(answers)
			assert.Equal(t, tt.want, r.Longest.NameIndex)
			assert.Equal(t, "mutex", r.Longest.Kind)
			assert.Equal(t, slices.DeleteFunc(tt.ttls, func(ttl time.Duration) bool { return ttl < 0 }), r.TTLs)
		})
	}
}

// All readers are one lock, and so are all permits, and all holds of one owner.
func TestProbeResultKnowsWhichBlockersAreOneLock(t *testing.T) {
	t.Parallel()
	mine, yours := kind.NewToken("me"), kind.NewToken("you")
	for _, tt := range []struct {
		kind   string
		tokens [3]string
		most   int
		owners []string
	}{
		{"mutex", [3]string{mine, yours, mine}, 2, nil},
		{"writer", [3]string{mine, yours, mine}, 2, nil},
		{"reader", [3]string{mine, yours, "other"}, 3, nil},
		{"semaphore", [3]string{mine, yours, "other"}, 3, nil},
		{"reentrant", [3]string{kind.NewToken("me"), yours, mine}, 2, []string{"me", "you"}},
		{"reentrant", [3]string{"short", "other", "short"}, 2, nil},
		{"hash", [3]string{"", "", ""}, 3, nil},
	} {
		t.Run(tt.kind+" "+strings.Join(tt.owners, " "), func(t *testing.T) {
			t.Parallel()
			var answers []quorum.Answer
			for _, token := range tt.tokens {
				answers = append(answers, voted(blocked(kind.Blocker{Kind: tt.kind, Token: token})))
			}
			r := kind.NewProbeResult(answers)
			assert.Equal(t, tt.most, r.MostMasters())
			assert.ElementsMatch(t, tt.owners, r.Owners())
		})
	}
}

func TestTheClockMustBeAHint(t *testing.T) {
	t.Parallel()
	last := time.UnixMicro(1<<53 - 1)
	for _, tt := range []struct {
		now time.Time
		ok  bool
	}{
		{time.Unix(0, -1), false},
		{time.Unix(0, 0), true},
		{time.Unix(1_800_000_000, 0), true},
		{last, true},
		{last.Add(time.Microsecond), false},
	} {
		err := kind.CheckHint(tt.now)
		assert.Equal(t, tt.ok, err == nil, "%v", tt.now)
		if !tt.ok {
			assert.ErrorContains(t, err, "from 1970 to 2255 only")
		}
	}
}

func TestWhichKindsHandOverAndWhichOverlap(t *testing.T) {
	t.Parallel()
	for _, k := range kind.All {
		assert.Equal(t, k == kind.Mutex || k == kind.Semaphore, k.HandsOver, k.Name)
		overlaps := claim{Kind: k.Name, Names: []string{lockName}, Token: holdToken}.Ops().Overlaps()
		assert.Equal(t, k == kind.Semaphore, overlaps, k.Name)
	}
}
