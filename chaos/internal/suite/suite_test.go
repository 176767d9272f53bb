package suite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/broken"
	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/controls"
	"github.com/redlock-go/redlock/chaos/internal/report"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
	"github.com/redlock-go/redlock/internal/redisproc"
)

// TestMain lets this test binary be a client, as the program can be. This client ends at once.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == ClientCommand {
		fmt.Fprintln(os.Stderr, "a client of the tests, which does nothing")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestWrongUsageSaysWhatIsWrongAndRunsNothing(t *testing.T) {
	t.Parallel()
	full := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(full, "history.jsonl"), nil, 0o600))
	tests := map[string]struct {
		args []string
		says string
	}{
		"too short":         {[]string{"-duration", "1s"}, "duration 1s: a storm takes at least 5s"},
		"too few clients":   {[]string{"-clients", "1"}, "clients 1: it takes at least 2"},
		"unknown backend":   {[]string{"-backend", "clouds"}, `no backend is called "clouds"`},
		"unknown scenario":  {[]string{"-scenario", "calm"}, `no scenario is called "calm"`},
		"no lanes":          {[]string{"-lanes", "0"}, "lanes 0"},
		"a soak of nothing": {[]string{"-backend", "simulation", "-soak", "1m"}, "a soak plays scenarios"},
		"unknown flag":      {[]string{"-speed", "9"}, "-speed"},
		"an argument":       {[]string{"fast"}, `unexpected argument "fast"`},
		"a folder in use":   {[]string{"-out", full}, "is not empty"},
		"no duration":       {[]string{"-duration", "soon"}, "soon"},
		"masters and more": {
			[]string{"-masters", "redis://h:1", "-scenario", "mutexes"}, "leave -backend, -scenario and -soak out",
		},
		"unknown control":  {[]string{"-control", "calm"}, `no control is called "calm"`},
		"control and more": {[]string{"-control", "no *", "-backend", "processes"}, "controls bring their own masters"},
		"a seed too small": {[]string{"-seed", "-1"}, "-1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			assert.Equal(t, noRun, Main(tt.args, &out, &errs))
			assert.Contains(t, errs.String(), tt.says)
			assert.Empty(t, out.String())
		})
	}
}

func TestHelpListsEverything(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	assert.Equal(t, good, Main([]string{"-h"}, &out, &errs))
	for _, flag := range []string{
		"-masters", "redlock-chaos:", "-control", "-backend", "-soak", "-duration", "-out", "-seed", "only-flush-all",
		"kill-master-tail", "linearizability", "no token compared", "restart guard off", "nothing closed",
	} {
		assert.Contains(t, errs.String(), flag)
	}
}

// The changelog counts the broken locks as the code does.
func TestTheChangelogCountsTheBrokenLocks(t *testing.T) {
	t.Parallel()
	changes, err := os.ReadFile("../../../CHANGELOG.md")
	require.NoError(t, err)
	assert.Contains(t, string(changes), fmt.Sprintf("%d broken locks", len(broken.All)))
}

// A broken lock that no control tries proves nothing.
func TestEveryBrokenLockIsAControl(t *testing.T) {
	t.Parallel()
	var tried, all []string
	for _, set := range controls.Find("*") {
		for _, c := range set.Controls {
			if set.Title != "Broken runs" {
				tried = append(tried, c.Lock)
			}
		}
	}
	for _, l := range broken.All {
		all = append(all, l.Name)
	}
	slices.Sort(tried)
	assert.ElementsMatch(t, all, slices.Compact(tried))
}

// Each checker has two controls, and testdata names an edit of the checker that only one of them exposes.
func TestEveryCheckerHasTwoControls(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("testdata/edits.txt")
	require.NoError(t, err)
	rows := string(page)
	checkers := []string{simulation.ByContract, simulation.ByLoad}
	for _, c := range check.Catalog() {
		checkers = append(checkers, c.Name)
	}
	for _, checker := range checkers {
		locks := map[string]bool{}
		for _, set := range controls.Find("*") {
			for _, c := range set.Controls {
				if c.Checker == checker {
					locks[c.Lock] = true
				}
			}
		}
		assert.GreaterOrEqual(t, len(locks), 2, checker)
		row := regexp.MustCompile(`\n\| ` + checker + ` \| [^|]+ \| ([^|]+) \| ([^|]+) \|`)
		edits := row.FindAllStringSubmatch(rows, -1)
		require.NotEmpty(t, edits, "no edit of %s", checker)
		for _, e := range edits {
			for _, name := range append(strings.Split(e[1], ", "), e[2]) {
				assert.True(t, locks[name] || name == "and all others", "%s: %s", checker, name)
			}
		}
	}
}

func TestHistoriesWrittenByHandAreCaught(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	assert.Equal(t, good, Main([]string{"-control", "register that*,client *", "-out", t.TempDir()}, &out, &errs))
	assert.Contains(t, out.String(), "caught by harness after 0s: register: it hung up")
}

func TestWhatWasFoundWeighsMoreThanWhatHasNoVerdict(t *testing.T) {
	t.Parallel()
	gone := errors.New("no masters")
	assert.Equal(t, good, new(command).status(true, nil))
	assert.Equal(t, violated, new(command).status(false, nil))
	assert.Equal(t, noRun, new(command).status(false, gone))
	c := &command{out: io.Discard}
	assert.True(t, c.reportControl(report.Control{Caught: true}))
	assert.Equal(t, noRun, c.status(false, gone))
	assert.False(t, c.reportControl(report.Control{}))
	assert.Equal(t, violated, c.status(false, gone))
}

// A run that skipped everything has shown nothing.
func TestARunInWhichNothingWasPlayedHasNoVerdict(t *testing.T) {
	t.Parallel()
	redisproc.Need(t)
	var out, errs bytes.Buffer
	assert.Equal(
		t, noRun, Main([]string{"-scenario", "only-unplug", "-backend", "processes", "-out", t.TempDir()}, &out, &errs),
	)
	assert.Contains(t, errs.String(), "nothing was played")
	assert.Contains(t, out.String(), "skipped: without unplug")
	assert.Contains(t, out.String(), "again: go run ./chaos -backend processes -scenario only-unplug -seed ")
	assert.NotContains(t, out.String(), "PASS")
}

// A scenario whose harness breaks says nothing about the lock, and is not played again.
func TestARunWhoseHarnessBreaksHasNoVerdict(t *testing.T) {
	t.Parallel()
	redisproc.Need(t)
	var out, errs bytes.Buffer
	dir := t.TempDir()
	assert.Equal(
		t, noRun,
		Main([]string{"-scenario", "only-kill-client", "-backend", "processes", "-duration", "5s", "-out", dir}, &out, &errs),
	)
	assert.Contains(t, errs.String(), "no verdict: the harness itself failed")
	assert.Contains(
		t, errs.String(), "chaos: no verdict: only-kill-client-processes: no verdict: the harness itself failed",
	)
	assert.Contains(t, out.String(), "no verdict\n")
	assert.NotContains(t, out.String(), "PASS")
	assert.NotContains(t, out.String(), "FAIL")
	folders, err := filepath.Glob(filepath.Join(dir, "*", "report.html"))
	require.NoError(t, err)
	page := filepath.Join(dir, "only-kill-client-processes", "report.html")
	assert.Equal(t, []string{page}, folders, "it shows what broke")
}
