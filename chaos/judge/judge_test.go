// Package judge_test compares judge.py, which shares no code with our checkers, with them.
package judge_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/exact"
	"github.com/redlock-go/redlock/chaos/internal/handmade"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
	"github.com/redlock-go/redlock/internal/need"
)

// judge runs the judge on a history. It returns its exit status and what it printed.
func judge(t *testing.T, events []history.Event) (int, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "history.jsonl")
	require.NoError(t, history.Save(path, events))
	return run(t, path)
}

func run(t *testing.T, path string) (int, string) {
	t.Helper()
	python, err := exec.LookPath("python3")
	need.SkipIf(t, need.Redis, err)
	cmd := exec.CommandContext(t.Context(), python, "judge.py", path)
	out, _ := cmd.CombinedOutput()
	return cmd.ProcessState.ExitCode(), string(out)
}

// TestTheJudgeCatches shows that each rule of the judge can fail.
func TestTheJudgeCatches(t *testing.T) {
	t.Parallel()
	const pair = "x keeps 2-50 #1; y keeps 60-110 asked=59 #2; "
	for name, c := range map[string]struct {
		history string
		says    string // "" if nothing is wrong
	}{
		"one after the other":       {pair, ""},
		"extended in time":          {pair + "x extends 40-70", "exclusion: orders"},
		"extended too late":         {pair + "x extends 55-70", "exclusion: orders"},
		"extended while it unlocks": {pair + "x calls 40; x extends 41-70", ""},
		"two holders":               {"x keeps 2-50 #1; y keeps 40-90 asked=39 #2", "exclusion: orders"},
		"unlocked at once":          {"x keeps 2-50 #1; y keeps 4-60 asked=3 #2; y unlocks 4", "exclusion: orders"},
		"unlocked at once, as another begins": {
			"y keeps 4-60 asked=1 #1; x keeps 4-50 asked=2 #2; x unlocks 4", "",
		},
		"a token that shrinks": {"x keeps 2-50 #2; y keeps 60-110 asked=59 #1", "fencing: orders: no larger token"},
		"a writer with the token of a reader before": {
			"x keeps 2-50 reader #2; y keeps 60-110 asked=59 writer #2", "fencing: orders: no larger token",
		},
		"one token for two":        {"x keeps 2-50 #2; y keeps 60-110 asked=59 #2", "fencing: orders: one token"},
		"as many permits as slots": {"x keeps 2-50 slots=2; y keeps 4-50 asked=3 slots=2", ""},
		"a permit too many": {
			"x keeps 2-50 slots=2; y keeps 4-50 asked=3 slots=2; z keeps 6-50 asked=5 slots=2", "slots: orders: z.0.0.1",
		},
		"permits in two slots":     {"x keeps 2-50 slots=2 #4; y keeps 4-50 asked=3 slots=2 #5", ""},
		"one slot for two permits": {"x keeps 2-50 slots=3 #4; y keeps 4-50 asked=3 slots=3 #7", "slots: orders: one slot"},
		"an update that is lost":   {"x writes 1 from=0 value=1; x writes 2 from=0 value=1", "register: orders"},
		"updates in order":         {"x writes 1 from=0 value=1; x writes 2 from=1 value=2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, out := judge(t, handmade.History(c.history))
			if c.says == "" {
				assert.Equal(t, 0, status, out)
				return
			}
			assert.Equal(t, 1, status, out)
			assert.Contains(t, out, c.says)
		})
	}
	path := filepath.Join(t.TempDir(), "history.jsonl")
	require.NoError(t, os.WriteFile(path, []byte("{and so on}\n"), 0o600))
	status, out := run(t, path)
	assert.Equal(t, 2, status, out)
}

// TestTheJudgeAgrees has both judges look at runs of the simulation: of the lock, and of broken ones.
func TestTheJudgeAgrees(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lock    string // "" is not broken
		profile string
		by      string
	}{
		"calm":             {"", "calm", ""},
		"storm":            {"", "storm", ""},
		"rolling restarts": {"", "rolling restarts", ""},
		"paused clients":   {"", "paused clients", ""},
		"split counters":   {"", "split counters", ""},

		"majority less one":          {"majority less one", "calm", check.ByExclusion},
		"elapsed not subtracted":     {"elapsed not subtracted", "far away", check.ByExclusion},
		"one slot for two permits":   {"one slot for two permits", "calm", check.BySlots},
		"slot without a majority":    {"slot without a majority", "paused clients", check.BySlots},
		"fencing without write-back": {"fencing without write-back", "split counters", check.ByFencing},
		"fence that is always 1":     {"fence that is always 1", "calm", check.ByFencing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			within := uint64(50)
			if c.lock == "" {
				within = 2
			}
			for n := range within {
				s := simulation.Of(c.profile, n+1)
				r, err := exact.Start(t).Play(exact.Job{Schedule: s, Lock: c.lock, Order: 1, Whole: true})
				require.NoError(t, err)
				status, out := judge(t, r.Events)
				if c.lock == "" {
					require.True(t, r.OK(), r.Report())
					require.Equal(t, 0, status, out)
				} else if slices.Contains(r.By(), c.by) {
					assert.Equal(t, 1, status, "our checkers found %v", r.Found)
					assert.Contains(t, out, c.by+": ")
					return
				}
			}
			assert.Empty(t, c.lock, "our checkers found nothing")
		})
	}
}
