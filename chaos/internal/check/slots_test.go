package check_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

// slots makes an acquisition one of a permit.
func slots(n int) func(*history.Event) {
	return func(e *history.Event) { e.Mode, e.Slots = kinds.Semaphore, n }
}

func TestASemaphoreHasNoMoreHoldersThanSlots(t *testing.T) {
	t.Parallel()
	tests := map[string]*builder{
		"two of two": new(builder).held(0, 10, 100, "a", 1, slots(2)).held(0, 20, 90, "b", 1, slots(2)),
		"a third when one has unlocked": new(builder).held(0, 10, 100, "a", 1, slots(2)).held(0, 20, 90, "b", 1, slots(2)).
			held(0, 91, 120, "c", 1, slots(2)),
		"a third when a deadline is over": new(builder).kept(0, 10, 50, "a", 1, slots(2)).held(0, 20, 90, "b", 1, slots(2)).
			held(0, 50, 120, "c", 1, slots(2)),
		"other slots afterwards":  new(builder).held(0, 10, 100, "a", 1, slots(3)).held(0, 101, 190, "b", 1, slots(1)),
		"a mutex afterwards":      new(builder).held(0, 10, 100, "a", 1, slots(3)).held(0, 101, 190, "b", 1),
		"mutexes are not counted": new(builder).held(0, 10, 100, "a", 1).held(0, 101, 190, "b", 1),
		"another name": new(builder).held(0, 10, 100, "a", 1, slots(1)).
			held(0, 20, 90, "b", 1, slots(1), func(e *history.Event) {
				e.Name = "invoices"
			}),
	}
	for name, s := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, v := range []check.Verdict{
				check.Slots(s.events), check.Exclusion(s.events),
			} {
				assert.True(t, v.Held(), "%s: %v", v.Checker, v.Findings)
			}
		})
	}
}

func TestSlotsCatches(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		builder *builder
		says    string
	}{
		"a second holder of one slot": {
			new(builder).held(0, 10, 100, "a", 1, slots(1)).held(0, 20, 90, "b", 1, slots(1)),
			"had 2 holders of 1 slots from 0.020 s on, for 70ms",
		},
		"a third of two": {
			new(builder).held(0, 10, 100, "a", 1, slots(2)).held(0, 20, 90, "b", 1, slots(2)).
				held(0, 30, 50, "c", 1, slots(2)),
			"3 holders of 2 slots from 0.030 s on, for 20ms",
		},
		"a third of two, though no two overlap for long": {
			new(builder).held(0, 10, 100, "a", 1, slots(2)).held(0, 20, 40, "b", 1, slots(2)).
				held(0, 39, 60, "c", 1, slots(2)),
			"for 1ms",
		},
		"a third that came while an extension kept the first": {
			new(builder).kept(0, 10, 50, "a", 1, slots(2)).extended(40, "a", 1, 200).held(0, 20, 120, "b", 1, slots(2)).
				held(0, 60, 90, "c", 1, slots(2)), "for 30ms",
		},
		"a third as an expired one is extended": {
			new(builder).kept(0, 10, 50, "a", 1, slots(2)).held(0, 20, 120, "b", 1, slots(2)).
				held(0, 60, 90, "c", 1, slots(2)).
				extended(80, "a", 1, 200), "from 0.080 s on",
		},
		"two of two and three": {
			new(builder).held(0, 10, 100, "a", 1, slots(3)).held(0, 20, 90, "b", 1, slots(3)).
				held(0, 30, 50, "c", 1, slots(2)),
			"3 holders of 2 slots",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := check.Slots(tt.builder.events)
			require.Len(t, v.Findings, 1)
			assert.Contains(t, v.Findings[0].Text, tt.says)
			assert.NotEmpty(t, v.Findings[0].Events)
		})
	}
}

func TestSlotsCatchesAHolderThatUnlocksAtOnce(t *testing.T) {
	t.Parallel()
	v := check.Slots(new(builder).held(0, 10, 100, "a", 1, slots(2)).held(0, 20, 90, "b", 1, slots(2)).
		held(0, 30, 30, "c", 1, slots(2)).events)
	require.Len(t, v.Findings, 1)
	assert.Contains(t, v.Findings[0].Text, "3 holders of 2 slots from 0.030 s on, for 0s")
}

// A permit's fencing token shows its slot.
func TestASlotHasOneHolder(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		first, second []func(*history.Event)
		from          float64 // when the second is acquired; the first is held from 10 to 100
		says          string
	}{
		"two slots":        {permit(3, 301), permit(3, 305), 20, ""},
		"one slot":         {permit(3, 301), permit(3, 304), 20, "both had slot 1 of 3 for 80ms"},
		"the last slot":    {permit(3, 300), permit(3, 303), 20, "both had slot 3 of 3"},
		"one token":        {permit(3, 301), permit(3, 301), 20, "both had slot 1 of 3"},
		"one slot in turn": {permit(3, 301), permit(3, 304), 100, ""},
		"no tokens":        {permit(3, 0), permit(3, 0), 20, ""},
		"one token only":   {permit(3, 0), permit(3, 303), 20, ""},
		"another number":   {permit(3, 301), permit(2, 303), 20, ""}, // Exclusion finds that
		"another name": {
			permit(3, 301), append(permit(3, 304), func(e *history.Event) { e.Name = "invoices" }), 20, "",
		},
		"no semaphore": {[]func(*history.Event){fence(301)}, []func(*history.Event){fence(301)}, 20, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := new(builder).held(0, 10, 100, "a", 1, tt.first...).held(5, tt.from, 120, "b", 1, tt.second...)
			v := check.Slots(s.events)
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

// A long permit is compared with every later one of its slot.
func TestASlotHasOneHolderForAsLongAsItIsHeld(t *testing.T) {
	t.Parallel()
	s := new(builder).held(0, 10, 100, "a", 1, permit(3, 301)...).held(0, 20, 30, "b", 1, permit(3, 302)...).
		held(0, 40, 50, "c", 1, permit(3, 305)...).held(0, 99, 110, "d", 1, permit(3, 304)...)
	v := check.Slots(s.events)
	require.Len(t, v.Findings, 1)
	assert.Contains(t, v.Findings[0].Text, "for 1ms")
}

// permit makes an acquisition one of a permit with a fencing token; 0 for none.
func permit(n int, token uint64) []func(*history.Event) {
	return []func(*history.Event){slots(n), fence(token)}
}

func TestPermitsExcludeOtherLocksAndOtherNumbersOfSlots(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*builder{
		"a mutex":        new(builder).held(0, 10, 100, "a", 1, slots(3)).held(0, 20, 90, "b", 1),
		"a reader":       new(builder).held(0, 10, 100, "a", 1, slots(3)).held(0, 20, 90, "b", 1, reader),
		"another number": new(builder).held(0, 10, 100, "a", 1, slots(3)).held(0, 20, 90, "b", 1, slots(2)),
		"a mutex among others": new(builder).held(0, 10, 100, "a", 1, slots(3)).held(0, 20, 90, "b", 1, slots(3)).
			held(0, 95, 99, "c", 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Len(t, check.Exclusion(s.events).Findings, 1)
		})
	}
}

func TestEachPermitHasATokenOfItsOwn(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		first, second uint64
		asked         float64 // when the second is asked for; the first has returned at 10
		says          string
	}{
		"larger":                               {7, 8, 20, ""},
		"smaller, and asked for side by side":  {7, 6, 5, ""},
		"smaller":                              {7, 6, 20, "not larger than"},
		"the same":                             {7, 7, 20, "both got the token 7"},
		"the same, and asked for side by side": {7, 7, 5, "both got the token 7"},
		"none":                                 {7, 0, 20, "asked for a fencing token, and got none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := new(builder).held(0, 10, 100, "a", 1, slots(2), fenced, fence(tt.first)).
				held(tt.asked, 30, 90, "b", 1, slots(2), fenced, fence(tt.second))
			v := check.Fencing(s.events, check.Terms{})
			if tt.says == "" {
				assert.Empty(t, v.Findings)
				return
			}
			var all string
			for _, f := range v.Findings {
				all += f.Text + "\n"
			}
			assert.Contains(t, all, tt.says)
		})
	}
}
