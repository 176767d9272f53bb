package quorum_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/quorum"
)

// verdicts spells votes, one letter per node: granted, denied, failed, unknown.
var verdicts = map[byte]wire.Verdict{'G': wire.Granted, 'D': wire.Denied, 'F': wire.Failed, 'U': wire.Unknown}

// TestTallyAgreesWithTheDefinition tries every combination of votes in every order, up to five nodes. Why a round is
// lost does not depend on the order.
func TestTallyAgreesWithTheDefinition(t *testing.T) {
	t.Parallel()
	kinds := []wire.Verdict{wire.Granted, wire.Denied, wire.Failed}
	for _, n := range []int{1, 3, 5} {
		need := n/2 + 1
		combinations := 1
		for range n {
			combinations *= len(kinds)
		}
		permutations(n, func(order []int) {
			for combo := range combinations {
				tally := quorum.NewTally(n, need)
				grants, left := 0, n
				decided, held := false, false
				for _, index := range order {
					v := combo
					for range index {
						v /= len(kinds)
					}
					kind := kinds[v%len(kinds)]
					if kind == wire.Failed && combo%2 == 1 {
						kind = wire.Unknown
					}
					left--
					if kind == wire.Granted {
						grants++
					}
					want := "open"
					switch {
					case grants >= need:
						want = "won"
					case grants+left < need:
						want = "lost"
					}
					if got := tally.Add(index, wire.Vote{Verdict: kind}); got != want {
						t.Fatalf("combination %d of %d, order %v, index %d: %s, want %s", combo, n, order, index, got, want)
					}
					if tally.Decided() && !decided {
						decided, held = true, tally.Held()
					}
				}
				if grants < need && (!decided || held != tally.Held()) {
					t.Fatalf("%d nodes, combination %d: the order %v changes the reason", n, combo, order)
				}
				if !tally.Complete() {
					t.Fatal("all have voted")
				}
			}
		})
	}
}

func TestTallyDistinguishesHeldFromNoQuorum(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name           string
		votes          string
		held, answered bool
		gone, clear    bool
	}{
		{"all denied", "DDD", true, true, true, true},
		{"one dead, the rest denied", "FDD", true, true, true, true},
		{"one dead, a split vote", "FDG", true, true, false, false},
		{"two dead, one denied", "FUD", false, false, false, false},
		{"all dead", "FFU", false, false, false, false},
		{"two of five dead, the rest denied", "FUDDD", true, true, true, true},
		{"two of five dead, a split vote", "FUDGG", true, true, false, false},
		{"three of five dead, the rest denied", "FFUDD", false, false, false, false},
		{"three of five dead, the rest granted", "FFUGG", false, false, false, false},
		{"a split vote of five", "GGDDD", true, true, true, true},
		{"all granted", "GGG", false, true, false, true},
		{"one master, denied", "D", true, true, true, true},
		{"one master, dead", "F", false, false, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n := len(tt.votes)
			tally := quorum.NewTally(n, n/2+1)
			for index := range n {
				tally.Add(index, wire.Vote{Verdict: verdicts[tt.votes[index]]})
			}
			assert.Equal(t, tt.held, tally.Held(), "held")
			assert.Equal(t, tt.answered, tally.Answered(), "answered")
			assert.Equal(t, tt.gone, tally.Gone(), "gone")
			assert.Equal(t, tt.clear, tally.Clear(), "clear")
		})
	}
}

// One server under two names gets the same SET twice and answers differently.
func TestTallyCountsAServerOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name                        string
		first, second               *wire.Vote
		granted, denied, unanswered int
	}{
		{"granted, then denied", granted(), denied(), 1, 0, 1},
		{"denied, then granted", denied(), granted(), 1, 0, 1},
		{"denied twice", denied(), denied(), 0, 1, 1},
		{"granted twice", granted(), granted(), 1, 0, 1},
		{"granted, then a timeout", granted(), unknown(), 1, 0, 1},
		{"a timeout, then granted", unknown(), granted(), 1, 0, 1},
		{"failed twice", failed(), failed(), 0, 0, 2},
		{"healed, then granted, as an extension is", healed(), granted(), 0, 1, 1},
		{"granted, then healed, where the second was asked first", granted(), healed(), 0, 1, 1},
		{"healed twice", healed(), healed(), 0, 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tally := quorum.NewTally(3, 2)
			tally.Add(1, *from("same", tt.first))
			state := tally.Add(2, *from("same", tt.second))
			assert.NotEqual(t, "won", state, "a false majority")
			g, d, s := tally.Counts()
			assert.Equal(t, []int{tt.granted, tt.denied, tt.unanswered}, []int{g, d, s}, "granted, denied, unanswered")
			if tt.first.Verdict.Answered() && tt.second.Verdict.Answered() {
				failed := 0
				for _, index := range []int{1, 2} {
					if v := tally.VoteOf(index); v.Verdict == wire.Failed {
						failed++
						require.ErrorIs(t, v.Err, quorum.ErrSameServer)
					}
				}
				assert.Equal(t, 1, failed)
				if tt.first.Verdict == tt.second.Verdict && !tt.first.Healed {
					assert.Equal(t, wire.Failed, tally.VoteOf(2).Verdict, "of two equal votes the first counts")
				}
			}
		})
	}
}

func TestTallyWinsWithDuplicatesIfEnoughServersAreLeft(t *testing.T) {
	t.Parallel()
	permutations(5, func(order []int) {
		tally := quorum.NewTally(5, 3)
		seen := make(map[string]bool)
		state := ""
		for _, index := range order {
			id := fmt.Sprint(min(index, 2)) // indexes 2, 3 and 4 are one server
			v := granted()
			if seen[id] {
				v = denied() // by its own key
			}
			seen[id] = true
			state = tally.Add(index, *from(id, v))
			if state == "won" {
				assert.Len(t, seen, 3, "order %v", order)
			}
		}
		assert.Equal(t, "won", state, "order %v: three servers granted", order)
	})
}

func TestTallyDenialIsTheFirstOfTheLongest(t *testing.T) {
	t.Parallel()
	with := func(data any, wait time.Duration) *wire.Vote {
		return &wire.Vote{Verdict: wire.Denied, Data: data, Wait: wait}
	}
	for _, tt := range []struct {
		name  string
		votes []*wire.Vote
		want  any
		wait  time.Duration
	}{
		{"none", []*wire.Vote{{Verdict: wire.Granted, Wait: time.Minute}, failed()}, nil, 0},
		{"one without a time", []*wire.Vote{granted(), with("a", 0)}, "a", 0},
		{"the first of equal ones", []*wire.Vote{with("a", time.Second), with("b", time.Second)}, "a", time.Second},
		{"the longer one is first", []*wire.Vote{with("a", time.Minute), with("b", time.Second)}, "a", time.Minute},
		{"the longer one is last", []*wire.Vote{with("a", time.Second), with("b", time.Minute)}, "b", time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tally := quorum.NewTally(3, 2)
			for i, v := range tt.votes {
				tally.Add(i, *v)
			}
			assert.Equal(t, tt.want, tally.Denial().Data)
			assert.Equal(t, tt.wait, tally.Denial().Wait)
		})
	}
}
