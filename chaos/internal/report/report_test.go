package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/report"
)

func text(t *testing.T, r report.Run) string {
	t.Helper()
	r.Seed, r.Replay = 17, "go run ./chaos -seed 17"
	var b strings.Builder
	require.NoError(t, report.Text(&b, r))
	return b.String()
}

func TestAGoodRunSaysSoAndHowToRepeatIt(t *testing.T) {
	t.Parallel()
	got := text(t, report.Run{
		Verdicts: []check.Verdict{{Checker: "exclusion", Looked: "7 holds"}},
		Notes:    []string{"without freezes"},
	})
	assert.Equal(t, `exclusion       held       7 holds
note: without freezes
seed 17; again: go run ./chaos -seed 17
PASS
`, got)
}

func TestAViolationIsShownWithItsProof(t *testing.T) {
	t.Parallel()
	v := check.Verdict{Checker: "exclusion", Looked: "7 holds"}
	for range 7 {
		v.Findings = append(v.Findings, check.Finding{Name: "n", Text: "held by two", Events: []history.Event{{
			T: time.Second, Kind: history.Acquired, Client: "c1", Life: 2, Worker: 3, Op: 4, Name: "n", Token: "t",
			Until: 2 * time.Second,
		}}})
	}
	got := text(t, report.Run{
		Verdicts: []check.Verdict{v}, Folder: "some/folder", Files: []report.File{{Path: "history.jsonl"}, {Path: "logs/"}},
	})
	assert.Contains(
		t, got,
		"exclusion       VIOLATED   7 holds\n    held by two\n      1.000000 acquired c1.2/3/4 \"n\" token t until "+
			"2.000000\n",
	)
	assert.Contains(t, got, "… and 2 more\n")
	assert.Contains(t, got, "kept in some/folder: history.jsonl, logs/\n")
	assert.Contains(t, got, "\nFAIL\n")
}

func TestWhatIsUndecidedFailsTheRun(t *testing.T) {
	t.Parallel()
	got := text(t, report.Run{Verdicts: []check.Verdict{{Checker: "linearizability", Undecided: "out of time"}}})
	assert.Contains(t, got, "linearizability UNDECIDED")
	assert.Contains(t, got, "    undecided: out of time\n")
	assert.Contains(t, got, "\nFAIL\n")
}

func TestARunThatLookedAtNothingFails(t *testing.T) {
	t.Parallel()
	assert.Contains(t, text(t, report.Run{}), "FAIL\n")
	assert.NotContains(t, text(t, report.Run{Verdicts: []check.Verdict{{Checker: "exclusion"}}}), "FAIL")
}
