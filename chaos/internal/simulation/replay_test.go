package simulation_test

import (
	"flag"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/exact"
	"github.com/redlock-go/redlock/chaos/internal/replay"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

var replays = flag.Int("replays", 1, "how many schedules of each profile the model of fencing follows")

// attempts is the number of attempts of one name that the model follows. Spin's time grows with it.
const attempts = 60

// modeled are the profiles whose faults the model has: masters that restart without their data, and any network.
var modeled = []string{
	"calm", "minority", "storm", "rolling restarts", "paused clients", "far away", "ghosts", "dead holders",
	"split counters",
}

// checker returns a checker of the model without one of its rules, "" for none.
func checker(t *testing.T, without string) replay.Checker {
	t.Helper()
	for _, program := range []string{"spin", "gcc"} {
		if _, err := exec.LookPath(program); err != nil {
			require.NotEqual(t, "1", os.Getenv("REDLOCK_REQUIRE_SPIN"), "REDLOCK_REQUIRE_SPIN is set: %v", err)
			t.Skipf("no %s: install Debian's packages spin and gcc", program)
		}
	}
	return replay.Checker{Model: "../../../model", Dir: t.TempDir(), Without: without}
}

// played plays a schedule exactly, with a lock that is broken, or "" for ours, and returns all that happened.
func played(t *testing.T, s simulation.Schedule, lock string) *simulation.Result {
	t.Helper()
	o, err := exact.Start(t).Play(exact.Job{Schedule: s, Lock: lock, Order: 1, Whole: true})
	require.NoError(t, err)
	return &o.Result
}

// follow returns what the lock did to each name in a run of the schedule.
func follow(t *testing.T, s simulation.Schedule, lock string) (histories []replay.History, r *simulation.Result) {
	t.Helper()
	s = s.FencedMutexes()
	r = played(t, s, lock)
	for _, name := range s.Names {
		histories = append(histories, r.Steps(name, attempts))
	}
	return histories, r
}

// TestTheModelAllowsEveryStepOfTheCode has Spin follow the real lock under faults: everything that a client or a master
// did must be a step that the rules in model/fencing_rules.pml allow.
func TestTheModelAllowsEveryStepOfTheCode(t *testing.T) {
	t.Parallel()
	byMasters := map[int][]replay.History{}
	did := map[replay.Op]int{}
	for _, profile := range modeled {
		for _, s := range (simulation.Control{Profile: profile, Within: *replays}).Schedules() {
			histories, r := follow(t, s, "")
			require.True(t, r.OK(), r.Report())
			byMasters[s.Masters] = append(byMasters[s.Masters], histories...)
			for _, h := range histories {
				for _, step := range h.Steps {
					did[step.Op]++
				}
			}
		}
	}
	for masters, histories := range byMasters {
		require.NoError(t, checker(t, "").Check(t.Context(), histories...), "%d masters", masters)
	}
	for op := replay.Begin; op <= replay.Restart; op++ {
		assert.NotZero(t, did[op], "no history has a step %d", op)
	}
	assert.Zero(t, did[replay.Uncounted], "fenced requests are not sent within the restart window")
	t.Logf("steps by kind: %v", did)
}

// TestTheModelRefusesABrokenLock removes a rule from the lock. Spin must refuse a step of its history, and allow the
// same step in the model without that rule: so the rule of the model is the rule of the code.
func TestTheModelRefusesABrokenLock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lock    string
		rule    string // of the model; "" if the model without it does other things than this lock
		profile string
		refused []replay.Op
	}{
		"a token needs a majority": {
			"majority less one", "", "split counters", []replay.Op{replay.Write, replay.Hold},
		},
		"a token without a majority is written back": {
			"fencing without write-back", "NO_WRITE_BACK", "split counters", []replay.Op{replay.Hold},
		},
		"a write-back needs the client's key": {
			"fence raised without a token check", "NO_COMPARE", "split counters", []replay.Op{replay.Raise},
		},
		"a larger counter does not count": {
			"larger counter counted", "NO_EQUAL", "split counters",
			[]replay.Op{replay.Hold},
		},
		"counters never decrease": {
			"counters that decrease", "NO_MAX", "split counters",
			[]replay.Op{replay.Raise},
		},
		"a restarted master continues above": {
			"fence counted from one", "NO_HINT", "rolling restarts", []replay.Op{replay.Grant},
		},
		"grants within the restart window do not count": {
			"restart guard off", "", "rolling restarts", []replay.Op{replay.Hold},
		},
		"every grant has a larger number": {
			"fence that is always 1", "", "calm", []replay.Op{replay.Grant},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const within = 50
			for n, s := range (simulation.Control{Profile: c.profile, Within: within}).Schedules() {
				histories, _ := follow(t, s, c.lock)
				err := checker(t, "").Check(t.Context(), histories...)
				var refusal *replay.Refusal
				if err == nil {
					continue
				}
				require.ErrorAs(t, err, &refusal)
				t.Logf("schedule %d, seed %d: %v", n, s.Seed, err)
				assert.Contains(t, c.refused, refusal.Step().Op)
				if c.rule != "" { // a broken lock may do more than the rule forbids: then another schedule must show it
					if err := checker(t, c.rule).Check(t.Context(), refusal.History); err != nil {
						t.Logf("without %s: %v", c.rule, err)
						continue
					}
				}
				return
			}
			t.Errorf("no schedule of %d has a step that only the rule forbids", within)
		})
	}
}
