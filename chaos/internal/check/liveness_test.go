package check_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

func calmly(e *history.Event) { e.Phase, e.Until, e.Token = history.Calm, e.T+time.Second, "t" }

func refusedCalmly(e *history.Event) { e.Phase, e.Err = history.Calm, "held by another" }

func fencedCalmly(e *history.Event) { e.Phase, e.Fencing = history.Calm, true }

func amongSeveral(e *history.Event) {
	calmly(e)
	e.Name, e.Names = lockName+",other", []string{lockName, "other"}
}

func asReader(f func(e *history.Event)) func(e *history.Event) {
	return func(e *history.Event) {
		f(e)
		e.Mode = kinds.Reader
	}
}

func TestLiveness(t *testing.T) {
	t.Parallel()
	clients, names := []string{"a", "b"}, []string{lockName}
	tests := map[string]struct {
		builder *builder
		says    string // "" if it holds
	}{
		"each acquires in time": {
			new(builder).phase(0, history.Calm).add(100, history.Acquired, "a", 1, calmly).
				add(5000, history.Acquired, "b", 1, calmly), "",
		},
		"refused at first, acquired in time": {
			new(builder).phase(0, history.Calm).add(100, history.Acquired, "a", 1, calmly).
				add(200, history.Refused, "b", 1, refusedCalmly).add(5000, history.Acquired, "b", 2, calmly), "",
		},
		"one is late by a millisecond": {
			new(builder).phase(0, history.Calm).add(100, history.Acquired, "a", 1, calmly).
				add(5001, history.Acquired, "b", 1, calmly),
			"b acquired \"orders\" only 5.001 s after",
		},
		"one is refused": {
			new(builder).phase(0, history.Calm).add(100, history.Acquired, "a", 1, calmly).
				add(4000, history.Refused, "b", 1, refusedCalmly),
			"held by another",
		},
		"a client without events": {
			new(builder).phase(0, history.Calm).add(100, history.Acquired, "a", 1, calmly), "nothing says why",
		},
		"one acquired during the storm only": {
			new(builder).phase(50, history.Calm).add(100, history.Acquired, "a", 1, calmly).acquired(40, "b", 1, 1000),
			"nothing says why",
		},
		"one never gets what it asked for in another way": {
			new(builder).phase(0, history.Calm).add(100, history.Acquired, "a", 1, calmly).
				add(200, history.Acquired, "b", 1, calmly).
				add(300, history.Refused, "b", 2, asReader(refusedCalmly)),
			"b did not acquire \"orders\" as a reader within 5s",
		},
		"one hangs as it asks in another way": {
			new(builder).phase(0, history.Calm).add(100, history.Acquired, "a", 1, calmly).
				add(200, history.Acquired, "b", 1, calmly).
				add(300, history.Invoked, "b", 2, asReader(calmly)),
			"as a reader within 5s after the storm, and nothing says why",
		},
		"one never gets a fencing token": {
			new(builder).phase(0, history.Calm).add(100, history.Acquired, "a", 1, calmly).
				add(200, history.Acquired, "b", 1, calmly).
				add(300, history.Invoked, "b", 2, fencedCalmly).add(
				400, history.Refused, "b", 2, refusedCalmly,
			), "b did not acquire \"orders\" with a fencing token",
		},
		"one has it among several": {
			new(builder).phase(0, history.Calm).add(100, history.Acquired, "a", 1, calmly).
				add(200, history.Acquired, "b", 1, amongSeveral), "",
		},
		"the storm never ended": {new(builder).phase(0, history.Storm), "never came to the calm"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := check.Liveness(
				tt.builder.events, check.Terms{Clients: clients, Names: names, Bound: 5 * time.Second})
			if tt.says == "" {
				assert.True(t, v.Held(), "%v", v.Findings)
				return
			}
			require.Len(t, v.Findings, 1)
			assert.Contains(t, v.Findings[0].Text, tt.says)
		})
	}
}

func TestCoverage(t *testing.T) {
	t.Parallel()
	storm := func() *builder {
		return new(builder).phase(0, history.Storm).acquired(1, "a", 1, 900).extended(2, "a", 1, 999).unlocks(3, "a", 1).
			fault(4, history.Inject, "kill", 1).phase(100, history.Calm)
	}
	tests := map[string]struct {
		builder                *builder
		clients, names, faults []string
		says                   string // "" if it holds
	}{
		"everything happened":        {storm(), []string{"a"}, []string{lockName}, []string{"kill"}, ""},
		"a client that held nothing": {storm(), []string{"a", "b"}, []string{lockName}, nil, "b never held"},
		"a name that was never held": {storm(), []string{"a"}, []string{lockName, "x"}, nil, `no client ever held "x"`},
		"a fault that never came":    {storm(), []string{"a"}, []string{lockName}, []string{"pause"}, "never injected"},
		"no extension": {
			new(builder).phase(0, history.Storm).acquired(1, "a", 1, 900).phase(100, history.Calm),
			[]string{"a"},
			[]string{lockName},
			nil, "no lock was extended",
		},
		"held after the storm only": {
			storm().acquired(200, "b", 1, 999), []string{"a", "b"}, []string{lockName}, nil, "b never held",
		},
		"no storm": {new(builder), nil, nil, nil, "there was no storm"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := check.Coverage(tt.builder.events, check.Terms{
				Clients: tt.clients, Names: tt.names, Planned: tt.faults, Extends: true,
			})
			if tt.says == "" {
				assert.True(t, v.Held(), "%v", v.Findings)
				return
			}
			require.Len(t, v.Findings, 1)
			assert.Contains(t, v.Findings[0].Text, tt.says)
		})
	}
}

// Failures count, whichever client reports them, and after the last unlock, too.
func TestFailuresOfTheHarnessAndOfClientsAreFound(t *testing.T) {
	t.Parallel()
	good := []history.Event{
		{T: 1, Kind: history.Phase, Phase: history.Storm},
		{T: 1, Kind: history.Refused, Client: "c1", Err: "held"},
		{T: 2, Kind: history.Phase, Phase: history.Calm},
		{T: 3, Kind: history.Phase, Phase: history.Settled},
	}
	for kind, checker := range map[history.Kind]func([]history.Event) check.Verdict{
		history.Broken: check.Broken, history.Failed: check.Clients,
	} {
		assert.True(t, checker(good).Held(), kind)
		for _, client := range []string{"", "c1"} {
			v := checker(append(good, history.Event{T: 4, Kind: kind, Client: client, Err: "it did not end"}))
			require.Len(t, v.Findings, 1, kind)
			assert.Equal(t, "it did not end", v.Findings[0].Text)
		}
	}
}
