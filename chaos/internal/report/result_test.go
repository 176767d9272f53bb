package report_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/report"
)

// headline returns the headline of the page, and the result that its table shows for each checker.
func headline(t *testing.T, page string) (summary string, results map[string]string) {
	t.Helper()
	found := regexp.MustCompile(`<p class="summary">(.*?)</p>`).FindStringSubmatch(page)
	require.NotNil(t, found)
	results = map[string]string{}
	rows := regexp.MustCompile(
		`<th scope="row">([^<]*)</th><td class="result"><span class="sign">.</span> ([a-z ]+)</td><td>`,
	)
	for _, row := range rows.FindAllStringSubmatch(page, -1) {
		results[row[1]] = row[2]
	}
	return found[1], results
}

func TestTheHeadlineAgreesWithTheTable(t *testing.T) {
	t.Parallel()
	findings := []check.Finding{{Text: "two at once"}}
	held := []check.Verdict{{Checker: "fencing"}, {Checker: "residue"}}
	excuse := map[string]string{"exclusion": "not promised under these faults"}
	for name, c := range map[string]struct {
		verdict check.Verdict
		excused map[string]string
		says    string
		pass    bool
	}{
		"held":                       {check.Verdict{Checker: "exclusion"}, nil, "All 3 checks held.", true},
		"held, and was not promised": {check.Verdict{Checker: "exclusion"}, excuse, "All 3 checks held.", true},
		"violated": {
			check.Verdict{Checker: "exclusion", Findings: findings}, nil, "Violated: exclusion. 2 of 3 checks held.", false,
		},
		"undecided": {
			check.Verdict{Checker: "exclusion", Undecided: "no time"}, nil, "Undecided: exclusion. 2 of 3 checks held.", false,
		},
		"broken, and not promised": {
			check.Verdict{Checker: "exclusion", Findings: findings},
			excuse,
			"2 of 3 checks held. Broken, not promised under these faults: exclusion.", true,
		},
		"undecided, and not promised": {
			check.Verdict{Checker: "exclusion", Undecided: "no time"},
			excuse,
			"2 of 3 checks held. Undecided, not promised under these faults: exclusion.", true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := report.Run{Verdicts: append([]check.Verdict{c.verdict}, held...), Excused: c.excused}
			summary, results := headline(t, page(t, run))
			assert.Equal(t, c.says, summary)
			assert.Equal(t, c.pass, run.Good())
			n := 0
			for checker, result := range results {
				if result == "held" {
					n++
				}
				assert.Equal(t, result != "held", strings.Contains(summary, checker), "%s %s: %s", checker, result, summary)
			}
			require.Len(t, results, 3)
			assert.Contains(t, strings.Replace(summary, "All 3", "3 of 3", 1), fmt.Sprintf("%d of 3 checks held.", n))
		})
	}
}

func TestTheHeadlineNamesWhatWasToBreakAndHeld(t *testing.T) {
	t.Parallel()
	run := report.Run{Verdicts: []check.Verdict{{Checker: "exclusion"}}, Unseen: []string{"exclusion"}}
	summary, _ := headline(t, page(t, run))
	assert.Equal(t, "Held, although the scenario says that it breaks: exclusion. All 1 check held.", summary)
	assert.False(t, run.Good())
	assert.Contains(t, page(t, run), "✕ FAIL")
	assert.Contains(t, text(t, run), "exclusion       NOT BROKEN although the scenario says")
}

func TestTheHeadlineOfTheIndexNamesWhatFailed(t *testing.T) {
	t.Parallel()
	got, _ := parsed(t, index(t, t.TempDir(), suite(true)))
	assert.Contains(t, got, "Not as promised: fenced on processes.")
	assert.Contains(t, got, "Not caught: no drift budget.")
	got, _ = parsed(t, index(t, t.TempDir(), suite(false)))
	assert.NotContains(t, got, "Not as promised")
	assert.NotContains(t, got, "Not caught")
}

func TestThePictureLinksBackAndShowsTheFaults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := judged(true)
	run.Folder = dir
	require.NoError(t, report.Save(run))
	for file, says := range map[string][]string{
		"report.html": {`href="linearizability.html"`},
		"verdict.txt": {"kept in " + dir + ": history.jsonl, logs/, linearizability.html"},
		"linearizability.html": {
			`<a href="report.html">← report of made-up</a>`, "<title>linearizability · made-up</title>", "acquires",
			"clock-jump", "master 2",
		},
	} {
		got, err := os.ReadFile(filepath.Join(dir, file))
		require.NoError(t, err)
		for _, text := range says {
			assert.Contains(t, string(got), text, file)
		}
	}
	dir = t.TempDir()
	require.NoError(t, report.Save(report.Run{Folder: dir}))
	assert.NoFileExists(t, filepath.Join(dir, "linearizability.html"))
}

func TestTheReportLinksToTheIndex(t *testing.T) {
	t.Parallel()
	run := judged(false)
	_, refers := parsed(t, page(t, run))
	assert.NotContains(t, refers, "../index.html")
	run.Index = "../index.html"
	_, refers = parsed(t, page(t, run))
	assert.Contains(t, refers, "../index.html")
}
