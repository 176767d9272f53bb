package scenarios_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/scenarios"
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

func TestLastingHasTheFaultsWithEffectsAfterTheyAreHealed(t *testing.T) {
	t.Parallel()
	lasting := faults.Named(faults.Catalog(), faults.Traits.Lasts)
	assert.Subset(t, lasting, []string{faults.KillMaster, faults.KillMasterKept, faults.FlushAll, faults.ClockBack})
	assert.NotContains(t, lasting, faults.PauseMaster)
	assert.NotContains(t, lasting, faults.CutLink)
}

// Where a fault breaks exclusion, a leader may have a smaller term than an earlier leader, if it had campaigned before
// that one led. Under every other fault a later leader has a larger term.
func TestReorderingHasTheFaultsThatBreakAnAssumption(t *testing.T) {
	t.Parallel()
	for _, f := range faults.Catalog() {
		breaks := f.Breaks != ""
		assert.Equal(t, breaks, f.Reorders(), f.Name)
	}
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
		found    = []check.Finding{{Text: "two at once"}}
		held     = check.Verdict{Checker: "exclusion"}
		violated = check.Verdict{Checker: "exclusion", Findings: found}
		register = check.Verdict{Checker: "register", Findings: found}
		residue  = check.Verdict{Checker: "residue", Findings: found}
		promise  = func(p scenarios.Promise) scenarios.Promises {
			return scenarios.Promises{check.ByExclusion: p}
		}
	)
	for name, tt := range map[string]struct {
		promises scenarios.Promises
		verdicts []check.Verdict
		wrong    string // "": good
	}{
		"kept, and held":                     {nil, []check.Verdict{held}, ""},
		"kept, and violated":                 {nil, []check.Verdict{violated}, "two at once"},
		"kept given something, and violated": {promise(scenarios.Given("luck")), []check.Verdict{violated}, "two at once"},
		"open, and held":                     {promise(scenarios.Open), []check.Verdict{held}, ""},
		"open, and violated":                 {promise(scenarios.Open), []check.Verdict{violated}, ""},
		"not promised, and seen broken":      {promise(scenarios.Broken), []check.Verdict{violated}, ""},
		"not promised, and not seen broken":  {promise(scenarios.Broken), []check.Verdict{held}, "was not seen broken"},
		"fencing, seen broken by what a register took alone": {
			scenarios.Promises{check.ByFencing: scenarios.Broken},
			[]check.Verdict{held, register},
			"fencing is said not to be promised, and was not seen broken",
		},
		"what no column promises must hold":    {promise(scenarios.Open), []check.Verdict{residue}, "residue"},
		"another column is no excuse for this": {promise(scenarios.Broken), []check.Verdict{residue, violated}, "residue"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := scenarios.Outcome{
				Scenario: scenarios.Scenario{Promises: tt.promises}, Verdicts: tt.verdicts,
			}
			assert.Equal(t, tt.wrong == "", o.Good())
			if tt.wrong != "" {
				require.Len(t, o.Wrong(), 1)
				assert.Contains(t, o.Wrong()[0], tt.wrong)
			}
		})
	}
	rare := scenarios.Outcome{
		Scenario: scenarios.Scenario{Promises: promise(scenarios.Broken), Rare: true}, Verdicts: []check.Verdict{held},
	}
	assert.True(t, rare.Good(), "a storm on real masters")
	rare.Schedules = 1
	assert.False(t, rare.Good(), "schedules")
	assert.False(t, scenarios.Outcome{}.Good(), "a run that checked nothing")
	assert.Equal(
		t, []string{"exclusion", "slots", "minimum hold", "fencing", "loss notified", "liveness"}, scenarios.Columns(),
	)
}

func TestTheTextOfAnOutcomeHasTheProof(t *testing.T) {
	t.Parallel()
	v := check.Verdict{Checker: "exclusion", Looked: "7 holds"}
	event := history.Event{
		T: time.Second, Kind: history.Acquired, Client: "c1", Life: 2, Worker: 3, Op: 4, Name: "n", Token: "t",
		Until: 2 * time.Second,
	}
	o := scenarios.Outcome{Seed: 17, Replay: "go run ./chaos -seed 17", Verdicts: []check.Verdict{v}}
	o.Scenario.About = "about"
	assert.Equal(t, "exclusion       held       7 holds\nnote: about\nnote: without freezes\n"+
		"seed 17; again: go run ./chaos -seed 17\nPASS\n", o.Text(nil, "without freezes"))
	for range 7 {
		v.Findings = append(v.Findings, check.Finding{Name: "n", Text: "held by two", Events: []history.Event{event}})
	}
	o.Verdicts[0] = v
	text := o.Text([]history.Event{event})
	assert.Contains(t, text, "exclusion       VIOLATED   7 holds\n    held by two\n"+
		"      0.000000 acquired c1.2/3/4 \"n\" token t until 1.000000\n")
	assert.Contains(t, text, "… and 2 more\n")
	assert.Contains(t, text, "\nFAIL\n")
	o.Scenario.Promises = scenarios.Promises{check.ByExclusion: scenarios.Open}
	assert.Contains(t, o.Text(nil), "exclusion       broken, not promised under these faults 7 holds\n")
	o.Scenario.Promises = scenarios.Promises{check.BySlots: scenarios.Broken}
	assert.Contains(t, o.Text(nil), "slots           NOT BROKEN")
}
