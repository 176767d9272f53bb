package check_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
)

// A single lock that never fails explains the histories that are legal, and no other.
func TestHistoriesThatOneLockExplains(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		builder *builder
		illegal bool
	}{
		"one after the other": {new(builder).held(0, 10, 20, "a", 1, fence(5)).held(0, 30, 40, "b", 1, fence(6)), false},
		"both at once": {
			new(builder).held(0, 10, 20, "a", 1).held(0, 15, 40, "b", 1), true,
		},
		"the next one as the unlock is called": {
			new(builder).held(0, 10, 20, "a", 1).held(0, 20, 40, "b", 1), false,
		},
		"unlocked in the moment of the acquisition": {
			new(builder).held(0, 10, 10, "a", 1).held(0, 20, 40, "b", 1), false,
		},
		"returned after its deadline, while the next one holds": {
			new(builder).kept(0, 100, 50, "a", 1, fence(5)).held(60, 70, 120, "b", 1, fence(6)), false,
		},
		"returned after its deadline, which is after the next one has ended": {
			new(builder).held(60, 70, 75, "b", 1, fence(6)).kept(0, 100, 80, "a", 1, fence(5)), true,
		},
		"a killed holder, the next one at its deadline": {
			new(builder).kept(0, 10, 50, "a", 1).held(0, 50, 60, "b", 1), false,
		},
		"a killed holder, the next one before its deadline": {
			new(builder).kept(0, 10, 50, "a", 1).held(0, 49, 60, "b", 1), true,
		},
		"an unlock that may have done nothing, and the deadline": {
			new(builder).held(0, 10, 20, "a", 1).
				with(history.Released, "a", 1, func(e *history.Event) { e.Err = "no quorum" }).
				held(0, 30, 40, "b", 1), false,
		},
		"refused, whatever it placed": {
			new(builder).held(0, 10, 20, "a", 1).refused(0, 100, "b", 1).held(0, 30, 40, "c", 1), false,
		},
		"tokens in the order of the holds, though both were asked for at once": {
			new(builder).held(0, 10, 20, "a", 1, fence(6)).held(0, 30, 40, "b", 1, fence(5)), true,
		},
		"tokens in the order of the holds, though the first one never believed in its": {
			new(builder).kept(0, 10, 10, "a", 1, fence(6)).held(0, 30, 40, "b", 1, fence(5)), true,
		},
		"one token for two": {
			new(builder).held(0, 10, 20, "a", 1, fence(5)).held(0, 30, 40, "b", 1, fence(5)), true,
		},
		"a reader with the writer's token": {
			new(builder).held(0, 10, 20, "a", 1, writer, fence(6)).held(0, 30, 40, "b", 1, reader, fence(6)), false,
		},
		"a reader with less than the writer's": {
			new(builder).held(0, 10, 20, "a", 1, writer, fence(6)).held(0, 30, 40, "b", 1, reader, fence(5)), true,
		},
		"readers in any order": {
			new(builder).held(0, 10, 20, "a", 1, reader, fence(6)).held(0, 15, 40, "b", 1, reader, fence(5)), false,
		},
		"a writer with the reader's": {
			new(builder).held(0, 10, 20, "a", 1, reader, fence(6)).held(0, 30, 40, "b", 1, writer, fence(6)), true,
		},
		"an inner hold with the outer's": {
			new(builder).held(0, 10, 90, "a", 1, owner("o"), fence(5)).held(0, 20, 40, "a", 2, owner("o"), fence(5)), false,
		},
		"an inner hold with one of its own": {
			new(builder).held(0, 10, 90, "a", 1, owner("o"), fence(5)).held(0, 20, 40, "a", 2, owner("o"), fence(6)), false,
		},
		"an inner hold with one of its own, and another with less": {
			new(builder).held(0, 10, 90, "a", 1, owner("o"), fence(5)).held(0, 20, 40, "a", 2, owner("o"), fence(7)).
				held(95, 100, 110, "b", 1, fence(6)), true,
		},
		"an inner hold is the first to want one": {
			new(builder).held(0, 10, 90, "a", 1, owner("o")).held(0, 20, 40, "a", 2, owner("o"), fence(6)), false,
		},
		"the owner is back with its old one": {
			new(builder).held(0, 10, 20, "a", 1, owner("o"), fence(5)).held(0, 30, 40, "a", 2, owner("o"), fence(5)), false,
		},
		"the owner is back with its old one after another": {
			new(builder).held(0, 10, 20, "a", 1, owner("o"), fence(5)).held(0, 30, 40, "b", 1, fence(6)).
				held(0, 50, 60, "a", 2, owner("o"), fence(5)), true,
		},
		"an extension comes late, with no other holder in between": {
			new(builder).kept(0, 10, 50, "a", 1).extended(60, "a", 1, 100).unlocks(90, "a", 1).
				held(0, 91, 95, "b", 1), false,
		},
		"an extension brings back what another has had": {
			new(builder).kept(0, 10, 50, "a", 1).held(0, 51, 55, "b", 1).extended(60, "a", 1, 100).unlocks(90, "a", 1),
			true,
		},
		"one of several": {
			new(builder).held(0, 10, 90, "a", 1, several("x", lockName), fence(5)).held(0, 20, 40, "b", 1, fence(6)),
			true,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var found []check.Finding
			events := tt.builder.events
			for _, v := range []check.Verdict{check.Exclusion(events), check.Fencing(events, check.Terms{})} {
				found = append(found, v.Findings...)
			}
			assert.Equal(t, tt.illegal, len(found) > 0, "%v", found)
		})
	}
}
