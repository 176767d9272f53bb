package check_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
)

func (s *builder) stalled(ms float64, client string, length float64) *builder {
	return s.add(ms, history.Stalled, client, 0, func(e *history.Event) { e.Name, e.Stall = "", at(length) })
}

func (s *builder) onClient(ms float64, kind history.Kind, client int) *builder {
	s.fault(ms, kind, "freeze-client", client)
	for i := range s.events {
		if s.events[i].Fault == "freeze-client" {
			s.events[i].On = "clients"
		}
	}
	return s
}

// quits is the last line of a process.
func (s *builder) quits(ms float64, client string) *builder {
	return s.add(ms, history.Quitting, client, 0, nil)
}

func TestTold(t *testing.T) {
	t.Parallel()
	const slack = 20 * time.Millisecond
	tests := map[string]struct {
		builder *builder
		says    string // "" if it holds
	}{
		"unlocked before Until": {new(builder).kept(0, 10, 1000, "a", 1).unlocks(900, "a", 1), ""},
		"notified before Until, unlocked after": {
			new(builder).kept(0, 10, 1000, "a", 1).lost(999, "a", 1).unlocks(1500, "a", 1), "",
		},
		"notified with all the slack there is": {new(builder).kept(0, 10, 1000, "a", 1).lost(1020, "a", 1), ""},
		"notified a moment later": {
			new(builder).kept(0, 10, 1000, "a", 1).lost(1020.001, "a", 1), "was notified of the loss only at 1.020 s",
		},
		"notified of the Until before the last": {
			new(builder).kept(0, 10, 1000, "a", 1).extended(500, "a", 1, 2000).lost(2020, "a", 1), "",
		},
		"notified long after the last Until": {
			new(builder).kept(0, 10, 1000, "a", 1).extended(500, "a", 1, 2000).lost(2021, "a", 1), "believed until 2.000 s",
		},
		"unlocked of its own accord, late": {
			new(builder).kept(0, 10, 1000, "a", 1).unlocks(1021, "a", 1), "was not notified of a loss",
		},
		"an extension learned in time": {
			new(builder).kept(0, 10, 1000, "a", 1).extended(1010, "a", 1, 2000).unlocks(1500, "a", 1), "",
		},
		"an extension learned late": {
			new(builder).kept(0, 10, 1000, "a", 1).extended(1100, "a", 1, 2000).unlocks(1500, "a", 1),
			"learned of an extension only at",
		},
		"killed before Until": {new(builder).kept(0, 10, 1000, "a", 1), ""},
		"its process runs on, not notified": {
			new(builder).kept(0, 10, 1000, "a", 1).quits(1100, "a"), "its process ran until 1.100 s",
		},
		"killed, and a register writes what it still received": {
			new(builder).kept(0, 10, 1000, "a", 1).add(1100, history.Written, "a", 1, func(e *history.Event) {
				e.Register = history.Trusting
			}), "",
		},
		"another process runs on": {new(builder).kept(0, 10, 1000, "a", 1).quits(1100, "b"), ""},
		"another life runs on": {
			new(builder).kept(0, 10, 1000, "a", 1).add(1100, history.Quitting, "a", 0, func(e *history.Event) { e.Life = 1 }),
			"",
		},
		"frozen over its Until, notified soon": {
			new(builder).kept(0, 10, 1000, "a", 1).onClient(500, history.Inject, 0).onClient(1700, history.Heal, 0).
				lost(1715, "a", 1),
			"",
		},
		"frozen over its Until, notified late": {
			new(builder).kept(0, 10, 1000, "a", 1).onClient(500, history.Inject, 0).onClient(1700, history.Heal, 0).
				lost(1721, "a", 1),
			"ran for 21ms",
		},
		"another client frozen": {
			new(builder).kept(0, 10, 1000, "a", 1).onClient(500, history.Inject, 1).onClient(1700, history.Heal, 1).
				lost(1715, "a", 1),
			"ran for 715ms",
		},
		"frozen before its Until only": {
			new(builder).kept(0, 10, 1000, "a", 1).onClient(500, history.Inject, 0).onClient(990, history.Heal, 0).
				lost(1030, "a", 1),
			"ran for 30ms",
		},
		"frozen to the end": {
			new(builder).kept(0, 10, 1000, "a", 1).onClient(500, history.Inject, 0).phase(3000, history.Calm), "",
		},
		"stalled, and notified late": {
			new(builder).kept(0, 10, 1000, "a", 1).stalled(1300, "a", 290).lost(1311, "a", 1),
			"ran for 21ms in between, allowed are 20ms",
		},
		"the process noticed that it stood": {
			new(builder).kept(0, 10, 1000, "a", 1).stalled(1300, "a", 290).lost(1305, "a", 1), "",
		},
		"a stall counts once": {
			new(builder).kept(0, 10, 1000, "a", 1).onClient(1000, history.Inject, 0).onClient(1300, history.Heal, 0).
				stalled(1300, "a", 300).lost(1321, "a", 1),
			"ran for 21ms",
		},
		"another process noticed that it did": {
			new(builder).kept(0, 10, 1000, "a", 1).stalled(1300, "b", 290).lost(1305, "a", 1), "ran for 305ms",
		},
		"notified after it had unlocked": {
			new(builder).kept(0, 10, 1000, "a", 1).unlocks(900, "a", 1).lost(1300, "a", 1), "",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := check.LossNotified(tt.builder.events, check.Terms{Clients: []string{"a", "b"}, Slack: slack})
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
