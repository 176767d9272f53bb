package check_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

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
