package check_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
)

func (s *builder) sockets(ms float64, master, connections int, channels ...string) *builder {
	s.events = append(s.events, history.Event{
		T: at(ms), Kind: history.Sockets, Master: master, Connections: connections, Channels: channels,
	})
	history.Sort(s.events)
	return s
}

func (s *builder) closed(ms float64, client string, life, goroutines int) *builder {
	return s.add(ms, history.Quitting, client, 0, func(e *history.Event) { e.Life, e.Goroutines = life, goroutines })
}

func TestLeaks(t *testing.T) {
	t.Parallel()
	closed := func() *builder {
		return new(builder).phase(100, history.Settled).closed(500, "a", 0, 0).closed(1000, "b", 1, 0)
	}
	clean := func(s *builder) *builder { return s.sockets(3000, 0, 0).sockets(3000, 1, 0) }
	tests := map[string]struct {
		builder *builder
		says    string // "" if it holds
	}{
		"nothing is left":                {clean(closed()), ""},
		"clean at once":                  {closed().sockets(1001, 0, 0).sockets(1001, 1, 0), ""},
		"a connection that goes in time": {clean(closed().sockets(2999, 0, 1)), ""},
		"a connection that stays":        {clean(closed()).sockets(3001, 0, 1), "master 0 has 1 connections"},
		"one that stays and then goes": {
			closed().sockets(3001, 0, 1).sockets(3002, 0, 0).sockets(3000, 1, 0), "master 0 has 1 connections",
		},
		"one that was never seen to go": {
			closed().sockets(2000, 0, 1).sockets(3000, 1, 0), "master 0 has 1 connections",
		},
		"a subscription that stays": {
			closed().sockets(3000, 0, 0).sockets(3000, 1, 0, "redlock:orders"), "subscriptions [redlock:orders]",
		},
		"looked at before the last closed": {
			closed().sockets(999, 0, 0).sockets(3000, 1, 0), "master 0 was not inspected for connections",
		},
		"connections before the last closed": {clean(closed().sockets(999, 0, 9)), ""},
		"a master that returned later": {
			closed().down(50, 2000, "pause", 1).sockets(3500, 1, 1).sockets(4000, 1, 0).sockets(3000, 0, 0), "",
		},
		"a master looked at before it returned": {
			clean(closed().down(50, 3001, "pause", 1)), "master 1 was not inspected for connections",
		},
		"a goroutine is left": {
			clean(closed().closed(900, "b", 0, 3)), "b.0 closed its locker, and 3 goroutines of it are left",
		},
		"a life that was killed": {clean(closed().held(10, 20, 30, "b", 1)), ""},
		"the last life said nothing": {
			clean(closed().add(2000, history.Invoked, "a", 1, func(e *history.Event) { e.Life = 1 })),
			"a.1 never closed its locker",
		},
		"a client without events": {
			clean(new(builder).phase(100, history.Settled).closed(500, "a", 0, 0)), "b.0 never closed",
		},
		"a run that never settled": {new(builder), "never settled"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := check.Leaks(tt.builder.events, check.Terms{Clients: []string{"a", "b"}, Masters: 2, Grace: grace})
			if tt.says == "" {
				assert.Empty(t, v.Findings)
				return
			}
			require.Len(t, v.Findings, 1)
			assert.Contains(t, v.Findings[0].Text, tt.says)
		})
	}
}
