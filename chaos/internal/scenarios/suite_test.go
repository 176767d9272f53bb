package scenarios_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/scenarios"
)

var (
	held     = check.Verdict{Checker: "exclusion"}
	violated = check.Verdict{Checker: "exclusion", Findings: []check.Finding{{Text: "two at once"}}}
	late     = check.Verdict{Checker: "liveness", Findings: []check.Finding{{Text: "never came to the calm"}}}
	broke    = check.Verdict{Checker: "harness", Findings: []check.Finding{{Text: "no answer from master 2"}}}
	failed   = check.Verdict{Checker: "clients", Findings: []check.Finding{{Text: "client c1.0 ended by itself"}}}
)

// stub is a suite that plays nothing, and what it was asked for.
type stub struct {
	scenarios.Suite

	mu     sync.Mutex
	played []scenarios.Options // one for each scenario
	done   []string            // names of jobs
	said   []string
}

// newStub has play decide what comes of a scenario.
func newStub(
	t *testing.T, parallel int, play func(ctx context.Context, scenario string) ([]check.Verdict, error),
) *stub {
	t.Helper()
	s := &stub{}
	s.Suite = scenarios.Suite{
		Options: scenarios.Options{Seed: 7, Dir: t.TempDir(), Say: func(format string, args ...any) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.said = append(s.said, fmt.Sprintf(format, args...))
		}},
		Parallelism: parallel,
		ReplayOf:    func(j scenarios.Job, seed uint64) string { return fmt.Sprintf("again %s %d", j.Name(), seed) },
		Done: func(j scenarios.Job, _ scenarios.Outcome) {
			s.done = append(s.done, j.Name()) // one at a time
		},
	}.Playing(func(ctx context.Context, sc scenarios.Scenario, o scenarios.Options) (scenarios.Outcome, error) {
		s.mu.Lock()
		s.played = append(s.played, o)
		s.mu.Unlock()
		verdicts, err := play(ctx, sc.Name)
		return scenarios.Outcome{
			Scenario: sc, Seed: o.Seed, Folder: o.Dir, Verdicts: verdicts,
		}, err
	})
	return s
}

func jobs(names ...string) []scenarios.Job {
	var all []scenarios.Job
	for _, name := range names {
		all = append(all, scenarios.Job{Scenario: scenarios.Scenario{Name: name}, Backend: backend.Processes})
	}
	return all
}

func well(context.Context, string) ([]check.Verdict, error) { return []check.Verdict{held}, nil }

func TestASuitePlaysEveryJobInAFolderAndWithASeedOfItsOwn(t *testing.T) {
	t.Parallel()
	s := newStub(t, 1, well)
	outcomes, err := s.Play(t.Context(), jobs("a", "b"))
	require.NoError(t, err)
	require.Len(t, outcomes, 2)
	assert.Equal(t, []string{"a-processes", "b-processes"}, s.done)
	assert.Empty(t, s.said, "the runs tell themselves")
	require.Len(t, s.played, 2)
	for i, name := range []string{"a-processes", "b-processes"} {
		assert.Equal(t, filepath.Join(s.Dir, name), s.played[i].Dir)
		assert.DirExists(t, s.played[i].Dir)
		assert.Equal(t, backend.Processes, s.played[i].Backend)
		assert.Equal(t, "again "+name+" 7", s.played[i].Replay, "the suite's seed: the job's comes from it")
		assert.Equal(t, uint64(7), s.played[i].Seed)
		assert.Equal(t, strings.TrimSuffix(name, "-processes"), outcomes[i].Scenario.Name)
	}
}

// Whatever else is played.
func TestARunHasASeedOfItsOwn(t *testing.T) {
	t.Parallel()
	assert.Equal(t, scenarios.SeedOf(7, "a"), scenarios.SeedOf(7, "a"))
	assert.NotEqual(t, scenarios.SeedOf(7, "a"), scenarios.SeedOf(7, "b"))
	assert.NotEqual(t, scenarios.SeedOf(7, "a"), scenarios.SeedOf(8, "a"))
}

func TestASuitePlaysAsManyAtATimeAsItAllowsAndReturnsAllErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		s := newStub(t, 2, func(context.Context, string) ([]check.Verdict, error) {
			n := now.Add(1)
			defer now.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(time.Minute)
			return nil, errors.New("no masters")
		})
		begin := time.Now()
		_, err := s.Play(t.Context(), jobs("a", "b", "c", "d"))
		for _, name := range []string{"a", "b", "c", "d"} {
			require.ErrorContains(t, err, name+"-processes: no verdict: no masters")
		}
		assert.EqualValues(t, 2, most.Load())
		assert.Equal(t, 2*time.Minute, time.Since(begin))
		assert.Len(t, s.done, 4)
		assert.Len(t, s.said, 4)
		assert.Contains(t, s.said, "playing c-processes, 3 of 4")
	})
}

// A panic or a hang in a client process is the lock's, also if the harness broke on it. Otherwise a run whose harness
// broke has no verdict, but two who held at once did so.
func TestWhatASuiteSaysOfARun(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		found     []check.Verdict
		err       error
		promises  scenarios.Promises
		noVerdict string // "" if there is a verdict
		wrong     string // if there is a verdict
		despite   string // what stays found without a verdict
	}{
		"two held at once": {found: []check.Verdict{violated}, wrong: "exclusion: two at once"},
		"a client failed":  {found: []check.Verdict{held, failed}, wrong: "clients: client c1.0 ended by itself"},
		"a client failed, and the harness broke on it": {
			found: []check.Verdict{held, failed, broke}, wrong: "clients: client c1.0 ended by itself",
		},
		"a client failed, and no client came to the calm": {
			found: []check.Verdict{late, failed, broke}, wrong: "clients: client c1.0 ended by itself",
		},
		"no masters":        {err: errors.New("no masters"), noVerdict: "no masters"},
		"the harness broke": {found: []check.Verdict{held, broke}, noVerdict: "the harness itself failed"},
		"it broke, and no client came to an end": {
			found: []check.Verdict{late, broke}, noVerdict: "the harness itself failed",
		},
		"it broke, and two held at once": {
			found: []check.Verdict{violated, broke}, noVerdict: "the harness itself failed", despite: "exclusion: two at once",
		},
		"it broke, and two held at once, as they may": {
			found: []check.Verdict{violated, broke}, promises: scenarios.Promises{check.ByExclusion: scenarios.Open},
			noVerdict: "the harness itself failed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStub(t, 1, func(_ context.Context, scenario string) ([]check.Verdict, error) {
				if scenario == "a" {
					return tt.found, tt.err
				}
				return []check.Verdict{held}, nil
			})
			all := jobs("a", "b")
			all[0].Scenario.Promises = tt.promises
			outcomes, err := s.Play(t.Context(), all)
			assert.Equal(t, []string{"a-processes", "b-processes"}, s.done, "the other is played, and none again")
			assert.Len(t, s.played, 2)
			assert.False(t, outcomes[0].Good())
			assert.True(t, outcomes[1].Good())
			if tt.noVerdict == "" {
				require.NoError(t, err)
				assert.Contains(t, outcomes[0].Wrong(), tt.wrong)
				return
			}
			require.ErrorContains(t, err, "a-processes: no verdict: "+tt.noVerdict)
			assert.NotEmpty(t, outcomes[0].NoVerdict)
			if tt.despite == "" {
				assert.Empty(t, outcomes[0].Despite)
				assert.NotContains(t, err.Error(), "findings nevertheless")
				return
			}
			require.ErrorContains(t, err, "findings nevertheless: "+tt.despite)
			assert.Contains(t, outcomes[0].NoVerdict, tt.despite)
			require.Len(t, outcomes[0].Despite, 1)
			assert.Contains(t, outcomes[0].Despite[0], s.played[0].Dir+")", "it says where to look")
		})
	}
}

func TestAnInterruptedSuiteHasNoVerdict(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := newStub(t, 1, func(ctx context.Context, _ string) ([]check.Verdict, error) {
		cancel()
		return nil, ctx.Err()
	})
	outcomes, err := s.Play(ctx, jobs("a"))
	require.ErrorIs(t, err, context.Canceled)
	assert.Len(t, s.played, 1)
	assert.NotEmpty(t, outcomes[0].NoVerdict)
}
