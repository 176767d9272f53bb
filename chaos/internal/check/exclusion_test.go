package check_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
)

func TestExclusionHolds(t *testing.T) {
	t.Parallel()
	tests := map[string]*builder{
		"one after the other": new(builder).
			acquired(10, "a", 1, 1000).unlocks(50, "a", 1).
			acquired(51, "b", 1, 1050).unlocks(90, "b", 1),
		"the next begins as the last ends": new(builder).
			acquired(10, "a", 1, 1000).add(50, history.ReleaseCalled, "a", 1, nil).
			acquired(50, "b", 1, 1050),
		"acquired while the unlock is still on its way": new(builder).
			acquired(10, "a", 1, 1000).add(50, history.ReleaseCalled, "a", 1, nil).
			acquired(52, "b", 1, 1050).add(60, history.Released, "a", 1, nil),
		"a belief ends by its deadline, though the frozen holder unlocks late": new(builder).
			acquired(10, "a", 1, 1000).
			acquired(1001, "b", 1, 2000).unlocks(1500, "a", 1),
		"a killed holder's belief ends by its deadline": new(builder).
			acquired(10, "a", 1, 1000).acquired(1001, "b", 1, 2000),
		"notified of a loss, unlocked, and only then another's": new(builder).
			acquired(10, "a", 1, 1000).lost(400, "a", 1).unlocks(401, "a", 1).
			acquired(402, "b", 1, 1400),
		"notified of a loss, and another's from the deadline on": new(builder).
			acquired(10, "a", 1, 1000).lost(400, "a", 1).
			acquired(1000, "b", 1, 2000).unlocks(1500, "a", 1),
		"an extension that the killed holder did not live to learn of": new(builder).
			acquired(10, "a", 1, 1000).
			acquired(1001, "b", 1, 2000),
		"thawed to find a newer deadline, after which the next one came": new(builder).
			acquired(10, "a", 1, 1000).extended(1200, "a", 1, 1300).
			acquired(1301, "b", 1, 2000),
		"unlocked at once, in the moment in which the next one begins": new(builder).
			acquired(10, "a", 1, 1000).unlocks(10, "a", 1).acquired(10, "b", 1, 1000),
		"unlocked at once, in the moment in which the one before ends": new(builder).
			acquired(10, "a", 1, 1000).unlocks(50, "a", 1).acquired(50, "b", 1, 1050).unlocks(50, "b", 1),
		"acquired after its deadline": new(builder).
			acquired(10, "a", 1, 1000).acquired(500, "b", 1, 500).unlocks(500, "b", 1),
		"two names": new(builder).
			acquired(10, "a", 1, 1000).acquired(20, "b", 1, 1000).named("invoices"),
		"an acquisition that never returned": new(builder).
			acquired(10, "a", 1, 1000).add(20, history.Invoked, "b", 1, nil),
	}
	for name, s := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := check.Exclusion(s.events)
			assert.True(t, v.Held(), "%v", v.Findings)
		})
	}
}

func TestExclusionCatches(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		builder *builder
		says    string
	}{
		"an overlap of a millisecond": {
			new(builder).acquired(10, "a", 1, 1000).unlocks(51, "a", 1).acquired(50, "b", 1, 1050),
			"for 1ms",
		},
		"an overlap of a nanosecond": {
			new(builder).acquired(10, "a", 1, 1000).unlocks(50.000001, "a", 1).acquired(50, "b", 1, 1050),
			"for 1ns",
		},
		"acquired before a killed holder's deadline": {
			new(builder).acquired(10, "a", 1, 1000).acquired(999, "b", 1, 2000),
			"for 1ms",
		},
		"acquired before the deadline that a killed holder knew it had won": {
			new(builder).acquired(10, "a", 1, 1000).extended(340, "a", 1, 1330).acquired(1001, "b", 1, 2000),
			"for 329ms",
		},
		"the holder was notified only when another had it": {
			new(builder).acquired(10, "a", 1, 1000).acquired(300, "b", 1, 1300).lost(310, "a", 1).unlocks(310, "a", 1),
			"for 10ms",
		},
		"notified of a loss, but another's before the deadline": {
			new(builder).acquired(10, "a", 1, 1000).lost(999, "a", 1).acquired(999.5, "b", 1, 2000).unlocks(1600, "a", 1),
			"for 500µs",
		},
		"brought back after its deadline, while another held it": {
			new(builder).acquired(10, "a", 1, 1000).acquired(1005, "b", 1, 2000).unlocks(1300, "b", 1).
				extended(1100, "a", 1, 2100),
			"for 200ms",
		},
		"unlocked at once, within another's": {
			new(builder).acquired(10, "a", 1, 1000).acquired(500, "b", 1, 1500).unlocks(500, "b", 1),
			"for 0s",
		},
		"the same process twice": {
			new(builder).acquired(10, "a", 1, 1000).acquired(20, "a", 2, 1000),
			"for 980ms",
		},
		"a short one inside a long one, which the one before does not touch": {
			new(builder).acquired(10, "a", 1, 5000).unlocks(4000, "a", 1).
				acquired(20, "b", 1, 1000).unlocks(30, "b", 1).
				acquired(3000, "c", 1, 4000).unlocks(3001, "c", 1),
			"c.0/worker 0/op 1",
		},
		"a shorter deadline does not undo what was believed": {
			new(builder).acquired(10, "a", 1, 1000).extended(500, "a", 1, 400).acquired(450, "b", 1, 1400).unlocks(460, "b", 1),
			"for 10ms",
		},
		"an unlock whose call is not in the history": {
			new(builder).kept(0, 10, 1000, "a", 1).add(900, history.Released, "a", 1, nil).held(20, 30, 800, "b", 1),
			"for 770ms",
		},
		"an unlock whose call is not in the history, until it returned": {
			new(builder).kept(0, 10, 1000, "a", 1).add(500, history.Released, "a", 1, nil).held(20, 400, 800, "b", 1),
			"from 0.010 s to 0.500 s",
		},
		"another life of the same client": {
			new(builder).acquired(10, "a", 1, 1000).
				add(500, history.Acquired, "a", 1, func(e *history.Event) { e.Life, e.Until, e.Token = 1, at(1500), "t" }),
			"a.1/worker 0/op 1",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := check.Exclusion(tt.builder.events)
			require.False(t, v.Held())
			last := v.Findings[len(v.Findings)-1]
			assert.Contains(t, last.Text, tt.says)
			assert.Equal(t, lockName, last.Name)
			assert.NotEmpty(t, last.Events)
		})
	}
}

func TestWellFormedRefusesWhatNoClientWrites(t *testing.T) {
	t.Parallel()
	asked := func() *builder { return new(builder).add(0.5, history.Invoked, "a", 1, nil) }
	held := func() *builder { return new(builder).kept(0, 1, 9, "a", 1) }
	tests := map[string]struct {
		events []history.Event
		says   string
	}{
		"out of order": {
			[]history.Event{{T: 2, Kind: history.Invoked}, {T: 1, Kind: history.Invoked}}, "not in the order",
		},
		"asked for twice":              {asked().add(1, history.Invoked, "a", 1, nil).events, "asked twice"},
		"acquired but never asked for": {new(builder).acquired(1, "a", 1, 5).events, "which it never asked for"},
		"acquired before asked for": {
			new(builder).acquired(1, "a", 1, 5).add(2, history.Invoked, "a", 1, nil).events, "which it never asked for",
		},
		"acquired twice":              {held().acquired(6, "a", 1, 9).events, "acquired twice"},
		"without a deadline":          {asked().acquired(1, "a", 1, 0).events, "without a deadline"},
		"extended but never acquired": {asked().extended(1, "a", 1, 9).events, "never acquired"},
		"lost but never acquired":     {asked().lost(1, "a", 1).events, "never acquired"},
		"unlocked but never acquired": {asked().unlocks(1, "a", 1).events, "never acquired"},
		"extended before acquired":    {asked().extended(1, "a", 1, 9).acquired(2, "a", 1, 9).events, "never acquired"},
		"unlocked, and never called":  {held().add(3, history.Released, "a", 1, nil).events, "never called"},
		"unlocked before the call": {
			held().add(3, history.Released, "a", 1, nil).add(4, history.ReleaseCalled, "a", 1, nil).events, "never called",
		},
		"unlock called twice": {
			held().unlocks(3, "a", 1).add(4, history.ReleaseCalled, "a", 1, nil).events, "called its unlock twice",
		},
		"unlock returned twice": {held().unlocks(3, "a", 1).add(4, history.Released, "a", 1, nil).events, "returned twice"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := check.WellFormed(tt.events)
			require.False(t, v.Held())
			assert.Contains(t, v.Findings[0].Text, tt.says)
		})
	}
}

func TestWellFormedAcceptsAWorkingClient(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*builder{
		"lost": new(builder).kept(0, 10, 1000, "a", 1).extended(340, "a", 1, 1300).lost(1200, "a", 1).
			unlocks(1201, "a", 1),
		"lost in the unlock": new(builder).held(0, 10, 500, "a", 1).lost(500.2, "a", 1),
		"refused":            new(builder).refused(0, 10, "a", 1),
		"killed, asking":     new(builder).add(1, history.Invoked, "a", 1, nil),
		"killed, holding":    new(builder).kept(0, 10, 1000, "a", 1),
		"killed, unlocking":  new(builder).kept(0, 10, 1000, "a", 1).add(500, history.ReleaseCalled, "a", 1, nil),
	} {
		assert.Empty(t, check.WellFormed(s.events).Findings, name)
	}
}
