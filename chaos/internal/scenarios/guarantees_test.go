package scenarios_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/report"
	"github.com/redlock-go/redlock/chaos/internal/scenarios"
)

// The table in the documentation is the one that the scenarios declare.
func TestTheTableOfGuaranteesIsUpToDate(t *testing.T) {
	t.Parallel()
	require.NoError(t, scenarios.CheckTable("../../../docs/guarantees.md"))
}

// outcome is a run in which these checkers found something.
func outcome(s scenarios.Scenario, on string, found ...string) scenarios.Outcome {
	out := scenarios.Outcome{Scenario: s, Run: report.Run{Backend: on}}
	for _, checker := range []string{
		"exclusion", "linearizability", "fencing", "register", "loss notified", "liveness", "residue",
	} {
		v := check.Verdict{Checker: checker}
		for _, name := range found {
			if name == checker {
				v.Findings = []check.Finding{{Text: "seen"}}
			}
		}
		out.Verdicts = append(out.Verdicts, v)
	}
	return out
}

// asDeclared are outcomes of all rows on two backends, as the scenarios declare them.
func asDeclared() (all []scenarios.Outcome) {
	for _, s := range scenarios.All() {
		var found []string
		for c, p := range s.Promises {
			if p == scenarios.Broken {
				found = append(found, string(c))
			}
		}
		for _, on := range []string{backend.Processes, scenarios.Simulation} {
			all = append(all, outcome(s, on, found...))
		}
	}
	return all
}

// of is the place of a scenario's first outcome.
func of(t *testing.T, all []scenarios.Outcome, name string) int {
	t.Helper()
	for i, o := range all {
		if o.Scenario.Name == name {
			return i
		}
	}
	require.Fail(t, "no scenario is called "+name)
	return 0
}

func TestRunsShowTheTableThatIsDeclared(t *testing.T) {
	t.Parallel()
	shown := scenarios.Show(asDeclared())
	assert.Equal(t, scenarios.Table(), shown.Table)
	assert.Empty(t, shown.Changed)
	assert.Empty(t, shown.Untried)
}

func TestACellChangesWithWhatARunShows(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		scenario, on string
		found        []string
		changed      string // "": none
		row          string // what it says then
	}{
		"kept, and seen broken": {
			"only-cut-link", backend.Processes,
			[]string{"exclusion"},
			"exclusion under cut-link: declared to be \"kept\", and shown to be \"not promised (seen broken)\"",
			"| exclusion: not promised (seen broken); liveness: kept, given",
		},
		"kept, and seen broken in virtual time": {
			"only-cut-link", scenarios.Simulation, []string{"exclusion"}, "only-cut-link on simulation", "seen broken",
		},
		"kept, and another checker of the column finds it": {
			"only-cut-link", backend.Processes,
			[]string{"register"},
			"fencing under cut-link",
			"| fencing: not promised (seen broken); liveness: kept, given",
		},
		"kept given something, and seen broken": {
			"only-cut-link", backend.Processes, []string{"liveness"}, "liveness under cut-link", "seen broken",
		},
		"to be seen broken, and not": {
			"only-flush-all", backend.Processes, nil,
			"exclusion under flush-all: declared to be \"not promised (seen broken)\", and shown to be \"kept\"",
			"| slots, minimum hold: not promised; leaders: kept, given",
		},
		"to be seen broken, and only by another checker": {
			"only-flush-all", backend.Processes,
			[]string{"linearizability"},
			"exclusion under flush-all",
			"| slots, minimum hold: not promised;",
		},
		"neither promised nor to be seen": {
			"only-follow-master", backend.Processes,
			[]string{"exclusion"},
			"",
			"| exclusion, slots, minimum hold: not promised;",
		},
		"in no column": {"only-cut-link", backend.Processes, []string{"residue"}, "", "| liveness: kept, given"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := asDeclared()
			at := of(t, all, tt.scenario)
			if tt.on == scenarios.Simulation {
				at++
			}
			all[at] = outcome(all[at].Scenario, tt.on, tt.found...)
			shown := scenarios.Show(all)
			rows := 0
			for line := range strings.Lines(shown.Table) {
				if strings.Contains(line, "`"+tt.scenario+"`") {
					rows++
					assert.Contains(t, line, tt.row)
				}
			}
			assert.Equal(t, 1, rows)
			if tt.changed == "" {
				assert.Empty(t, shown.Changed)
				return
			}
			require.Len(t, shown.Changed, 1)
			assert.Contains(t, shown.Changed[0], tt.changed)
		})
	}
}

func TestWhatWasNotPlayedIsNotTried(t *testing.T) {
	t.Parallel()
	all := asDeclared()
	at := of(t, all, "only-cut-link")
	for _, not := range []scenarios.Outcome{
		{Scenario: all[at].Scenario, Run: report.Run{Backend: backend.Processes, Skipped: "no masters"}},
		{Scenario: all[at].Scenario, Run: report.Run{
			Backend: backend.Processes, NoVerdict: "broken off", Verdicts: all[at].Verdicts,
		}},
	} {
		all[at] = not
		shown := scenarios.Show(all) // virtual time alone shows too little
		assert.Equal(t, []string{"only-cut-link"}, shown.Untried)
		assert.Empty(t, shown.Changed)
		assert.Contains(t, shown.Table, ", minimum hold, leaders, fencing, loss notified, liveness: not tried |")
	}
	all[at+1] = outcome(all[at].Scenario, scenarios.Simulation, "exclusion")
	shown := scenarios.Show(all)
	assert.Len(t, shown.Changed, 1, "but what it finds is found")
}

func TestWhatAFirstAttemptFoundChangesTheCell(t *testing.T) {
	t.Parallel()
	all := asDeclared()
	all[of(t, all, "only-cut-link")].Despite = []string{"exclusion: two at once (in a run whose harness broke: a folder)"}
	shown := scenarios.Show(all)
	require.Len(t, shown.Changed, 1)
	assert.Contains(t, shown.Changed[0], "exclusion under cut-link")
}

func TestTheTableIsPutIntoItsPlace(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "guarantees.md")
	text, err := os.ReadFile("../../../docs/guarantees.md")
	require.NoError(t, err)
	declared := scenarios.Table()
	require.True(t, strings.Contains(string(text), declared))
	require.NoError(t, os.WriteFile(file, text, 0o644))
	require.NoError(t, scenarios.WriteTable(file, "another\n"))
	require.ErrorContains(t, scenarios.CheckTable(file), "make guarantees")
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.True(t, strings.Replace(string(text), declared, "another\n", 1) == string(got), "and nothing else is changed")
}
