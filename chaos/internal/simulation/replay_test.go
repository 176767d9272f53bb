package simulation_test

import (
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/broken"
	"github.com/redlock-go/redlock/chaos/internal/replay"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
	"github.com/redlock-go/redlock/internal/seam"
	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
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

// follow returns what the lock did to each name in a run of the schedule.
func follow(s simulation.Schedule, open simulation.Open) (histories []replay.History, r *simulation.Result) {
	s = s.FencedMutexes()
	r = simulation.InBubble(s, open)
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
			histories, r := follow(s, simulation.Product())
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

// decrease has a write-back set the counter to its number, also to a smaller one.
func decrease(script, text string) string {
	if script != "mutex_raise" {
		return text
	}
	for _, change := range [][2]string{
		{"math.max(last[i], token)", "token"},
		{"return raiseAll(n + 1, 2 * n, f, ARGV[4])", "raiseAll(n + 1, 2 * n, f, ARGV[4])\nreturn f"},
	} {
		if strings.Count(text, change[0]) != 1 {
			panic("the script has changed: " + change[0])
		}
		text = strings.Replace(text, change[0], change[1], 1)
	}
	return text
}

// countLarger has a client count the masters that answer its write-back with a larger counter.
func countLarger(nodes []quorum.Node) []quorum.Node {
	for i, n := range nodes {
		nodes[i] = lenient{n}
	}
	return nodes
}

type lenient struct{ quorum.Node }

func (n lenient) Submit(c *node.Call) {
	if c.Op.Name == "raise" {
		c.Voter = lenientVoter{c.Voter}
	}
	n.Node.Submit(c)
}

type lenientVoter struct{ node.Voter }

func (v lenientVoter) Vote(index int, vote node.Vote) {
	if vote.Verdict == node.Denied && vote.Number > 0 {
		vote.Verdict = node.Granted
	}
	v.Voter.Vote(index, vote)
}

func lockBroken(t *testing.T, name string) simulation.Open {
	t.Helper()
	lock, ok := broken.Find(name)
	require.True(t, ok, name)
	return simulation.Broken(lock)
}

// TestTheModelRefusesABrokenLock removes a rule from the lock. Spin must refuse a step of its history, and allow the
// same step in the model without that rule: so the rule of the model is the rule of the code.
func TestTheModelRefusesABrokenLock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		open    simulation.Open
		rule    string // of the model; "" if the model without it does other things than this lock
		profile string
		refused []replay.Op
	}{
		"a token needs a majority": {
			lockBroken(t, "majority less one"), "", "split counters", []replay.Op{replay.Write, replay.Hold},
		},
		"a token without a majority is written back": {
			lockBroken(t, "fencing without write-back"), "NO_WRITE_BACK", "split counters", []replay.Op{replay.Hold},
		},
		"a write-back needs the client's key": {
			lockBroken(t, "fence raised without a token check"), "NO_COMPARE", "split counters", []replay.Op{replay.Raise},
		},
		"a larger counter does not count": {
			simulation.Product(broken.Hooks(seam.Hooks{Nodes: countLarger})), "NO_EQUAL", "split counters",
			[]replay.Op{replay.Hold},
		},
		"counters never decrease": {
			simulation.Product(broken.Hooks(seam.Hooks{Script: decrease})), "NO_MAX", "split counters",
			[]replay.Op{replay.Raise},
		},
		"a restarted master continues above": {
			lockBroken(t, "fence counted from one"), "NO_HINT", "rolling restarts", []replay.Op{replay.Grant},
		},
		"grants within the restart window do not count": {
			lockBroken(t, "restart guard off"), "", "rolling restarts", []replay.Op{replay.Hold},
		},
		"every grant has a larger number": {
			lockBroken(t, "fence that is always 1"), "", "calm", []replay.Op{replay.Grant},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const within = 200
			for n, s := range (simulation.Control{Profile: c.profile, Within: within}).Schedules() {
				histories, _ := follow(s, c.open)
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
