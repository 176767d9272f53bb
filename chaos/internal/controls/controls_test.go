package controls_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/clients"
	"github.com/redlock-go/redlock/chaos/internal/controls"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/report"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
	"github.com/redlock-go/redlock/internal/redisproc"
)

// TestOurOwnLockWithoutARuleIsCaught checks that each control on real masters is caught by its checker, and that the
// lock under test is not.
func TestOurOwnLockWithoutARuleIsCaught(t *testing.T) {
	t.Parallel()
	redisproc.Need(t)
	o, set := options(t), controls.Find("*")[0]
	tried := 0
	require.NoError(t, set.Try(t.Context(), o, func(c report.Control) {
		tried++
		assert.True(t, c.Caught, "%s by %s: %s", c.Lock, c.Checker, c.Text)
		dir := filepath.Join(o.Dir, strings.ReplaceAll(c.Lock, " ", "-"))
		assert.FileExists(t, filepath.Join(dir, "logs", "master-0.log"))
		if _, err := os.Stat(dir + "-" + traffic.Quorum); err == nil {
			assert.Contains(t, c.Text, "the same traffic and harm with the lock under test: nothing found")
		}
	}))
	assert.Len(t, set.Controls, tried)
}

// TestALockThatIsNotBrokenIsNotCaught checks that the controls find nothing in the lock under test. A control that
// catches every lock proves nothing.
func TestALockThatIsNotBrokenIsNotCaught(t *testing.T) {
	t.Parallel()
	redisproc.Need(t)
	for _, name := range []string{
		"lock without a TTL", "loss notified 4 s late", "nothing closed", "fence that is always 1", "no token compared",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := controls.Instead(t.Context(), options(t), name)
			require.NoError(t, err)
			assert.False(t, c.Caught, c.Text)
			assert.Contains(t, c.Text, "nothing found: ")
		})
	}
}

// TestOneCheckerFindsAControlWrittenByHand checks that only the checker of a control finds something in its history,
// and none in the sound one.
func TestOneCheckerFindsAControlWrittenByHand(t *testing.T) {
	t.Parallel()
	for _, of := range []string{check.ByCoverage, check.ByWellFormed, check.ByClients, check.ByHarness} {
		assert.True(t, controls.JudgedByHand(of, "").Held(), of)
		for _, c := range controls.ByHand() {
			assert.Equal(t, of != c.Checker, controls.JudgedByHand(of, c.Lock).Held(), "%s on %q", of, c.Lock)
		}
	}
}

// TestWhatHasEndedByItselfWasNotReleased checks that a control fails if its last inspection comes only after the
// residue has expired.
func TestWhatHasEndedByItselfWasNotReleased(t *testing.T) {
	t.Parallel()
	redisproc.Need(t)
	_, err := controls.Fading(t.Context(), options(t))
	require.ErrorContains(t, err, "what was left has ended by itself")
}

// TestALockUnderTestThatDidNotComeToItsEndHasNoVerdict checks that a checker of the end finds nothing in a trial that
// stopped early, since the harness may have failed.
func TestALockUnderTestThatDidNotComeToItsEndHasNoVerdict(t *testing.T) {
	t.Parallel()
	redisproc.Need(t)
	_, err := controls.Stumbling(t.Context(), options(t))
	require.ErrorContains(t, err, "no harm could be done")
	require.NotContains(t, err.Error(), "findings nevertheless")
}

func TestAControlThatDoesNotRunIsAnError(t *testing.T) {
	t.Parallel()
	redisproc.Need(t)
	o := options(t)
	o.Runner = clients.Processes{Command: func() *exec.Cmd { return exec.Command("false") }}
	err := controls.Find("no token compared")[0].Try(t.Context(), o, func(c report.Control) { t.Errorf("result: %v", c) })
	require.ErrorContains(t, err, "the control no token compared did not run properly")
	folders, err := os.ReadDir(o.Dir)
	require.NoError(t, err)
	require.Len(t, folders, 1, "it is not tried again")
	assert.Equal(t, "no-token-compared", folders[0].Name())
}

// killer kills a client of the lock under test, as a panic would, when it has asked for something. The holder dies
// later, so the trial is not over.
type killer struct{ clients.Runner }

func (k killer) Start(name, dir string, log *os.File) (clients.Running, error) {
	r, err := k.Runner.Start(name, dir, log)
	if err == nil && name == "c1-0" && strings.HasSuffix(dir, "-"+traffic.Quorum) {
		asks := func(e history.Event) bool { return e.Client == "c1" && e.Kind == history.Invoked }
		go func() {
			for range 600 { // a minute
				time.Sleep(100 * time.Millisecond)
				if events, _ := history.ReadDir(dir); slices.ContainsFunc(events, asks) {
					_ = r.Kill()
					return
				}
			}
		}()
	}
	return r, err
}

func TestWhatATrialWithoutAVerdictHasFoundIsReported(t *testing.T) {
	t.Parallel()
	redisproc.Need(t)
	o := options(t)
	o.Runner = killer{o.Runner}
	_, err := controls.Only(t.Context(), o, "lock without a TTL")
	require.ErrorContains(t, err, "findings nevertheless: client c1.0 ended by itself")
}

func TestAnInterruptedControlIsAnError(t *testing.T) {
	t.Parallel()
	redisproc.Need(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // ends before a dead holder's lock counts as late
	defer cancel()
	_, err := controls.Only(ctx, options(t), "lock without a TTL")
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestAnUnknownCheckerIsAnError(t *testing.T) {
	t.Parallel()
	_, err := controls.Unknown(t.Context(), options(t))
	require.ErrorContains(t, err, `is to be caught by "luck", which is no checker`)
}

// asked returns the events, preceded by one event for each acquisition among them: that it was asked for.
func asked(events []history.Event) []history.Event {
	var all []history.Event
	for _, e := range events {
		if e.Kind == history.Acquired {
			e.T, e.Kind, e.Until = 1, history.Invoked, 0
			all = append(all, e)
		}
	}
	return append(all, events...)
}

func TestAVerdictOfWhatDidNotHappenIsNone(t *testing.T) {
	t.Parallel()
	acquired := func(at time.Duration) history.Event {
		return history.Event{T: at, Kind: history.Acquired, Client: "c0", Op: int(at), Token: "x", Until: 100}
	}
	harm := history.Event{T: 5, Kind: history.Inject}
	for name, tt := range map[string]struct {
		events      []history.Event
		found, over bool
		err         string
	}{
		"all well":             {[]history.Event{acquired(4), harm, acquired(6)}, false, true, ""},
		"found before the end": {[]history.Event{acquired(4), harm}, true, false, ""},
		"none held":            {[]history.Event{harm}, false, true, "no client ever got a lock"},
		"found, and none held": {[]history.Event{harm}, true, true, "no client ever got a lock"},
		"no harm":              {[]history.Event{acquired(4)}, false, true, "no harm was done"},
		"harm cut short":       {[]history.Event{acquired(4), harm, acquired(6)}, false, false, "not done in full"},
		"none held after the harm": {
			[]history.Event{acquired(4), harm}, false, true, "no client got a lock once the harm was done",
		},
		"a broken harness": {
			[]history.Event{acquired(4), harm, acquired(6), {T: 7, Kind: history.Broken, Err: "gone"}},
			true, true,
			"harness: gone",
		},
		"a client that failed": {
			[]history.Event{acquired(4), harm, acquired(6), {T: 7, Kind: history.Failed, Err: "gone"}},
			true, true,
			"clients: gone",
		},
		"a history that is wrong": {[]history.Event{acquired(6), harm}, true, true, "well-formed: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := controls.Proper("exclusion", asked(tt.events), tt.found, tt.over)
			if tt.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.err)
		})
	}
}

// TestAVerdictOnTheEndNeedsOne checks that a checker of the end needs a trial that was done in full, even if clients
// got locks meanwhile.
func TestAVerdictOnTheEndNeedsOne(t *testing.T) {
	t.Parallel()
	events := asked([]history.Event{
		{T: 4, Kind: history.Acquired, Client: "c0", Op: 1, Until: 100}, {T: 5, Kind: history.Inject},
	})
	require.NoError(t, controls.Proper("residue", events, false, true))
	require.ErrorContains(t, controls.Proper("residue", events, false, false), "not done in full")
	unharmed := events[:len(events)-1]
	require.NoError(t, controls.Proper("leaks", unharmed, false, true))
	require.ErrorContains(t, controls.Proper("leaks", unharmed, false, false), "not done in full")
}

// TestCaughtMeansThatTheLockUnderTestIsNot checks that a control counts as caught only if the checker finds what it is
// to find, and nothing in the lock under test. Otherwise it may have caught the harm.
func TestCaughtMeansThatTheLockUnderTestIsNot(t *testing.T) {
	t.Parallel()
	bad := check.Verdict{Findings: []check.Finding{{Text: "two at once"}}}
	good := check.Verdict{Looked: "9 holds"}
	const harm, proof = "the same traffic and harm show this in the lock under test: two at once",
		"; the same traffic and harm with the lock under test: nothing found, 9 holds"
	for name, tt := range map[string]struct {
		says   string
		broken check.Verdict
		sound  *check.Verdict
		caught bool
		text   string
	}{
		"caught":              {"two", bad, nil, true, "two at once"},
		"caught, with proof":  {"two", bad, &good, true, "two at once" + proof},
		"something else":      {"three", bad, &good, false, "something else was found: two at once"},
		"the harm":            {"two", bad, &bad, false, harm},
		"the harm alone":      {"two", good, &bad, false, harm},
		"nothing":             {"two", good, nil, false, "nothing found: 9 holds"},
		"nothing, with proof": {"two", good, &good, false, "nothing found: 9 holds"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := controls.Said(tt.says, tt.broken, tt.sound)
			assert.Equal(t, tt.caught, c.Caught)
			assert.Equal(t, tt.text, c.Text)
		})
	}
}

// TestALookAtAGrowingHistoryEndsBeforeIt checks that later events are cut off. Files are read one after another while
// they grow, so later events may be incomplete.
func TestALookAtAGrowingHistoryEndsBeforeIt(t *testing.T) {
	t.Parallel()
	events := []history.Event{{T: 1}, {T: 2}, {T: 3}}
	assert.Equal(t, events[:2], controls.Until(2, events))
	assert.Equal(t, events, controls.Until(9, events))
	assert.Empty(t, controls.Until(0, events))
}
