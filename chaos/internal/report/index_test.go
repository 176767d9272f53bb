package report_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/report"
)

// suite returns an index with everything that it can have. If bad is set, one of each has failed.
func suite(bad bool) report.Index {
	verdicts := func(change func(v *check.Verdict)) []check.Verdict {
		var all []check.Verdict
		for _, c := range []string{
			"exclusion", "linearizability", "fencing", "register", "loss notified", "liveness", "coverage", "leaks",
			"well-formed", "harness", "residue",
		} {
			v := check.Verdict{Checker: c}
			if c == "register" {
				v.Figures = []check.Figure{{What: check.TakenByTrusting, N: 190}, {What: check.LostByTrusting, N: 2}}
			}
			change(&v)
			all = append(all, v)
		}
		return all
	}
	held := verdicts(func(*check.Verdict) {})
	broken := verdicts(func(v *check.Verdict) {
		switch v.Checker {
		case "exclusion":
			v.Findings = []check.Finding{{Text: `"kept" was held by two <at once>`}}
		case "linearizability":
			v.Undecided = "out of time"
		}
	})
	x := report.Index{
		Replay: "go run ./chaos -schedules 5000 -seed 17", Seed: 17, Commit: "0123456789ab",
		Began: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Took:  401 * time.Second, Ended: true,
		Played: []report.Run{
			{
				Name: "mutexes", Backend: "containers", Folder: "mutexes-containers", Took: 81 * time.Second, Verdicts: held,
				Faults: 63,
			},
			{
				Name: "only-flush-all", Backend: "processes", Folder: "only-flush-all-processes", Took: 33 * time.Second,
				Verdicts: broken,
				Excused:  map[string]string{"exclusion": "not promised", "linearizability": "not promised"}, Faults: 9,
				Without: []string{"without clock-fast: gcc is <not> here"},
			},
			{
				Name: "only-unplug", Backend: "processes", Folder: "only-unplug-processes",
				Skipped: "without unplug: only containers have a network",
			},
		},
		Controls: []report.Controls{
			{Title: "Naive locks", About: "Published.", All: []report.Control{{
				Lock: "setnx", Checker: "liveness", Caught: true, Text: `c1 did not acquire "one" <ever>`, After: 8 * time.Second,
			}}},
			{Title: "Our own lock", About: "In the simulation.", All: []report.Control{{
				Lock: "majority less one", Checker: "exclusion", Caught: true, Text: "VIOLATION: two holders",
				After: 1200 * time.Millisecond, Schedules: 3,
			}}},
		},
		Simulated: []report.Simulated{{
			From: 17, Planned: 5000, Schedules: 5000, Wall: 93 * time.Second, Virtual: 41 * time.Hour, Holds: 812345,
			HandedOver: 12345,
			Commands:   31234567,
		}},
	}
	if bad {
		x.Played = append(x.Played,
			report.Run{
				Name: "fenced", Backend: "processes", Folder: "fenced-processes", Verdicts: broken,
				Unkept: []string{`exclusion: "kept" was held by two <at once>`},
				Replay: "go run ./chaos -scenario fenced -backend processes -seed 17", Took: 40 * time.Second, Faults: 21,
			},
			report.Run{Name: "severals", Backend: "processes", NoVerdict: "no Docker"})
		x.Controls[1].All = append(x.Controls[1].All, report.Control{
			Lock: "no drift budget", Checker: "exclusion", Schedules: 80, Text: "nothing found",
			Replay: "go run ./chaos -control 'no drift budget' -seed 17",
		})
		x.Simulated[0].Violations = []report.Violation{{
			Seed: 4711, By: "[residue]", Text: "PROBLEM (residue): <left>", File: "simulation-4711.txt",
			Replay: "go run ./chaos -backend simulation -schedules 1 -seed 4711",
		}}
	}
	return x
}

func index(t *testing.T, folder string, x report.Index) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, report.IndexHTML(&b, folder, x))
	return b.String()
}

func TestTheIndexTellsEverythingOfASuite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "mutexes-containers"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mutexes-containers", "report.html"), nil, 0o600))
	html := index(t, dir, suite(true))
	text, refers := parsed(t, html)
	for _, says := range []string{
		"✕ FAIL", "seed 17", "commit 0123456789ab", "go run ./chaos -schedules 5000 -seed 17", "took 6m41s",
		"5 scenarios: 2 as promised, 1 not as promised, 1 no verdict, 1 skipped.", "3 controls: 2 caught.",
		"5000 schedules: 1 violation.",
		"mutexes", "containers", "63", "without unplug: only containers", "gcc is <not> here", "no Docker",
		`exclusion: "kept" was held by two <at once>`, "go run ./chaos -scenario fenced -backend processes -seed 17",
		"Naive locks: 1 of 1 caught", "liveness", `c1 did not acquire "one" <ever>`, "8s",
		"Our own lock: 1 of 2 caught", "In the simulation.", "1.2s, 3 schedules", "not caught",
		"go run ./chaos -control 'no drift budget' -seed 17",
		"41h0m", "812345", "31234567", "4711", "PROBLEM (residue): <left>",
	} {
		assert.Contains(t, text, says)
	}
	assert.Equal(
		t, []string{"mutexes-containers/report.html", "simulation-4711.txt"}, refers,
		"only what is there is linked, and nothing is loaded",
	)
	assert.NotContains(t, html, "<at once>")
	for class, n := range map[string]int{"cell good": 11 + 9 + 9, "cell bad": 1, "cell open": 2 + 1} {
		assert.Equal(t, n, strings.Count(html, `<td class="`+class+`"`), class)
	}
	assert.Contains(t, html, "prefers-color-scheme: dark")
}

func TestTheIndexPassesOnlyWhatIsDoneAndGood(t *testing.T) {
	t.Parallel()
	assert.True(t, suite(false).Good())
	for name, spoil := range map[string]func(x *report.Index){
		"unfinished":                 func(x *report.Index) { x.Ended = false },
		"no verdict":                 func(x *report.Index) { x.NoVerdict = "interrupted" },
		"a scenario went wrong":      func(x *report.Index) { x.Played[0].Unkept = []string{"exclusion"} },
		"a scenario has no verdict":  func(x *report.Index) { x.Played[0].NoVerdict = "no Docker" },
		"a naive lock got away":      func(x *report.Index) { x.Controls[0].All[0].Caught = false },
		"one of our own got away":    func(x *report.Index) { x.Controls[1].All[0].Caught = false },
		"a schedule had a violation": func(x *report.Index) { x.Simulated[0].Violations = make([]report.Violation, 1) },
		"the schedules show nothing": func(x *report.Index) { x.Simulated[0].NoVerdict = "interrupted" },
		"nothing was run":            func(x *report.Index) { *x = report.Index{Ended: true} },
		"everything was skipped":     func(x *report.Index) { *x = report.Index{Ended: true, Played: x.Played[2:3]} },
		"something is still pending": func(x *report.Index) { x.Played = append(x.Played, report.Run{Pending: true}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := suite(false)
			spoil(&x)
			assert.False(t, x.Good())
			text, _ := parsed(t, index(t, t.TempDir(), x))
			assert.NotContains(t, text, "PASS")
		})
	}
	text, _ := parsed(t, index(t, t.TempDir(), suite(false)))
	assert.Contains(t, text, "✓ PASS")
}

func TestTheIndexOfARunThatWasBrokenOff(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := suite(false)
	x.Ended, x.Played[1] = false, report.Run{Name: "only-flush-all", Backend: "processes", Pending: true}
	require.NoError(t, report.SaveIndex(dir, x))
	page, err := os.ReadFile(filepath.Join(dir, report.IndexFile))
	require.NoError(t, err)
	text, _ := parsed(t, string(page))
	assert.Contains(t, text, "… UNFINISHED")
	assert.Contains(t, text, "these are the results so far")
	assert.Contains(t, text, "1 not played")

	x.Ended, x.NoVerdict = true, "interrupted"
	require.NoError(t, report.SaveIndex(dir, x))
	page, err = os.ReadFile(filepath.Join(dir, report.IndexFile))
	require.NoError(t, err)
	text, _ = parsed(t, string(page))
	assert.Contains(t, text, "? NO VERDICT")
	assert.Contains(t, text, "No verdict: interrupted")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1, "nothing but the index")
}
