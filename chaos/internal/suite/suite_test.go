package suite

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/broken"
	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/controls"
	"github.com/redlock-go/redlock/chaos/internal/exact"
	"github.com/redlock-go/redlock/chaos/internal/scenarios"
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

// run runs the program, and returns what it printed.
func run(args ...string) (status int, out, errs string) {
	var stdout, stderr bytes.Buffer
	status = Main(args, &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

func TestWrongUsageSaysWhatIsWrongAndRunsNothing(t *testing.T) {
	t.Parallel()
	full := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(full, "history.jsonl"), nil, 0o600))
	tests := map[string]struct {
		args []string
		says string
	}{
		"too short":        {[]string{"-duration", "1s"}, "duration 1s: a storm takes at least 5s"},
		"too few clients":  {[]string{"-clients", "1"}, "clients 1: it takes at least 2"},
		"unknown backend":  {[]string{"-backend", "clouds"}, `no backend is called "clouds"`},
		"unknown scenario": {[]string{"-scenario", "calm"}, `no scenario is called "calm"`},
		"no lanes":         {[]string{"-lanes", "0"}, "lanes 0"},
		"unknown flag":     {[]string{"-speed", "9"}, "-speed"},
		"an argument":      {[]string{"fast"}, `unexpected argument "fast"`},
		"a folder in use":  {[]string{"-out", full}, "is not empty"},
		"no duration":      {[]string{"-duration", "soon"}, "soon"},
		"masters and more": {
			[]string{"-masters", "redis://h:1", "-scenario", "mutexes"}, "leave -backend and -scenario out",
		},
		"unknown control":  {[]string{"-control", "calm"}, `no control is called "calm"`},
		"control and more": {[]string{"-control", "no *", "-backend", "processes"}, "controls bring their own masters"},
		"a seed too small": {[]string{"-seed", "-1"}, "-1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, out, errs := run(tt.args...)
			assert.Equal(t, noRun, status)
			assert.Contains(t, errs, tt.says)
			assert.Empty(t, out)
		})
	}
}

func TestHelpListsEverything(t *testing.T) {
	t.Parallel()
	status, _, errs := run("-h")
	assert.Equal(t, good, status)
	for _, flag := range []string{
		"-masters", "redlock-chaos:", "-control", "-backend", "-duration", "-out", "-seed", "only-flush-all",
		"kill-master-tail", "exclusion", "no token compared", "restart guard off", "nothing closed",
	} {
		assert.Contains(t, errs, flag)
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
			tried = append(tried, c.Lock)
		}
	}
	for _, l := range broken.All {
		all = append(all, l.Name)
	}
	slices.Sort(tried)
	assert.ElementsMatch(t, all, slices.Compact(tried))
}

// Each checker of the lock has two controls, and testdata names an edit of the checker that only one of them exposes.
// The tests of package check have the histories that the other checkers must refuse.
func TestEveryCheckerHasTwoControls(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("testdata/edits.txt")
	require.NoError(t, err)
	rows := string(page)
	checkers := []string{simulation.ByContract, simulation.ByLoad}
	for _, c := range check.Catalog() {
		if !slices.Contains([]string{check.ByCoverage, check.ByWellFormed, check.ByClients, check.ByHarness}, c.Name) {
			checkers = append(checkers, c.Name)
		}
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

func TestWhatWasFoundWeighsMoreThanWhatHasNoVerdict(t *testing.T) {
	t.Parallel()
	gone := errors.New("no masters")
	c, _ := begun(t)
	c.reportControl(controls.Result{Caught: true})
	assert.Equal(t, good, c.status(nil))
	assert.Equal(t, noRun, c.status(gone))
	c.reportControl(controls.Result{})
	assert.Equal(t, violated, c.status(nil))
	assert.Equal(t, violated, c.status(gone))
}

// A run that skipped everything has shown nothing.
func TestARunInWhichNothingWasPlayedHasNoVerdict(t *testing.T) {
	t.Parallel()
	redisproc.Need(t)
	status, out, errs := run("-scenario", "only-unplug", "-backend", "processes", "-out", t.TempDir())
	assert.Equal(t, noRun, status)
	assert.Contains(t, errs, "nothing was played")
	assert.Contains(t, out, "skipped: without unplug")
	assert.Contains(t, out, "again: go run ./chaos -backend processes -scenario only-unplug -seed ")
	assert.NotContains(t, out, "PASS")
}

// A scenario whose harness breaks says nothing about the lock, and is not played again.
func TestARunWhoseHarnessBreaksHasNoVerdict(t *testing.T) {
	t.Parallel()
	redisproc.Need(t)
	dir := t.TempDir()
	status, out, errs := run("-scenario", "only-kill-client", "-backend", "processes", "-duration", "5s", "-out", dir)
	assert.Equal(t, noRun, status)
	assert.Contains(t, errs, "chaos: no verdict: only-kill-client-processes: no verdict: the harness itself failed")
	assert.Contains(t, out, "no verdict\n")
	assert.NotContains(t, out, "PASS")
	assert.NotContains(t, out, "FAIL")
	assert.FileExists(t, filepath.Join(dir, "only-kill-client-processes", "verdict.txt"), "it shows what broke")
}

func TestAControlThatIsCaughtIsInTheReport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	status, out, errs := run("-control", "majority less*", "-seed", "7", "-out", dir)
	assert.Equal(t, good, status, errs)
	assert.Contains(t, out, "caught by exclusion after ")
	assert.NotContains(t, out, "again: ")
	text, err := os.ReadFile(filepath.Join(dir, verdictsFile))
	require.NoError(t, err)
	assert.Equal(t, out, string(text)+"PASS\n")
}

// begun returns a command with these arguments, and the buffer that it prints to.
func begun(t *testing.T, args ...string) (*command, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	f, err := parse(append(args, "-out", t.TempDir()), &out)
	require.NoError(t, err)
	return &command{flags: f, out: &out, say: t.Logf}, &out
}

func TestAStepWithoutAVerdictDoesNotKeepTheOthersFromTheirs(t *testing.T) {
	t.Parallel()
	c, _ := begun(t)
	var taken []string
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	taking := func(name string, err error) step {
		return step{name, func(context.Context) error {
			if taken = append(taken, name); name == "interrupted" {
				cancel()
			}
			return err
		}}
	}
	err := c.all(ctx, []step{
		taking("no masters", errors.New("no docker")), taking("fine", nil), taking("no time", errors.New("too late")),
	})
	require.ErrorContains(t, err, "no masters: no docker")
	require.ErrorContains(t, err, "no time: too late")
	assert.Equal(t, []string{"no masters", "fine", "no time"}, taken)

	taken = nil
	err = c.all(ctx, []step{taking("interrupted", nil), taking("more", nil)})
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, []string{"interrupted"}, taken)
}

func TestAControlThatIsNotCaughtSaysHowToTryItAgain(t *testing.T) {
	t.Parallel()
	c, out := begun(t, "-control", "*", "-seed", "7")
	c.reportControl(controls.Result{
		Control: controls.Control{Lock: "no drift budget", Checker: "exclusion"}, Where: "80 schedules",
	})
	assert.Contains(t, out.String(), "NOT CAUGHT by exclusion")
	assert.Len(t, c.wrong, 1)
	assert.Contains(t, out.String(),
		"again: go run ./chaos -control 'no drift budget' -order 1 -seed 7\n    80 schedules\n")
}

func TestAScenarioThatIsNotAsPromisedSaysHowToPlayItAgainAndWhereItIs(t *testing.T) {
	t.Parallel()
	c, out := begun(t, "-scenario", "fenced", "-backend", "processes", "-duration", "9s", "-seed", "7")
	suite := c.suite(1)
	j := c.jobs()[0]
	again := suite.ReplayOf(j, 7)
	assert.Equal(t, "go run ./chaos -scenario fenced -backend processes -duration 9s -seed 7", again)
	suite.Done(j, scenarios.Outcome{
		Scenario: j.Scenario, Folder: "a folder", Replay: again,
		Verdicts: []check.Verdict{{Checker: "exclusion", Findings: []check.Finding{{Text: "held by two"}}}},
	})
	says := "NOT AS PROMISED\n    exclusion: held by two\n    again: " + again + "\n    folder: a folder"
	assert.Contains(t, out.String(), says)
	assert.Contains(t, c.wrong[0], says)
}

func TestACommandIsRepeatedWithoutItsPasswords(t *testing.T) {
	t.Parallel()
	const masters = "redis://me:hunter2@h1:1,rediss://:hunter2@h2:2,redis://h3"
	f, err := parse([]string{"-masters", masters, "-duration", "1m", "-out", "x", "-seed", "4"}, &bytes.Buffer{})
	require.NoError(t, err)
	want := "go run ./chaos -duration 1m0s -masters redis://me:xxxxx@h1:1,rediss://:xxxxx@h2:2,redis://h3 -seed 4"
	assert.Equal(t, want, f.again(f.seed))
	one := f.replayJob(scenarios.Job{Scenario: scenarios.Acceptance(), Backend: backend.Given}, 4)
	assert.Equal(
		t, "go run ./chaos -masters redis://me:xxxxx@h1:1,rediss://:xxxxx@h2:2,redis://h3 -duration 1m0s -seed 4", one,
	)
	again, err := parse(strings.Fields(one)[3:], &bytes.Buffer{})
	require.NoError(t, err)
	assert.Equal(t, f.duration, again.duration)

	f, err = parse([]string{"-scenario", "only-clock-*"}, &bytes.Buffer{})
	require.NoError(t, err)
	assert.Contains(t, f.again(f.seed), "-scenario 'only-clock-*' -seed ")
	_, err = parse([]string{"-h"}, &bytes.Buffer{})
	require.ErrorIs(t, err, flag.ErrHelp)
}

// A schedule is played again with the lock, the clients and the duration with which something was found.
func TestASchedulesCommandHasWhatChangesIt(t *testing.T) {
	t.Parallel()
	args := []string{"-exact", "-scenario", "fenced", "-lock", "no drift budget", "-clients", "2", "-seed", "4"}
	f, err := parse(args, &bytes.Buffer{})
	require.NoError(t, err)
	assert.Equal(t, "go run ./chaos -exact -order 2 -scenario fenced -clients 2 -lock 'no drift budget' -seed 9",
		f.replaySchedule("fenced", 9, 2))
	assert.Equal(t, "go run ./chaos -exact -order 2 -clients 2 -lock 'no drift budget' -seed 9",
		f.replaySchedule("", 9, 2))
	job := f.replayJob(scenarios.Job{Scenario: f.scenarios[0], Backend: scenarios.Simulation, Schedules: 5}, 4)
	assert.Contains(t, job, "-schedules 5 -order 1 -orders 1 -clients 2 -lock 'no drift budget' -seed 4")
}

func TestAPanicInAReplayIsAViolation(t *testing.T) {
	t.Parallel()
	exact.Start(t) // skips the test where nothing can be played exactly; in CI it fails
	file := filepath.Join(t.TempDir(), "schedule.json")
	s := simulation.Draw(1)
	s.Masters = 0 // the simulation panics
	require.NoError(t, os.WriteFile(file, []byte(s.JSON()), 0o600))
	status, out, errs := run("-exact", "-schedule", file, "-out", t.TempDir())
	assert.Equal(t, violated, status, errs)
	assert.Contains(t, out, "panic")
	assert.Contains(t, out, "not as it should be:\nseed 1, order 1\nagain: ")
}

func TestATestThatFailsInAnOrderFailsInItAgain(t *testing.T) {
	t.Parallel()
	exact.Start(t)
	tests := func(args ...string) (int, string) {
		status, out, errs := run(append([]string{"-tests", "./testdata/orders", "-out", t.TempDir()}, args...)...)
		require.NotEqual(t, noRun, status, errs)
		return status, out
	}
	status, out := tests("-orders", "20")
	assert.Equal(t, violated, status, out)
	assert.Contains(t, out, "this order is a bad one")
	assert.Contains(t, out, "2 tests, each in up to 20 orders")
	assert.Contains(t, out, "; 1 failed")
	again := regexp.MustCompile(`again: go run ./chaos .* -run '(.*)' -order (\d+)`).FindStringSubmatch(out)
	require.NotNil(t, again, out)
	status, out = tests("-run", again[1], "-order", again[2])
	assert.Equal(t, violated, status, out)
	status, out = tests("-run", "^TestPasses$", "-order", again[2])
	assert.Equal(t, good, status, out)
}
