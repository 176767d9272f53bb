package suite

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/report"
	"github.com/redlock-go/redlock/chaos/internal/scenarios"
)

// begun returns a command with these arguments, and the buffer that it prints to.
func begun(t *testing.T, args ...string) (*command, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	f, err := parse(append(args, "-out", t.TempDir()), &out)
	require.NoError(t, err)
	return &command{flags: f, out: &out, say: t.Logf}, &out
}

func index(t *testing.T, c *command) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(c.dir, report.IndexFile))
	require.NoError(t, err)
	return string(page)
}

func TestAControlThatIsCaughtIsInTheIndex(t *testing.T) {
	t.Parallel()
	c, out := begun(t, "-control", "majority less*", "-seed", "7")
	ok, err := c.run(t.Context())
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Contains(t, out.String(), "caught by exclusion after ")
	assert.Contains(t, out.String(), "report: "+filepath.Join(c.dir, "index.html"))
	assert.NotContains(t, out.String(), "again: ")
	page := index(t, c)
	for _, says := range []string{
		"✓ PASS", "majority less one", "1 of 1 caught", "go run ./chaos -control &#39;majority less*&#39; -seed 7",
	} {
		assert.Contains(t, page, says)
	}
}

func TestAnInterruptedRunLeavesAnIndexOfWhatThereWas(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, out := begun(t, "-backend", "simulation", "-schedules", "1000000", "-seed", "7")
	time.AfterFunc(2*time.Second, cancel)
	_, err := c.run(ctx)
	require.ErrorIs(t, err, context.Canceled)
	assert.Contains(t, out.String(), "again: go run ./chaos -backend simulation -schedules 1000000 -seed 7")
	page := index(t, c)
	for _, says := range []string{"? NO VERDICT", "No verdict: interrupted", "of 1000000 schedules"} {
		assert.Contains(t, page, says)
	}
	assert.NotContains(t, page, "<p>0 of 1000000")
}

func TestAStepWithoutAVerdictDoesNotKeepTheOthersFromTheirs(t *testing.T) {
	t.Parallel()
	c, _ := begun(t)
	var taken []string
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	taking := func(name string, ok bool, err error) step {
		return step{name, func(context.Context) (bool, error) {
			if taken = append(taken, name); name == "interrupted" {
				cancel()
			}
			return ok, err
		}}
	}
	ok, err := c.all(ctx, []step{
		taking("no masters", false, errors.New("no docker")), taking("fine", true, nil),
		taking("no time", false, errors.New("too late")),
	})
	assert.False(t, ok)
	require.ErrorContains(t, err, "no masters: no docker")
	require.ErrorContains(t, err, "no time: too late")
	assert.Equal(t, []string{"no masters", "fine", "no time"}, taken)

	taken = nil
	_, err = c.all(ctx, []step{taking("interrupted", true, nil), taking("more", true, nil)})
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, []string{"interrupted"}, taken)
}

func TestAnInterruptedSoakHasNoVerdict(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c, out := begun(t, "-soak", "1h", "-backend", "processes", "-seed", "7")
	_, err := c.run(ctx)
	require.ErrorIs(t, err, context.Canceled)
	assert.Contains(
		t, out.String(), "soak: 0 scenarios played in 0s, with 0 faults; 0 skipped, 0 without a verdict\n",
		"what was seen so far, and not what was asked for",
	)
	assert.Contains(t, index(t, c), "No verdict: interrupted")
}

func TestAControlThatIsNotCaughtSaysHowToTryItAgain(t *testing.T) {
	t.Parallel()
	c, out := begun(t, "-control", "*", "-seed", "7")
	assert.False(
		t,
		c.reportControl(
			report.Control{
				Lock: "no drift budget", Checker: "exclusion", Replay: c.flags.replayControl("no drift budget"),
				Where: "80 schedules",
			},
		),
	)
	assert.Contains(t, out.String(), "NOT CAUGHT by exclusion")
	assert.Contains(t, out.String(), "again: go run ./chaos -control 'no drift budget' -seed 7\n    80 schedules\n")
}

func TestAScenarioThatIsNotAsPromisedSaysHowToPlayItAgainAndWhereItIs(t *testing.T) {
	t.Parallel()
	c, out := begun(t, "-scenario", "fenced", "-backend", "processes", "-duration", "9s", "-seed", "7")
	c.index = openIndex(t.Context(), t.TempDir(), 7, c.flags.replay(), t.Logf)
	suite := c.suite(t.Context(), 1)
	j := c.jobs()[0]
	c.index.plan(c.jobs())
	again := suite.ReplayOf(j, 7)
	assert.Equal(t, "go run ./chaos -scenario fenced -backend processes -duration 9s -seed 7", again)
	suite.Done(j, scenarios.Outcome{
		Scenario: j.Scenario, Run: report.Run{
			Name: j.Scenario.Name, Backend: j.Backend, Folder: filepath.Join(c.index.dir, j.Name()), Replay: again,
			Verdicts: []check.Verdict{{Checker: "exclusion", Findings: []check.Finding{{Text: "held by two"}}}},
		},
	})
	assert.Contains(
		t, out.String(),
		"NOT AS PROMISED\n    exclusion: held by two\n    again: "+again+"\n    folder: "+filepath.Join(
			c.index.dir, "fenced-processes",
		),
	)
	require.Len(t, c.index.index.Played, 1, "it took the place of what was planned")
	assert.Equal(t, "fenced-processes", c.index.index.Played[0].Folder)
	assert.Equal(t, "not as promised", c.index.index.Played[0].Result())
}

func TestACommandIsRepeatedWithoutItsPasswords(t *testing.T) {
	t.Parallel()
	f, err := parse(
		[]string{
			"-masters", "redis://me:hunter2@h1:1,rediss://:hunter2@h2:2,redis://h3", "-duration", "1m", "-out", "x", "-seed",
			"4",
		},
		&bytes.Buffer{},
	)
	require.NoError(t, err)
	want := "go run ./chaos -duration 1m0s -masters redis://me:xxxxx@h1:1,rediss://:xxxxx@h2:2,redis://h3 -seed 4"
	assert.Equal(t, want, f.replay())
	one := f.replayJob(scenarios.Job{Scenario: scenarios.Acceptance(), Backend: backend.Given}, 4)
	assert.Equal(
		t, "go run ./chaos -masters redis://me:xxxxx@h1:1,rediss://:xxxxx@h2:2,redis://h3 -duration 1m0s -seed 4", one,
	)
	again, err := parse(strings.Fields(one)[3:], &bytes.Buffer{})
	require.NoError(t, err)
	assert.Equal(t, f.duration, again.duration)

	f, err = parse([]string{"-scenario", "only-clock-*"}, &bytes.Buffer{})
	require.NoError(t, err)
	assert.Contains(t, f.replay(), "-scenario 'only-clock-*' -seed ")
	_, err = parse([]string{"-h"}, &bytes.Buffer{})
	require.ErrorIs(t, err, flag.ErrHelp)
}
