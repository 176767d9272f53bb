// Package judge_test compares judge.py, which shares no code with our checkers, with them.
package judge_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/exact"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

// judge runs the judge on a history. It returns its exit status and what it printed.
func judge(t *testing.T, events []history.Event) (int, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "history.jsonl")
	history.Sort(events)
	require.NoError(t, history.Save(path, events))
	return run(t, path)
}

func run(t *testing.T, path string) (int, string) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		require.NotEqual(t, "1", os.Getenv("REDLOCK_REQUIRE_REDIS"), "REDLOCK_REQUIRE_REDIS is set: %v", err)
		t.Skip("python3 is missing: install it")
	}
	cmd := exec.CommandContext(t.Context(), python, "judge.py", path)
	out, _ := cmd.CombinedOutput()
	return cmd.ProcessState.ExitCode(), string(out)
}

// at returns an event of one worker of a client for a lock of the name "a".
func at(ms int, kind history.Kind, client string, change func(*history.Event)) history.Event {
	e := history.Event{T: time.Duration(ms) * time.Millisecond, Kind: kind, Client: client, Name: "a", Op: 1}
	if change != nil {
		change(&e)
	}
	return e
}

func until(ms int, fence uint64) func(*history.Event) {
	return func(e *history.Event) { e.Until, e.Fence = time.Duration(ms)*time.Millisecond, fence }
}

// TestTheJudgeCatches shows that each rule of the judge can fail.
func TestTheJudgeCatches(t *testing.T) {
	t.Parallel()
	pair := func(begin int, untilX, fenceX, fenceY int) []history.Event {
		return []history.Event{
			at(1, history.Invoked, "x", nil), at(2, history.Acquired, "x", until(untilX, uint64(fenceX))),
			at(begin-1, history.Invoked, "y", nil), at(begin, history.Acquired, "y", until(begin+50, uint64(fenceY))),
		}
	}
	permits := func(slots int, fences ...uint64) (events []history.Event) {
		for i, fence := range fences {
			client := string(rune('x' + i))
			events = append(events, at(2*i+1, history.Invoked, client, nil),
				at(2*i+2, history.Acquired, client, func(e *history.Event) {
					until(50, fence)(e)
					e.Mode, e.Slots = kinds.Semaphore, slots
				}))
		}
		return events
	}
	write := func(ms int, from, value int64) history.Event {
		return at(ms, history.Written, "x", func(e *history.Event) { e.Register, e.From, e.Value = "fenced", from, value })
	}
	for name, c := range map[string]struct {
		events []history.Event
		says   string // "" if nothing is wrong
	}{
		"one after the other": {pair(60, 50, 1, 2), ""},
		"extended in time":    {append(pair(60, 50, 1, 2), at(40, history.Extended, "x", until(70, 0))), "exclusion: a"},
		"extended too late":   {append(pair(60, 50, 1, 2), at(55, history.Extended, "x", until(70, 0))), "exclusion: a"},
		"extended while it unlocks": {append(pair(60, 50, 1, 2), at(40, history.ReleaseCalled, "x", nil),
			at(41, history.Extended, "x", until(70, 0))), ""},
		"two holders": {pair(40, 50, 1, 2), "exclusion: a"},
		"unlocked at once": {[]history.Event{
			at(1, history.Invoked, "x", nil), at(2, history.Acquired, "x", until(50, 1)),
			at(3, history.Invoked, "y", nil), at(4, history.Acquired, "y", until(60, 2)),
			at(4, history.ReleaseCalled, "y", nil), at(5, history.Released, "y", nil),
		}, "exclusion: a"},
		"unlocked at once, as another begins": {[]history.Event{
			at(1, history.Invoked, "y", nil), at(4, history.Acquired, "y", until(60, 1)),
			at(2, history.Invoked, "x", nil), at(4, history.Acquired, "x", until(50, 2)),
			at(4, history.ReleaseCalled, "x", nil), at(5, history.Released, "x", nil),
		}, ""},
		"a token that shrinks":     {pair(60, 50, 2, 1), "fencing: a: no larger token"},
		"one token for two":        {pair(60, 50, 2, 2), "fencing: a: one token"},
		"as many permits as slots": {permits(2, 0, 0), ""},
		"a permit too many":        {permits(2, 0, 0, 0), "slots: a: z.0.0.1"},
		"permits in two slots":     {permits(2, 4, 5), ""},
		"one slot for two permits": {permits(3, 4, 7), "slots: a: one slot"},
		"an update that is lost":   {[]history.Event{write(1, 0, 1), write(2, 0, 1)}, "register: a"},
		"updates in order":         {[]history.Event{write(1, 0, 1), write(2, 1, 2)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, out := judge(t, c.events)
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
