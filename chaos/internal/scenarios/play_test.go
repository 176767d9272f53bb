package scenarios_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/scenarios"
	"github.com/redlock-go/redlock/chaos/internal/testmain"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
	"github.com/redlock-go/redlock/internal/redisproc"
)

func TestMain(m *testing.M) { testmain.Run(m) }

func options(t *testing.T) scenarios.Options {
	t.Helper()
	redisproc.Need(t)
	return scenarios.Options{
		Backend: backend.Processes, Seed: 3, Dir: t.TempDir(), Replay: "again", Say: t.Logf, Command: testmain.Client,
	}
}

func named(t *testing.T, name string) scenarios.Scenario {
	t.Helper()
	found, err := scenarios.Find(name)
	require.NoError(t, err)
	require.Len(t, found, 1)
	return found[0]
}

// scenario returns the shortest scenario of that name.
func scenario(t *testing.T, name string) scenarios.Scenario {
	t.Helper()
	s := named(t, name)
	s.Storm = scenarios.LeastStorm
	return s
}

func TestAScenarioLeavesItsVerdict(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Seed, o.Replay = 4711, "go run ./chaos -seed 4711"
	out, err := scenarios.Play(t.Context(), scenario(t, "only-kill-master"), o)
	require.NoError(t, err)
	assert.Empty(t, out.Wrong())
	assert.True(t, out.Good())
	for _, file := range []string{
		"verdict.txt", "history.jsonl", "history.html", "logs/master-0.log", "logs/c0-0.log",
	} {
		assert.FileExists(t, filepath.Join(o.Dir, file))
	}
	verdict, err := os.ReadFile(filepath.Join(o.Dir, "verdict.txt"))
	require.NoError(t, err)
	assert.Contains(t, string(verdict), "seed 4711; again: go run ./chaos -seed 4711\nPASS\n")
	assert.Equal(t, uint64(4711), out.Seed)
}

// A panic in the lock ends a client process like that: it is no stumble of the harness.
func TestAScenarioWhoseClientDiesIsNotAsPromised(t *testing.T) {
	t.Parallel()
	o := options(t)
	command := o.Command
	var once sync.Once
	o.Command = func() *exec.Cmd {
		c := command()
		once.Do(func() {
			time.AfterFunc(scenarios.LeastStorm, func() { assert.NoError(t, c.Process.Kill()) })
		})
		return c
	}
	s := scenario(t, "only-flush-scripts")
	suite := scenarios.Suite{
		Options: o, Parallelism: 1, ReplayOf: func(scenarios.Job, uint64) string { return "again" },
		Done: func(scenarios.Job, scenarios.Outcome) {},
	}
	out, err := suite.Play(t.Context(), []scenarios.Job{{Scenario: s, Backend: backend.Processes}})
	require.NoError(t, err)
	assert.False(t, out[0].Good())
	assert.Contains(t, fmt.Sprint(out[0].Wrong()), "ended by itself: signal: killed")
	assert.FileExists(t, filepath.Join(out[0].Folder, "verdict.txt"))
}

// The history cannot be written into one file: the verdict still shows what happened.
func TestAScenarioThatCannotBeClosedKeepsItsVerdicts(t *testing.T) {
	t.Parallel()
	o := options(t)
	require.NoError(t, os.Mkdir(filepath.Join(o.Dir, "history.jsonl"), 0o755))
	s := scenario(t, "only-kill-connections")
	s.Lock, s.Groups = "no token compared", traffic.Groups[1:3]
	out, err := scenarios.Play(t.Context(), s, o)
	require.ErrorContains(t, err, "history.jsonl: is a directory")
	assert.Contains(t, fmt.Sprint(out.Wrong()), "exclusion: ")
	for _, file := range []string{"verdict.txt", "parts/harness.jsonl"} {
		assert.FileExists(t, filepath.Join(o.Dir, file))
	}
}

// On a busy machine clients do as little in a whole storm as here in none at all.
func TestAStormLastsUntilItHasShownWhatItMust(t *testing.T) {
	t.Parallel()
	s := scenario(t, "only-flush-all")
	s.Faults, s.Storm = nil, 0
	s.Lock = "no token compared"
	s.Promises = scenarios.Promises{
		check.ByExclusion: scenarios.Broken, check.BySlots: scenarios.Open, check.ByMinHold: scenarios.Open,
		check.ByFencing: scenarios.Open,
	}
	out, err := scenarios.Play(t.Context(), s, options(t))
	require.NoError(t, err)
	assert.Empty(t, out.Wrong())
}

// Every tick of the watch is a little late, so a bound of a nanosecond is always exceeded.
func TestAHarnessThatStoodStillHasFailed(t *testing.T) {
	t.Parallel()
	out, err := scenarios.Play(t.Context(), scenario(t, "only-flush-scripts"), options(t).Tolerating(time.Nanosecond))
	require.NoError(t, err)
	assert.Contains(t, fmt.Sprint(out.Wrong()), "harness: it stood still for ")
}

// A master that follows one whose clock is ahead has keys that live on. Only their client could release them.
func TestKeysOfAMasterWhoseClockIsAheadLiveLongerWhereTheyAreCopied(t *testing.T) {
	t.Parallel()
	step := func(fault string, lasts time.Duration, masters ...int) faults.Step {
		return faults.Step{Fault: fault, For: lasts, Targets: masters}
	}
	clocks := []faults.Step{
		step(faults.ClockForward, time.Second, 0, 3), step(faults.ClockFast, 4*time.Second, 0),
		step(faults.ClockForward, time.Second, 1), step(faults.KillMaster, time.Second, 0),
	}
	assert.Zero(t, scenarios.Ahead(clocks), "no master copies keys")
	follows := step(faults.FollowMaster, time.Second, 4)
	assert.Equal(t, faults.Jump+2*time.Second, scenarios.Ahead(append(clocks, follows)))
	assert.Zero(t, scenarios.Ahead([]faults.Step{follows}), "all clocks agree")
}
