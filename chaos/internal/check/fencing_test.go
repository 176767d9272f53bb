package check_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
)

func TestFencing(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		builder *builder
		says    string // "" if it holds
	}{
		"larger than the one before": {
			new(builder).held(0, 10, 20, "a", 1, fence(5)).held(11, 30, 40, "b", 1, fence(6)), "",
		},
		"asked for before the other returned, which had ended": {
			new(builder).held(0, 10, 20, "a", 1, fence(6)).held(9, 30, 40, "b", 1, fence(5)), "which had ended at 0.020 s",
		},
		"the same where a fault reorders tokens: no order": {
			new(builder).down(1, 5, "evict", 0).held(0, 10, 20, "a", 1, fence(6)).held(9, 30, 40, "b", 1, fence(5)), "",
		},
		"asked for in the moment in which the other returned": {
			new(builder).held(0, 10, 20, "a", 1, fence(6)).held(10, 30, 40, "b", 1, fence(5)), "not larger than the 6",
		},
		"smaller than the one before": {
			new(builder).held(0, 10, 20, "a", 1, fence(6)).held(11, 30, 40, "b", 1, fence(5)),
			"got the token 5, not larger than the 6 that a.0/worker 0/op 1 had",
		},
		"the same as the one before": {
			new(builder).held(0, 10, 20, "a", 1, fence(5)).held(11, 30, 40, "b", 1, fence(5)), "not larger than the 5",
		},
		"smaller than one long before, larger than the last": {
			new(builder).held(0, 10, 20, "a", 1, fence(9)).held(21, 30, 40, "b", 1, fence(10)).
				held(0, 50, 60, "c", 1, fence(3)).held(61, 70, 80, "d", 1, fence(8)),
			"got the token 8, not larger than the 10",
		},
		"the same while both were asked for": {
			new(builder).held(0, 10, 20, "a", 1, fence(5)).held(5, 30, 40, "b", 1, fence(5)), "both got the token 5",
		},
		"a holder without a token has no part in it": {
			new(builder).held(0, 10, 20, "a", 1, fence(5)).held(21, 30, 40, "b", 1), "",
		},
		"a token was asked for, and none given": {
			new(builder).held(0, 10, 20, "a", 1, fence(5)).held(21, 30, 40, "b", 1, fenced),
			"b.0/worker 0/op 1 asked for a fencing token, and got none",
		},
		"a token was asked for, and given": {new(builder).held(0, 10, 20, "a", 1, fenced, fence(5)), ""},
		"a token was asked for, and refused": {
			new(builder).add(0, history.Invoked, "a", 1, fenced).add(5, history.Refused, "a", 1, nil), "",
		},
		"readers share the writer's": {
			new(builder).held(0, 10, 20, "a", 1, writer, fence(5)).held(21, 30, 40, "b", 1, reader, fence(5)).
				held(21, 30, 40, "c", 1, reader, fence(5)).held(41, 50, 60, "d", 1, writer, fence(6)), "",
		},
		"a later reader with less than an earlier one": {
			new(builder).held(0, 10, 20, "a", 1, reader, fence(6)).held(21, 30, 40, "b", 1, reader, fence(5)), "",
		},
		"a reader with less than the writer before": {
			new(builder).held(0, 10, 20, "a", 1, writer, fence(5)).held(21, 30, 40, "b", 1, reader, fence(4)),
			"smaller than the 5",
		},
		"a writer with no more than the reader before": {
			new(builder).held(0, 10, 20, "a", 1, reader, fence(5)).held(21, 30, 40, "b", 1, writer, fence(5)),
			"not larger than the 5",
		},
		"a mutex with no more than one of several": {
			new(builder).held(0, 10, 20, "a", 1, several("x", lockName), fence(5)).held(21, 30, 40, "b", 1, fence(5)),
			"not larger than the 5",
		},
		"the owner is back after another, and has its old one": {
			new(builder).held(0, 10, 20, "a", 1, owner("o"), fence(5)).held(21, 30, 40, "b", 1, fence(6)).
				held(41, 50, 90, "a", 2, owner("o"), fence(5)), "not larger than the 6",
		},
		"another owner has the same": {
			new(builder).held(0, 10, 20, "a", 1, owner("o"), fence(5)).held(5, 30, 40, "b", 1, owner("p"), fence(5)),
			"both got the token 5",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first(t, check.Fencing(tt.builder.events, check.Terms{Reordering: []string{"evict"}}), tt.says)
		})
	}
}

// first compares the first finding of a verdict with what it says; "" if there is none.
func first(t *testing.T, v check.Verdict, says string) {
	t.Helper()
	if says == "" {
		assert.Empty(t, v.Findings)
		return
	}
	require.NotEmpty(t, v.Findings)
	assert.Contains(t, v.Findings[0].Text, says)
	assert.NotEmpty(t, v.Findings[0].Events)
}

// TestOwned has holds of one owner. Its findings are about an inner hold, or about a later one.
func TestOwned(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		builder *builder
		says    string // "" if it holds
	}{
		"an inner hold has the outer one's": {
			new(builder).held(0, 10, 90, "a", 1, owner("o"), fence(5)).held(20, 30, 40, "a", 2, owner("o"), fence(5)), "",
		},
		"an inner hold has a larger one": {
			new(builder).held(0, 10, 90, "a", 1, owner("o"), fence(5)).held(20, 30, 40, "a", 2, owner("o"), fence(6)),
			"o holds it already",
		},
		"an inner hold that outlives the outer one keeps its own": {
			new(builder).held(0, 10, 35, "a", 1, owner("o"), fence(5)).held(20, 30, 90, "a", 2, owner("o"), fence(5)).
				held(40, 50, 60, "a", 3, owner("o"), fence(5)), "",
		},
		"a hold that outlived the outer one, and another token": {
			new(builder).held(0, 10, 35, "a", 1, owner("o"), fence(5)).held(20, 30, 90, "a", 2, owner("o"), fence(5)).
				held(40, 50, 60, "a", 3, owner("o"), fence(6)), "o holds it already",
		},
		"the outer one was not the only one to be asked for": {
			new(builder).held(0, 10, 90, "a", 1, owner("o"), fence(5)).held(5, 15, 16, "b", 1, owner("o"), fence(6)).
				held(20, 30, 40, "c", 1, owner("o"), fence(6)), "",
		},
		"nor if another attempt, which was refused, overlapped it": {
			new(builder).add(0, history.Invoked, "b", 1, owner("o")).add(5, history.Refused, "b", 1, owner("o")).
				held(4, 10, 90, "a", 1, owner("o"), fence(5)).held(20, 30, 40, "c", 1, owner("o"), fence(6)), "",
		},
		"nor if another attempt, which never returned, overlapped it": {
			new(builder).add(0, history.Invoked, "b", 1, owner("o")).
				held(4, 10, 90, "a", 1, owner("o"), fence(5)).held(20, 30, 40, "c", 1, owner("o"), fence(6)), "",
		},
		"what never returned is over when its worker asks again": {
			new(builder).add(0, history.Invoked, "b", 1, owner("o")).held(2, 3, 4, "b", 2).
				held(4, 10, 90, "a", 1, owner("o"), fence(5)).held(20, 30, 40, "c", 1, owner("o"), fence(6)),
			"o holds it already",
		},
		"another owner asked meanwhile": {
			new(builder).add(5, history.Invoked, "b", 1, owner("p")).
				held(4, 10, 90, "a", 1, owner("o"), fence(5)).held(20, 30, 40, "c", 1, owner("o"), fence(6)),
			"o holds it already",
		},
		"the longer one was not alone, another was": {
			new(builder).add(0, history.Invoked, "x", 1, owner("o")).held(1, 10, 90, "a", 1, owner("o"), fence(5)).
				add(11, history.Refused, "x", 1, owner("o")).held(12, 15, 80, "b", 1, owner("o"), fence(6)).
				held(20, 30, 40, "c", 1, owner("o"), fence(7)), "o holds it already as b",
		},
		"the outer one ends while the inner one is asked for: a new ownership": {
			new(builder).held(0, 10, 25, "a", 1, owner("o"), fence(5)).held(20, 30, 90, "a", 2, owner("o"), fence(6)), "",
		},
		"the owner is back, and has less": {
			new(builder).held(0, 10, 20, "a", 1, owner("o"), fence(5)).held(30, 40, 90, "a", 2, owner("o"), fence(4)),
			"smaller than the 5",
		},
		"holds without a token have no part in it": {
			new(builder).held(0, 10, 90, "a", 1, owner("o"), fence(5)).held(20, 30, 40, "a", 2, owner("o")), "",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first(t, check.Owned(tt.builder.events), tt.says)
		})
	}
}

func TestReadersInOrder(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		builder *builder
		says    string // "" if it holds
	}{
		"smaller": {
			new(builder).held(0, 10, 20, "a", 1, reader, fence(6)).held(11, 30, 40, "b", 1, reader, fence(5)),
			"got the token 5, smaller than the 6",
		},
		"smaller than one long before": {
			new(builder).held(0, 10, 20, "a", 1, reader, fence(6)).held(11, 12, 20, "b", 1, reader, fence(6)).
				held(31, 40, 50, "c", 1, reader, fence(5)), "smaller than the 6",
		},
		"the same": {
			new(builder).held(0, 10, 20, "a", 1, reader, fence(5)).held(11, 30, 40, "b", 1, reader, fence(5)), "",
		},
		"asked for before the return": {
			new(builder).held(0, 10, 20, "a", 1, reader, fence(6)).held(9, 30, 40, "b", 1, reader, fence(5)), "",
		},
		"of another name": {
			new(builder).held(0, 10, 20, "a", 1, reader, fence(6)).held(11, 30, 40, "b", 1, reader, fence(5), other), "",
		},
		"after a writer's": {
			new(builder).held(0, 10, 20, "a", 1, writer, fence(6)).held(11, 30, 40, "b", 1, reader, fence(5)), "",
		},
		"without fencing": {new(builder).held(0, 10, 20, "a", 1, reader, fence(6)).held(11, 30, 40, "b", 1, reader), ""},
		"with one in between": {
			new(builder).held(0, 10, 20, "a", 1, reader, fence(6)).held(11, 12, 13, "b", 1, reader, fence(7)).
				held(31, 40, 50, "c", 1, reader, fence(6)),
			"smaller than the 7",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := check.ReadersInOrder(tt.builder.events)
			if tt.says == "" {
				assert.Empty(t, v.Findings)
				return
			}
			require.Len(t, v.Findings, 1)
			assert.Contains(t, v.Findings[0].Text, tt.says)
		})
	}
}

func other(e *history.Event) { e.Name = "other" }

func written(register string, fence uint64, from, value int64) history.Event {
	return history.Event{Kind: history.Written, Register: register, Name: lockName, Fence: fence, From: from, Value: value}
}

func TestRegister(t *testing.T) {
	t.Parallel()
	elsewhere := written(history.Fenced, 1, 0, 1)
	elsewhere.Name = "invoices"
	tests := map[string]struct {
		events []history.Event
		says   string // "" if it holds
	}{
		"each made of the one before": {
			[]history.Event{
				written(history.Fenced, 5, 0, 1), written(history.Fenced, 5, 1, 2), elsewhere,
				written(history.Fenced, 7, 2, 3),
			}, "",
		},
		"a smaller token": {
			[]history.Event{written(history.Fenced, 5, 0, 1), written(history.Fenced, 4, 1, 2)},
			"took a write with the token 4 after one with 5",
		},
		"an update lost": {
			[]history.Event{written(history.Fenced, 5, 0, 1), written(history.Fenced, 6, 0, 1)}, "an update is lost",
		},
		"the first was not made of nothing": {
			[]history.Event{written(history.Fenced, 5, 3, 4)}, "the fenced register had 0",
		},
		"a rejected one is no write": {
			[]history.Event{
				written(history.Fenced, 5, 0, 1),
				{Kind: history.Rejected, Register: history.Fenced, Name: lockName, Fence: 4, Value: 2},
			}, "",
		},
		"the trusting register is hurt": {
			[]history.Event{
				written(history.Trusting, 5, 0, 1), written(history.Trusting, 4, 0, 1), written(history.Trusting, 4, 1, 2),
			}, "",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := check.Register(tt.events)
			if tt.says == "" {
				assert.Empty(t, v.Findings)
				return
			}
			require.NotEmpty(t, v.Findings)
			assert.Contains(t, v.Findings[0].Text, tt.says)
		})
	}
}

func TestWhatTheTrustingRegisterLostIsCounted(t *testing.T) {
	t.Parallel()
	v := check.Register([]history.Event{
		written(history.Trusting, 0, 0, 1), written(history.Trusting, 0, 0, 1), written(history.Trusting, 0, 1, 2),
	})
	assert.Contains(t, v.Looked, "trusting register: 1 of 3 writes lost an update")
}
