package check_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
)

func TestLinearizability(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		builder *builder
		says    string // "" if it holds
	}{
		"one after the other": {new(builder).held(0, 10, 20, "a", 1, fence(5)).held(0, 30, 40, "b", 1, fence(6)), ""},
		"both at once": {
			new(builder).held(0, 10, 20, "a", 1).held(0, 15, 40, "b", 1), "no single lock could have been held like this: a.0",
		},
		"the next one as the unlock is called": {
			new(builder).held(0, 10, 20, "a", 1).held(0, 20, 40, "b", 1), "",
		},
		"unlocked in the moment of the acquisition": {
			new(builder).held(0, 10, 10, "a", 1).held(0, 20, 40, "b", 1), "",
		},
		"returned after its deadline, while the next one holds": {
			new(builder).kept(0, 100, 50, "a", 1, fence(5)).held(60, 70, 120, "b", 1, fence(6)), "",
		},
		"returned after its deadline, which is after the next one has ended": {
			new(builder).held(60, 70, 75, "b", 1, fence(6)).kept(0, 100, 80, "a", 1, fence(5)), "no single lock",
		},
		"a killed holder, the next one at its deadline": {
			new(builder).kept(0, 10, 50, "a", 1).held(0, 50, 60, "b", 1), "",
		},
		"a killed holder, the next one before its deadline": {
			new(builder).kept(0, 10, 50, "a", 1).held(0, 49, 60, "b", 1), "no single lock",
		},
		"an unlock that may have done nothing, and the deadline": {
			new(builder).held(0, 10, 20, "a", 1).with(history.Released, "a", 1, func(e *history.Event) { e.Err = "no quorum" }).
				held(0, 30, 40, "b", 1), "",
		},
		"refused, whatever it placed": {
			new(builder).held(0, 10, 20, "a", 1).refused(0, 100, "b", 1).held(0, 30, 40, "c", 1), "",
		},
		"tokens in the order of the holds, though both were asked for at once": {
			new(builder).held(0, 10, 20, "a", 1, fence(6)).held(0, 30, 40, "b", 1, fence(5)), "with the token 6",
		},
		"tokens in the order of the holds, though the first one never believed in its": {
			new(builder).kept(0, 10, 10, "a", 1, fence(6)).held(0, 30, 40, "b", 1, fence(5)), "with the token 6",
		},
		"one token for two": {
			new(builder).held(0, 10, 20, "a", 1, fence(5)).held(0, 30, 40, "b", 1, fence(5)), "no single lock",
		},
		"a reader with the writer's token": {
			new(builder).held(0, 10, 20, "a", 1, writer, fence(6)).held(0, 30, 40, "b", 1, reader, fence(6)), "",
		},
		"a reader with less than the writer's": {
			new(builder).held(0, 10, 20, "a", 1, writer, fence(6)).held(0, 30, 40, "b", 1, reader, fence(5)), "no single lock",
		},
		"readers in any order": {
			new(builder).held(0, 10, 20, "a", 1, reader, fence(6)).held(0, 15, 40, "b", 1, reader, fence(5)), "",
		},
		"a writer with the reader's": {
			new(builder).held(0, 10, 20, "a", 1, reader, fence(6)).held(0, 30, 40, "b", 1, writer, fence(6)), "no single lock",
		},
		"an inner hold with the outer's": {
			new(builder).held(0, 10, 90, "a", 1, owner("o"), fence(5)).held(0, 20, 40, "a", 2, owner("o"), fence(5)), "",
		},
		"an inner hold with one of its own": {
			new(builder).held(0, 10, 90, "a", 1, owner("o"), fence(5)).held(0, 20, 40, "a", 2, owner("o"), fence(6)), "",
		},
		"an inner hold with one of its own, and another with less": {
			new(builder).held(0, 10, 90, "a", 1, owner("o"), fence(5)).held(0, 20, 40, "a", 2, owner("o"), fence(7)).
				held(95, 100, 110, "b", 1, fence(6)), "no single lock",
		},
		"an inner hold is the first to want one": {
			new(builder).held(0, 10, 90, "a", 1, owner("o")).held(0, 20, 40, "a", 2, owner("o"), fence(6)), "",
		},
		"the owner is back with its old one": {
			new(builder).held(0, 10, 20, "a", 1, owner("o"), fence(5)).held(0, 30, 40, "a", 2, owner("o"), fence(5)), "",
		},
		"the owner is back with its old one after another": {
			new(builder).held(0, 10, 20, "a", 1, owner("o"), fence(5)).held(0, 30, 40, "b", 1, fence(6)).
				held(0, 50, 60, "a", 2, owner("o"), fence(5)), "no single lock",
		},
		"an extension comes late, with no other holder in between": {
			new(builder).kept(0, 10, 50, "a", 1).extended(60, "a", 1, 100).unlocks(90, "a", 1).held(0, 91, 95, "b", 1), "",
		},
		"an extension brings back what another has had": {
			new(builder).kept(0, 10, 50, "a", 1).held(0, 51, 55, "b", 1).extended(60, "a", 1, 100).unlocks(90, "a", 1),
			"no single lock",
		},
		"one of several": {
			new(builder).held(0, 10, 90, "a", 1, several("x", lockName), fence(5)).held(0, 20, 40, "b", 1, fence(6)),
			"no single lock",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := check.Linearizability(tt.builder.events, time.Minute)
			require.Empty(t, v.Undecided)
			if tt.says == "" {
				assert.Empty(t, v.Findings)
				return
			}
			require.Len(t, v.Findings, 1)
			assert.Contains(t, v.Findings[0].Text, tt.says)
			assert.NotEmpty(t, v.Findings[0].Events)
		})
	}
}

// crowd is a long history of one name: holders wait long, some die, readers come in packs. It is what a lock would do.
func crowd(holds int) *builder {
	r := rand.New(rand.NewPCG(1, 2))
	s := new(builder)
	now, token := 100.0, uint64(1)
	for op := range holds {
		client := fmt.Sprintf("c%d", op%7)
		asked := now - r.Float64()*80
		switch r.IntN(4) {
		case 0: // dies
			s.kept(asked, now, now+50, client, op, fence(token))
			now += 51
		case 1:
			for i := range 3 {
				s.kept(asked, now+float64(i), now+20, fmt.Sprintf("r%d", i), op, reader, fence(token))
			}
			now += 21
		default:
			s.held(asked, now, now+5, client, op, fence(token))
			now += 6
		}
		token += 2
	}
	return s
}

func TestALongHistoryIsDecidedAndItsOneFaultFound(t *testing.T) {
	t.Parallel()
	s := crowd(700)
	v := check.Linearizability(s.events, time.Minute)
	require.True(t, v.Held(), "%v", v)

	last := s.events[len(s.events)-1].T.Seconds() * 1000
	s.held(last*0.7, last*0.7+0.1, last*0.7+60, "intruder", 1)
	v = check.Linearizability(s.events, time.Minute)
	require.Len(t, v.Findings, 1)
	assert.Contains(t, v.Findings[0].Text, "intruder.0")
	assert.LessOrEqual(t, len(v.Findings[0].Events), 8, "the proof is as short as it can be")
}

func TestAHoldThatLastsLongerThanAWindowIsNotForgotten(t *testing.T) {
	t.Parallel()
	s := new(builder).kept(0, 1, 10_000, "long", 1, reader)
	for op := range 700 {
		at := float64(2 + op*2)
		s.held(at, at, at+1, "short", op, reader)
	}
	s.held(5000, 5001, 5002, "late", 1, writer)
	v := check.Linearizability(s.events, time.Minute)
	require.Len(t, v.Findings, 1)
	assert.Contains(t, v.Findings[0].Text, "reader long.0")
	assert.Contains(t, v.Findings[0].Text, "writer late.0")
}

func TestWhatIsNotDecidedInTimeDoesNotHold(t *testing.T) {
	t.Parallel()
	v := check.Linearizability(crowd(50).events, time.Nanosecond)
	assert.False(t, v.Held())
	assert.Empty(t, v.Findings)
	assert.Contains(t, v.Undecided, `"orders" not decided within 1ns`)
}

func TestThePictureIsOfTheNameThatIsWrong(t *testing.T) {
	t.Parallel()
	s := crowd(20)
	for _, op := range []int{1, 2} {
		s.held(0, 10, 90, "x", op)
	}
	for i := range s.events {
		if s.events[i].Client == "x" {
			s.events[i].Name = "wrong"
		}
	}
	var b bytes.Buffer
	name, err := check.Picture(&b, s.events, time.Minute)
	require.NoError(t, err)
	assert.Equal(t, "wrong", name)
	assert.Contains(t, b.String(), "x.0/worker 0/op 2 acquires")

	b.Reset()
	name, err = check.Picture(&b, crowd(300).events, time.Minute)
	require.NoError(t, err)
	assert.Equal(t, lockName, name)

	b.Reset()
	name, err = check.Picture(&b, nil, time.Minute)
	require.NoError(t, err)
	assert.Empty(t, name)
	assert.Empty(t, b.String())
}
