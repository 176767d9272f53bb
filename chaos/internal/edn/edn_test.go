package edn_test

import (
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/edn"
	"github.com/redlock-go/redlock/chaos/internal/exact"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

// The histories that the judge saw are kept as NAME-N-STATUS.edn: the test, a number, and the status of the judge.
var (
	keep = flag.String("keep", "", "the absolute path of a folder in which to keep the histories")
	kept atomic.Int64
)

// judge runs the judge on a history. It returns its exit status and what it printed.
func judge(t *testing.T, events []history.Event) (int, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "history.edn")
	require.NoError(t, edn.Save(path, events))
	status, out := run(t, path)
	if *keep != "" {
		name := strings.NewReplacer("/", "-", " ", "-").Replace(t.Name())
		stays := filepath.Join(*keep, fmt.Sprintf("%s-%d-%d.edn", name, kept.Add(1), status))
		require.NoError(t, edn.Save(stays, events))
	}
	return status, out
}

func run(t *testing.T, path string) (int, string) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		require.NotEqual(t, "1", os.Getenv("REDLOCK_REQUIRE_REDIS"), "REDLOCK_REQUIRE_REDIS is set: %v", err)
		t.Skip("python3 is missing: install it")
	}
	cmd := exec.CommandContext(t.Context(), python, "../../judge/judge.py", path)
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

func TestAHistoryInEDN(t *testing.T) {
	t.Parallel()
	mode := func(mode string) func(*history.Event) { return func(e *history.Event) { e.Mode = mode } }
	var lines []string
	for _, o := range edn.Ops([]history.Event{
		at(1, history.Invoked, "x", mode("writer")),
		at(2, history.Invoked, "y", nil),
		at(3, history.Acquired, "x", func(e *history.Event) { e.Mode, e.Until, e.Fence = "writer", 20*time.Millisecond, 7 }),
		at(4, history.Refused, "y", nil),
		at(5, history.Extended, "x", until(30, 0)),
		at(7, history.ReleaseCalled, "x", nil),
		at(8, history.Released, "x", func(e *history.Event) { e.Err = "no quorum" }),
		at(9, history.Invoked, "z", nil),
		at(10, history.Written, "x", func(e *history.Event) { e.Register, e.From, e.Value = "fenced", 0, 1 }),
	}) {
		lines = append(lines, o.String())
	}
	assert.Equal(t, []string{
		`{:type :invoke, :process 0, :f :acquire, :key "a", :value nil, :time 1000000, :index 0, :mode :writer}`,
		`{:type :invoke, :process 1, :f :acquire, :key "a", :value nil, :time 2000000, :index 1, :mode :mutex}`,
		`{:type :ok, :process 0, :f :acquire, :key "a", :value 7, :time 3000000, :index 2, :mode :writer}`,
		`{:type :fail, :process 1, :f :acquire, :key "a", :value nil, :time 4000000, :index 3, :mode :mutex}`,
		`{:type :invoke, :process 0, :f :release, :key "a", :value nil, :time 7000000, :index 4, :mode :writer}`,
		`{:type :info, :process 0, :f :release, :key "a", :value nil, :time 8000000, :index 5, :mode :writer}`,
		`{:type :invoke, :process 2, :f :acquire, :key "a", :value nil, :time 9000000, :index 6, :mode :mutex}`,
		`{:type :invoke, :process 3, :f :cas, :key "fenced/a", :value [0 1], :time 10000000, :index 7}`,
		`{:type :ok, :process 3, :f :cas, :key "fenced/a", :value [0 1], :time 10000000, :index 8}`,
		`{:type :info, :process 2, :f :acquire, :key "a", :value nil, :time 10000000, :index 9, :mode :mutex}`,
	}, lines)
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
		"two holders":         {pair(40, 50, 1, 2), "exclusion: a"},
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
		"a permit too many":        {permits(2, 0, 0, 0), "slots: a: process 2"},
		"permits in two slots":     {permits(2, 4, 5), ""},
		"one slot for two permits": {permits(3, 4, 7), "slots: a: one slot"},
		"an update that is lost":   {[]history.Event{write(1, 0, 1), write(2, 0, 1)}, "register: fenced/a"},
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
	path := filepath.Join(t.TempDir(), "history.edn")
	require.NoError(t, os.WriteFile(path, []byte("{:type :invoke, and so on}\n"), 0o600))
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
			within := 50
			if c.lock == "" {
				within = 2
			}
			for _, s := range (simulation.Control{Profile: c.profile, Within: within}).Schedules() {
				o, err := exact.Start(t).Play(exact.Job{Schedule: s, Lock: c.lock, Order: 1, Whole: true})
				require.NoError(t, err)
				r := &o.Result
				assertOneAtATime(t, edn.Ops(r.Events))
				status, out := judge(t, r.Events)
				if c.lock == "" {
					require.True(t, r.OK(), r.Report())
					require.Equal(t, 0, status, out)
					assert.ElementsMatch(t, believed(r.Events), saved(r.Events))
				} else if slices.Contains(r.By(), c.by) {
					assert.Equal(t, 1, status, "our checkers found %v", r.Violations)
					assert.Contains(t, out, c.by+": ")
					return
				}
			}
			assert.Empty(t, c.lock, "our checkers found nothing")
		})
	}
}

// In the other history that is kept, a master's clock jumped, and README names what has two holders.
func TestThePublishedHistoryOfAClockThatJumped(t *testing.T) {
	t.Parallel()
	status, out := run(t, "../../judge/only-clock-forward-17.edn.gz")
	assert.Equal(t, 1, status, out)
	refused := map[string]bool{}
	for _, line := range regexp.MustCompile(`(?m)^(\w+): (\S+): `).FindAllStringSubmatch(out, -1) {
		assert.Equal(t, "exclusion", line[1])
		refused[line[2]] = true
	}
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	names := slices.Sorted(maps.Keys(refused))
	assert.Len(t, names, 4)
	text := strings.ReplaceAll(string(readme), "\n", " ")
	assert.True(t, strings.Contains(text, "`"+strings.Join(names, "`, `")+"`"), "README names others than %v", names)
}

// TestThePublishedHistory judges a history that is kept next to the judge, and then the same with errors in it.
func TestThePublishedHistory(t *testing.T) {
	t.Parallel()
	const path = "../../judge/fenced-17.edn.gz"
	status, out := run(t, path)
	assert.Equal(t, 0, status, out)
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	assert.Contains(t, string(readme), "chaos/judge/fenced-17.edn.gz\n"+out+"```", "README has what the judge prints")

	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	require.NoError(t, err)
	text, err := io.ReadAll(unpacked)
	require.NoError(t, err)
	for name, c := range map[string]struct{ old, changed, says string }{
		"a token that shrinks": {
			`:process 13, :f :acquire, :key "storm:fenced-brief", :value 1795505382355966`,
			`:process 13, :f :acquire, :key "storm:fenced-brief", :value 1795505382312429`,
			"fencing: storm:fenced-brief: no larger token",
		},
		"a lock that is not released": {
			`:process 0, :f :release, :key "storm:fenced-brief"`, `:process 0, :f :read, :key "trusting/x"`,
			"exclusion: storm:fenced-brief",
		},
		// A client wrote after its lock had ended. A register that does not compare tokens took the write.
		"a register that trusts": {`"trusting/`, `"fenced/`, "register: fenced/storm:unfenced-over: [1, 2]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, string(text), c.old)
			path := filepath.Join(t.TempDir(), "history.edn")
			require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(text), c.old, c.changed)), 0o600))
			status, out := run(t, path)
			assert.Equal(t, 1, status, out)
			assert.Contains(t, out, c.says)
		})
	}
}

// assertOneAtATime asserts that each process ends an operation before it begins the next, and does nothing after one
// whose outcome it does not know. Jepsen's checkers require it.
func assertOneAtATime(t *testing.T, ops []edn.Op) {
	t.Helper()
	under := map[int]edn.Op{}
	for _, o := range ops {
		before, known := under[o.Process]
		if o.Type == "invoke" {
			assert.True(t, !known || before.Type == "ok" || before.Type == "fail", "%v after %v", o, before)
		} else {
			assert.Equal(t, "invoke "+o.F, before.Type+" "+before.F, "%v after %v", o, before)
		}
		under[o.Process] = o
	}
	for _, o := range under {
		assert.NotEqual(t, "invoke", o.Type, "%v", o)
	}
}

// A believed interval of one name.
type interval struct {
	name       string
	begin, end time.Duration
}

// believed returns the intervals that our checkers derive from a history.
func believed(events []history.Event) (all []interval) {
	for _, i := range check.Intervals(events) {
		for _, name := range i.Acquired.Locked() {
			all = append(all, interval{name, i.Begin, i.End})
		}
	}
	return all
}

// saved returns the intervals between the acquires and the releases in EDN.
func saved(events []history.Event) (all []interval) {
	began := map[int]edn.Op{}
	for _, o := range edn.Ops(events) {
		switch {
		case o.F == "acquire" && o.Type == "ok":
			began[o.Process] = o
		case o.F == "release" && o.Type == "invoke":
			all = append(all, interval{o.Key, began[o.Process].Time, o.Time})
		}
	}
	return all
}
