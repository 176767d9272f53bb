package check_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/handmade"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

func TestLiveness(t *testing.T) {
	t.Parallel()
	const (
		one  = "calm begins 0; a gets 100 calm; "
		both = one + "b gets 200 calm; "
	)
	rows{
		"each acquires in time":              {one + "b gets 5000 calm", ""},
		"refused at first, acquired in time": {one + "b refused 200 calm err=held; b gets 5000 op=2 calm", ""},
		"one is late by a millisecond":       {one + "b gets 5001 calm", `b acquired "orders" only 5.001 s after`},
		"one is refused":                     {one + "b refused 4000 calm err=held-by-another", "held-by-another"},
		"a client without events":            {one, "nothing says why"},
		"one acquired during the storm only": {
			"calm begins 50; a gets 100 calm; b gets 40", "nothing says why",
		},
		"one acquired what it asked for in the storm": {one + "b gets 200", "nothing says why"},
		"one never gets what it asked for in another way": {
			both + "b refused 300 op=2 calm reader err=held", `b did not acquire "orders" as a reader within 5s`,
		},
		"one hangs as it asks in another way": {
			both + "b asks 300 op=2 calm reader", "as a reader within 5s after the storm, and nothing says why",
		},
		"one never gets a fencing token": {
			both + "b refused 400 op=2 calm fenced err=held", `b did not acquire "orders" with a fencing token`,
		},
		"one has it among several": {one + "b gets 200 calm names=orders,other", ""},
		"the storm never ended":    {"storm begins 0", "never came to the calm"},
	}.judgedBy(t, on(
		check.Terms{Clients: []string{"a", "b"}, Names: []string{handmade.Name}, Bound: 5 * time.Second}, check.Liveness,
	))
}

func TestCoverage(t *testing.T) {
	t.Parallel()
	const (
		begin = "storm begins 0; a gets 1-900; "
		end   = "; calm begins 100"
	)
	rows{
		"everything happened": {begin + "b gets 2 name=x; a extends 2-999; kill injected 4" + end, ""},
		"a client that held nothing": {
			begin + "a gets 2 op=2 name=x; a extends 2-999; kill injected 4" + end, "b never held",
		},
		"held after the storm only": {
			begin + "a gets 2 op=2 name=x; a extends 2-999; kill injected 4" + end + "; b gets 200", "b never held",
		},
		"a name that was never held": {
			begin + "b gets 2; a extends 2-999; kill injected 4" + end, `no client ever held "x"`,
		},
		"a fault that never came": {
			begin + "b gets 2 name=x; a extends 2-999; pause injected 4" + end,
			`the fault "kill" was planned and never injected`,
		},
		"no extension":         {begin + "b gets 2 name=x; kill injected 4" + end, "no lock was extended"},
		"no storm":             {"calm begins 100", "there was no storm"},
		"a storm without calm": {begin, "or it never ended"},
	}.judgedBy(t, on(check.Terms{
		Clients: []string{"a", "b"}, Names: []string{handmade.Name, "x"}, Planned: []string{"kill"}, Extends: true,
	}, check.Coverage))
}

// Failures count, whichever client reports them, and after the last unlock, too.
func TestFailuresOfTheHarnessAndOfClientsAreFound(t *testing.T) {
	t.Parallel()
	good := handmade.History("storm begins 1; c1 refused 1 err=held; calm begins 2; settled begins 3")
	for kind, checker := range map[history.Kind]judge{history.Broken: check.Broken, history.Failed: check.Clients} {
		assert.True(t, checker(good).Held(), kind)
		for _, client := range []string{"", "c1"} {
			v := checker(append(good, history.Event{T: time.Second, Kind: kind, Client: client, Err: "it did not end"}))
			require.Len(t, v.Findings, 1, kind)
			assert.Equal(t, "it did not end", v.Findings[0].Text)
		}
	}
}

func TestWhoWaitsForAFreeName(t *testing.T) {
	t.Parallel()
	held := func(name string, from, to time.Duration) check.Held {
		return check.Held{Name: name, From: from * time.Second, To: to * time.Second}
	}
	permit := func(slots int, from, to time.Duration) check.Held {
		h := held("a", from, to)
		h.Slots = slots
		return h
	}
	intent := check.Held{Name: "a", To: 11 * time.Second, Readers: true}
	for name, tt := range map[string]struct {
		mode  string
		names []string
		try   bool
		held  []check.Held
		died  map[string]time.Duration
		slots int
		found int
	}{
		"one of two slots is taken":      {slots: 2, held: []check.Held{permit(2, 0, 11)}, found: 1},
		"both slots are taken":           {slots: 2, held: []check.Held{permit(2, 0, 11), permit(2, 0, 11)}},
		"both, and one for a short time": {slots: 2, held: []check.Held{permit(2, 0, 11), permit(2, 1, 4)}, found: 1},
		"both, the second by turns": {slots: 2, held: []check.Held{
			permit(2, 0, 11), permit(2, 1, 4), permit(2, 5, 9),
		}},
		"both, by three in turn": {slots: 2, held: []check.Held{
			permit(2, 0, 6), permit(2, 0, 11), permit(2, 6, 11),
		}},
		"a slot, for a mutex":                {held: []check.Held{permit(2, 0, 11)}},
		"a slot of another number":           {slots: 3, held: []check.Held{permit(2, 0, 11)}},
		"a mutex, for a permit":              {slots: 2, held: []check.Held{held("a", 0, 11)}},
		"free all the time":                  {found: 1},
		"held all the time":                  {held: []check.Held{held("a", 0, 11)}},
		"free at the end":                    {held: []check.Held{held("a", 0, 5)}, found: 1},
		"free at the beginning":              {held: []check.Held{held("a", 6, 11)}, found: 1},
		"free in between":                    {held: []check.Held{held("a", 0, 3), held("a", 8, 11)}, found: 1},
		"free for short times":               {held: []check.Held{held("a", 2, 3), held("a", 6, 7), held("a", 9, 10)}},
		"held for no time at all":            {held: []check.Held{held("a", 3, 3), held("a", 6, 6), held("a", 8, 8)}},
		"another name is held":               {held: []check.Held{held("b", 0, 11)}, found: 1},
		"one of several names is held":       {names: []string{"a", "b"}, held: []check.Held{held("b", 0, 11)}},
		"an acquisition that does not wait":  {try: true},
		"a client that died":                 {died: map[string]time.Duration{"c": 5 * time.Second}},
		"a client that died later":           {died: map[string]time.Duration{"c": 12 * time.Second}, found: 1},
		"the client of another acquisition":  {died: map[string]time.Duration{"d": 5 * time.Second}, found: 1},
		"held, for a reader":                 {mode: kinds.Reader, held: []check.Held{intent}},
		"held for readers only":              {mode: kinds.Writer, held: []check.Held{intent}, found: 1},
		"held by two, the second for longer": {held: []check.Held{held("a", 0, 2), held("a", 1, 11)}},
		"held by two, the first for longer":  {held: []check.Held{held("a", 0, 11), held("a", 1, 2)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := history.Event{
				T: time.Second, Kind: history.Invoked, Client: "c", Mode: tt.mode, Name: "a", Names: tt.names, Try: tt.try,
				Slots: tt.slots,
			}
			got := history.Event{
				T: 11 * time.Second, Kind: history.Acquired, Client: "c", Mode: tt.mode, Name: "a", Names: tt.names,
				Slots: tt.slots,
			}
			v := check.Free([]history.Event{asked, got}, tt.held, tt.died, 4*time.Second)
			assert.Len(t, v.Findings, tt.found, "%v", v.Findings)
		})
	}
}

func TestLossNotified(t *testing.T) {
	t.Parallel()
	const (
		held   = "a keeps 10-1000; "
		frozen = held + "freeze-client injected 500 clients=0; freeze-client healed 1700 clients=0; "
	)
	rows{
		"unlocked before Until":                 {held + "a unlocks 900", ""},
		"notified before Until, unlocked after": {held + "a lost 999; a unlocks 1500", ""},
		"notified with all the slack there is":  {held + "a lost 1020", ""},
		"notified a moment later":               {held + "a lost 1020.001", "was notified of the loss only at 1.020 s"},
		"notified of the Until before the last": {held + "a extends 500-2000; a lost 2020", ""},
		"notified long after the last Until":    {held + "a extends 500-2000; a lost 2021", "believed until 2.000 s"},
		"unlocked of its own accord, late":      {held + "a unlocks 1021", "was not notified of a loss"},
		"an extension learned in time":          {held + "a extends 1010-2000; a unlocks 1500", ""},
		"an extension learned late": {
			held + "a extends 1100-2000; a unlocks 1500", "learned of an extension only at",
		},
		"notified after it had unlocked":                       {held + "a unlocks 900; a lost 1300", ""},
		"killed before Until":                                  {held, ""},
		"its process runs on, not notified":                    {held + "a quits 1100", "its process ran until 1.100 s"},
		"killed, and a register writes what it still received": {held + "a writes 1100", ""},
		"another process runs on":                              {held + "b quits 1100", ""},
		"another life runs on":                                 {held + "a quits 1100 life=1", ""},

		"frozen over its Until, notified soon": {frozen + "a lost 1715", ""},
		"frozen over its Until, notified late": {frozen + "a lost 1721", "ran for 21ms"},
		"another client frozen": {
			held + "freeze-client injected 500 clients=1; freeze-client healed 1700 clients=1; a lost 1715", "ran for 715ms",
		},
		"frozen before its Until only": {
			held + "freeze-client injected 500 clients=0; freeze-client healed 990 clients=0; a lost 1030", "ran for 30ms",
		},
		"frozen to the end":                   {held + "freeze-client injected 500 clients=0; calm begins 3000", ""},
		"stalled, and notified late":          {held + "a stalls 1010-1300; a lost 1311", "ran for 21ms in between"},
		"the process noticed that it stood":   {held + "a stalls 1010-1300; a lost 1305", ""},
		"another process noticed that it did": {held + "b stalls 1010-1300; a lost 1305", "ran for 305ms"},
		"a stall counts once": {
			held + "freeze-client injected 1000 clients=0; freeze-client healed 1300 clients=0; a stalls 1000-1300; a lost 1321",
			"ran for 21ms",
		},
	}.judgedBy(t, on(check.Terms{Clients: []string{"a", "b"}, Slack: 20 * time.Millisecond}, check.LossNotified))
}
