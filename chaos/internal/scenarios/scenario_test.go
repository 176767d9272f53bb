package scenarios_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/report"
	"github.com/redlock-go/redlock/chaos/internal/scenarios"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

func TestEveryFaultHasAScenario(t *testing.T) {
	t.Parallel()
	rows := map[string]int{}
	names := map[string]bool{}
	for _, s := range scenarios.All() {
		assert.False(t, names[s.Name], "%s is there twice", s.Name)
		names[s.Name] = true
		if s.Fault != "" {
			rows[s.Fault]++
		}
	}
	for _, f := range faults.Catalog() {
		assert.Equal(t, 1, rows[f.Name], f.Name)
	}
}

// A bound that nothing can exceed bounds nothing. Where that is so, docs/guarantees.md says it: a storm of ten seconds
// that ends with an outage is too short for a wait to be too long, unless TTLs are short, and where majorities fail
// again and again none has the time.
func TestWhereAWaitCanBeTooLong(t *testing.T) {
	t.Parallel()
	var (
		neverTooLong = []string{"majority", "everything", "mutexes/long"}
		neverFree    = []string{"only-" + faults.FollowMaster, "only-" + faults.ClockBack}
	)
	for _, s := range append(scenarios.All(), scenarios.Acceptance()) {
		var most time.Duration
		for seed := range uint64(50) {
			most = max(most, s.Counts(seed))
		}
		row, _ := faults.Lookup(s.Fault)
		blind := slices.Contains(neverFree, s.Name)
		for _, g := range s.Groups {
			tooShort := blind || row.Mute && g.TTL > traffic.ShortTTL ||
				slices.Contains(neverTooLong, s.Name) || slices.Contains(neverTooLong, s.Name+"/"+g.Names[0])
			about := fmt.Sprintf("%s: %q, at most %v count", s.Name, g.Names, most)
			assert.Equal(t, !tooShort, most > scenarios.AllowedWait(g), "a wait can be too long: %s", about)
			assert.Equal(t, !blind, most > scenarios.AllowedIdle(g), "a name can be free for too long: %s", about)
		}
	}
}

func TestWhatMayNotVoteOrForgetsIsFeltAfterItWasHealed(t *testing.T) {
	t.Parallel()
	assert.Subset(t, scenarios.Lasting(), []string{faults.KillMaster, faults.KillMasterKept, faults.FlushAll, faults.ClockBack})
	assert.NotContains(t, scenarios.Lasting(), faults.PauseMaster)
	assert.NotContains(t, scenarios.Lasting(), faults.CutLink)
}

func TestFindTakesPatterns(t *testing.T) {
	t.Parallel()
	found, err := scenarios.Find("only-clock-*")
	require.NoError(t, err)
	assert.Len(t, found, 4)
	_, err = scenarios.Find("calm")
	require.ErrorContains(t, err, `no scenario is called "calm"`)
	_, err = scenarios.Find("[")
	require.Error(t, err)
}

func TestAnOutcomeIsGoodIfEverythingIsAsPromised(t *testing.T) {
	t.Parallel()
	var (
		found     = []check.Finding{{Text: "two at once"}}
		held      = check.Verdict{Checker: "exclusion"}
		violated  = check.Verdict{Checker: "exclusion", Findings: found}
		undecided = check.Verdict{Checker: "linearizability", Undecided: "no time"}
		model     = check.Verdict{Checker: "linearizability", Findings: found}
		register  = check.Verdict{Checker: "register", Findings: found}
		residue   = check.Verdict{Checker: "residue", Findings: found}
		promise   = func(p report.Promise) scenarios.Promises {
			return scenarios.Promises{scenarios.Exclusion: {Promise: p}}
		}
	)
	for name, tt := range map[string]struct {
		promises scenarios.Promises
		verdicts []check.Verdict
		wrong    string // "": good
	}{
		"kept, and held":                     {nil, []check.Verdict{held}, ""},
		"kept, and violated":                 {nil, []check.Verdict{violated}, "two at once"},
		"kept, and undecided":                {nil, []check.Verdict{held, undecided}, "no time"},
		"kept given something, and violated": {promise(report.KeptGiven), []check.Verdict{violated}, "two at once"},
		"open, and held":                     {promise(report.Open), []check.Verdict{held}, ""},
		"open, and violated":                 {promise(report.Open), []check.Verdict{violated}, ""},
		"not promised, and seen broken":      {promise(report.NotPromised), []check.Verdict{violated}, ""},
		"not promised, and not seen broken":  {promise(report.NotPromised), []check.Verdict{held}, "was not seen broken"},
		"not promised, and seen broken by the model alone": {
			promise(report.NotPromised), []check.Verdict{held, model}, "exclusion is said not to be promised, and was not seen broken",
		},
		"seen broken by both": {promise(report.NotPromised), []check.Verdict{violated, model}, ""},
		"fencing, seen broken by what a register took alone": {
			scenarios.Promises{scenarios.Fencing: {Promise: report.NotPromised}},
			[]check.Verdict{held, register},
			"fencing is said not to be promised, and was not seen broken",
		},
		"what no column promises must hold":    {promise(report.Open), []check.Verdict{residue}, "residue"},
		"another column is no excuse for this": {promise(report.NotPromised), []check.Verdict{residue, violated}, "residue"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := scenarios.Outcome{Scenario: scenarios.Scenario{Promises: tt.promises}, Verdicts: tt.verdicts}
			assert.Equal(t, tt.wrong == "", o.Good())
			if tt.wrong != "" {
				require.Len(t, o.Wrong(), 1)
				assert.Contains(t, o.Wrong()[0], tt.wrong)
			}
		})
	}
	assert.False(t, scenarios.Outcome{}.Good(), "a run that checked nothing")
	for _, c := range scenarios.Columns() {
		assert.Contains(t, scenarios.CheckersOf(c), string(c), "what is said to be broken must be seen by the checker of that name")
	}
}
