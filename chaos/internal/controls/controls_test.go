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

	"github.com/redlock-go/redlock/chaos/internal/broken"
	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/clients"
	"github.com/redlock-go/redlock/chaos/internal/controls"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/naive"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
	"github.com/redlock-go/redlock/internal/redisproc"
)

func TestEveryNaiveLockIsAControl(t *testing.T) {
	t.Parallel()
	all := controls.Naive()
	require.Len(t, all, len(naive.All))
	for i, c := range naive.All {
		assert.Equal(t, c.Name, all[i].Lock)
		assert.Equal(t, c.Checker, all[i].Checker)
	}
}

func TestNaiveLocksAreCaught(t *testing.T) {
	t.Parallel()
	redisproc.Need(t)
	o := options(t)
	all, err := controls.Only(t.Context(), o, "setnx", "rw-two-keys", "failover")
	require.NoError(t, err)
	require.Len(t, all, 3)
	for i, want := range []struct{ lock, checker, text string }{
		{"setnx", "liveness", "did not acquire"},
		{"rw-two-keys", "exclusion", "was held by two"},
		{"failover", "exclusion", "was held by two"},
	} {
		assert.Equal(t, want.lock, all[i].Lock)
		assert.Equal(t, want.checker, all[i].Checker)
		assert.True(t, all[i].Caught, all[i].Text)
		assert.Contains(t, all[i].Text, want.text)
		events, err := history.ReadDir(filepath.Join(o.Dir, want.lock))
		require.NoError(t, err)
		assert.NotEmpty(t, events)
		assert.FileExists(t, filepath.Join(o.Dir, want.lock, "logs", "master-0.log"))
	}
	assert.Contains(t, all[0].Text, "the same traffic and harm with the lock under test: nothing found")
	assert.Contains(t, all[2].Text, "the same traffic and harm with the lock under test: nothing found")
}

// TestOurOwnLockWithoutARuleIsCaught checks that each control of our own lock is caught by its checker, and that the
// lock under test is not.
func TestOurOwnLockWithoutARuleIsCaught(t *testing.T) {
	t.Parallel()
	redisproc.Need(t)
	all, err := controls.Run(t.Context(), options(t), controls.Own()...)
	require.NoError(t, err)
	texts := map[string]string{
		"no release after failure":          "still holds ",
		"counters that never expire":        "still holds ",
		"nothing closed":                    "goroutines of it are left",
		"connection left open":              "connections of clients",
		"fence counted from one":            " got the token ",
		"new fence for each nested hold":    "holds it already",
		"loss notified 4 s late":            "notified ",
		"loss never notified":               "was not notified ",
		"fence that is always 1":            "an update is lost",
		"new fence for each request":        "an update is lost",
		"election without fencing":          "both lead in term 1",
		"term looked up for each write":     "the register took a write of ",
		"job lock deleted at its end":       "was to stay taken for 500ms",
		"minimum hold of mutexes only":      "was to stay taken for 500ms",
		"slots counted by each master":      "holders of 2 slots",
		"slot without a majority":           "had 2 holders of 1 slots",
		"number of slots not compared":      "holders of 2 slots",
		"no token compared":                 "no single lock could have been held like this",
		"readers admitted despite a writer": "no single lock could have been held like this",
	}
	require.Len(t, all, len(texts))
	for _, c := range all {
		assert.True(t, c.Caught, "%s by %s: %s", c.Lock, c.Checker, c.Text)
		require.Contains(t, texts, c.Lock)
		assert.Contains(t, c.Text, texts[c.Lock], c.Lock)
	}
}

func TestEveryBrokenLockIsOneOfOurs(t *testing.T) {
	t.Parallel()
	for _, c := range controls.Own() {
		_, ok := broken.Find(c.Lock)
		assert.True(t, ok, c.Lock)
	}
}

// TestALockThatIsNotBrokenIsNotCaught checks that the controls find nothing in the lock under test. A control that
// catches every lock proves nothing.
func TestALockThatIsNotBrokenIsNotCaught(t *testing.T) {
	t.Parallel()
	redisproc.Need(t)
	for _, name := range []string{
		"setnx", "failover", "reentrant-count", "loss notified 4 s late", "nothing closed", "fence that is always 1",
		"no token compared",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, err := controls.Instead(t.Context(), options(t), name)
			require.NoError(t, err)
			require.Len(t, all, 1)
			assert.False(t, all[0].Caught, all[0].Text)
			assert.Contains(t, all[0].Text, "nothing found: ")
		})
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
	all, err := controls.Only(t.Context(), o, "exists-set")
	require.ErrorContains(t, err, "the control exists-set did not run properly")
	assert.Empty(t, all)
	folders, err := os.ReadDir(o.Dir)
	require.NoError(t, err)
	require.Len(t, folders, 1, "it is not tried again")
	assert.Equal(t, "exists-set", folders[0].Name())
}

// killer kills a client of the lock under test, as a panic would, when it has acquired something.
type killer struct{ clients.Runner }

func (k killer) Start(name, dir string, log *os.File) (clients.Running, error) {
	r, err := k.Runner.Start(name, dir, log)
	if err == nil && name == "c1-0" && strings.HasSuffix(dir, "-"+traffic.Quorum) {
		acquired := func(e history.Event) bool { return e.Client == "c1" && e.Kind == history.Acquired }
		go func() {
			for range 600 { // a minute
				time.Sleep(100 * time.Millisecond)
				if events, _ := history.ReadDir(dir); slices.ContainsFunc(events, acquired) {
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
	_, err := controls.Only(t.Context(), o, "reentrant-count")
	require.ErrorContains(t, err, "findings nevertheless: client c1.0 ended by itself")
}

// TestAMasterFailsUnderALockThoughNobodyCouldGetOne checks that the failover control recovers when all clients have
// turned to the replica, which grants no lock while it follows the master.
func TestAMasterFailsUnderALockThoughNobodyCouldGetOne(t *testing.T) {
	t.Parallel()
	redisproc.Need(t)
	events, err := controls.AfterAStall(t.Context(), options(t))
	require.NoError(t, err)
	harm := slices.IndexFunc(events, func(e history.Event) bool { return e.Kind == history.Inject })
	require.Positive(t, harm)
	last := slices.IndexFunc(events, func(e history.Event) bool { return e.Kind == history.Acquired && e.Life > 0 })
	assert.Positive(t, last, "all clients began another life")
	assert.Less(t, last, harm)
}

func TestAnInterruptedControlIsAnError(t *testing.T) {
	t.Parallel()
	redisproc.Need(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // ends before a dead holder's lock counts as late
	defer cancel()
	_, err := controls.Only(ctx, options(t), "setnx")
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

// TestCaughtMeansThatTheLockUnderTestIsNot checks that a control counts as caught only if the checker finds nothing in
// the lock under test. Otherwise it may have caught the harm.
func TestCaughtMeansThatTheLockUnderTestIsNot(t *testing.T) {
	t.Parallel()
	bad := &check.Verdict{Findings: []check.Finding{{Text: "two at once"}}}
	good := &check.Verdict{Looked: "9 holds"}
	c := controls.Outcome(bad, nil)
	assert.True(t, c.Caught)
	assert.Equal(t, "two at once", c.Text)
	c = controls.Outcome(bad, good)
	assert.True(t, c.Caught)
	assert.Contains(t, c.Text, "two at once; the same traffic and harm with the lock under test: nothing found, 9 holds")
	for _, broken := range []*check.Verdict{bad, good} {
		c = controls.Outcome(broken, bad)
		assert.False(t, c.Caught)
		assert.Equal(t, "the same traffic and harm show this in the lock under test: two at once", c.Text)
	}
	for _, sound := range []*check.Verdict{nil, good} {
		c = controls.Outcome(good, sound)
		assert.False(t, c.Caught)
		assert.Equal(t, "nothing found: 9 holds", c.Text)
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
