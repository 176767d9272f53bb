package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/check"
	"github.com/redlock-go/redlock/chaos/history"
	"github.com/redlock-go/redlock/chaos/report"
	"github.com/redlock-go/redlock/chaos/scenarios"
)

var options = scenarios.Options{Backend: "processes", Duration: 40 * time.Second, Clients: 3, Seed: 17}

func text(t *testing.T, r scenarios.Result, folder string) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, report.Text(&b, options, r, folder))
	return b.String()
}

func TestAGoodRunSaysSoAndHowToRepeatIt(t *testing.T) {
	t.Parallel()
	got := text(t, scenarios.Result{
		Verdicts: []check.Verdict{{Checker: "exclusion", Looked: "7 holds"}},
		Controls: []scenarios.Caught{{Lock: "SETNX", Checker: "exclusion", Caught: true, Text: "held by two"}},
	}, "")
	assert.Equal(t, `exclusion  held       7 holds
control    caught     SETNX, by exclusion: held by two
seed 17; again: go run ./chaos -backend processes -duration 40s -clients 3 -seed 17
PASS
`, got)
}

func TestAViolationIsShownWithItsProof(t *testing.T) {
	t.Parallel()
	v := check.Verdict{Checker: "exclusion", Looked: "7 holds"}
	for range 7 {
		v.Findings = append(v.Findings, check.Finding{Name: "n", Text: "held by two", Events: []history.Event{{
			T: time.Second, Kind: history.Acquired, Client: "c1", Life: 2, Worker: 3, Op: 4, Name: "n", Token: "t", Until: 2 * time.Second,
		}}})
	}
	got := text(t, scenarios.Result{
		Verdicts: []check.Verdict{v}, Controls: []scenarios.Caught{{Caught: true}},
	}, "some/folder")
	assert.Contains(t, got, "exclusion  VIOLATED   7 holds\n    held by two\n      1.000000 acquired c1.2/3/4 \"n\" token t until 2.000000\n")
	assert.Contains(t, got, "… and 2 more\n")
	assert.Contains(t, got, "kept in some/folder")
	assert.Contains(t, got, "\nFAIL\n")
}

func TestAControlThatSurvivesFailsTheRun(t *testing.T) {
	t.Parallel()
	got := text(t, scenarios.Result{
		Verdicts: []check.Verdict{{Checker: "exclusion"}},
		Controls: []scenarios.Caught{{Lock: "SETNX", Checker: "residue", Text: "nothing found"}},
	}, "")
	assert.Contains(t, got, "control    NOT CAUGHT SETNX, by residue: nothing found\n")
	assert.Contains(t, got, "\nFAIL\n")
}

func TestARunThatLookedAtNothingFails(t *testing.T) {
	t.Parallel()
	held := []check.Verdict{{Checker: "exclusion"}}
	caught := []scenarios.Caught{{Caught: true}}
	for name, r := range map[string]scenarios.Result{
		"nothing": {}, "no verdict": {Controls: caught}, "no control": {Verdicts: held},
	} {
		assert.Contains(t, text(t, r, ""), "FAIL\n", name)
	}
	assert.NotContains(t, text(t, scenarios.Result{Verdicts: held, Controls: caught}, ""), "FAIL")
}
