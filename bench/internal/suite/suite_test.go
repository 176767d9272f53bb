package suite

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/bench/internal/load"
	"github.com/redlock-go/redlock/bench/internal/masters"
	"github.com/redlock-go/redlock/bench/internal/peers"
	"github.com/redlock-go/redlock/bench/internal/report"
	"github.com/redlock-go/redlock/internal/testmain"
)

// TestMain runs a worker if the contention part has started this test binary as one.
func TestMain(m *testing.M) {
	if isWorker() {
		os.Exit(runAsWorker(os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

const ms = time.Millisecond

func TestBadFlagsAreRefusedByName(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		`part: there is no "smoke"; there are latency, kinds, wan, contention, waiting, slots, faults, scale`: {"smoke"},
		`-callers "1,x": "x" is not a number`:                  {"-callers", "1,x"},
		`-callers "0": "0" is not a number from 1`:             {"latency", "-callers", "0"},
		"-rounds -1: at least 1":                               {"-rounds", "-1"},
		"-slice 1µs: at least 1ms":                             {"-slice", "1us"},
		"-ttl 10ms: at least 1s":                               {"-ttl", "10ms"},
		"-locks -1: at least 1":                                {"scale", "-locks", "-1"},
		`-profiles: there is no "moon"; there are one-region`:  {"-profiles", "moon"},
		`-scenarios: there is no "flood"; there are frozen-2s`: {"-scenarios", "flood"},
		`-shapes "8x": "8x" is not PROCESSESxGOROUTINES`:       {"-shapes", "8x"},
		`-shapes "0x4": "0x4" is not PROCESSESxGOROUTINES`:     {"-shapes", "0x4"},
		"-compare takes two files":                             {"-compare", "one.json"},
		"-masters: 2 of them; one, or an odd number":           {"-masters", "redis://a,redis://b"},
		`no contestant is called "redsink"; there are redlock`: {"-contestants", "redsync,redsink"},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			_, err := parse(args, io.Discard)
			assert.ErrorContains(t, err, want)
		})
	}
}

func TestHelpNamesEveryPartAndFlag(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	_, err := parse([]string{"-h"}, &out)
	require.ErrorIs(t, err, flag.ErrHelp)
	for _, name := range []string{
		"-callers", "-check", "-compare", "-contestants", "-html", "-locks", "-masters", "-pictures", "-profiles", "-read",
		"-rounds", "-save", "-scenarios", "-shapes", "-slice", "-smoke", "-ttl",
	} {
		assert.Contains(t, out.String(), "\n  "+name)
	}
	for _, p := range allParts() {
		assert.Contains(t, out.String(), "\n  "+p.name+" ")
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	full, err := parse(nil, io.Discard)
	require.NoError(t, err)
	assert.Len(t, full.parts, len(allParts()), "all parts")
	assert.Equal(t, 9, full.mastersNeeded(), "masters")
	assert.Equal(t, []int{1, 8, 64, 512}, full.callers)
	assert.GreaterOrEqual(t, full.rounds, 5)
	assert.Equal(t, report.FullLocks, full.locks)
	assert.Len(t, full.profiles, len(allProfiles()))
	assert.Equal(t, []shape{{1, 32}, {8, 4}}, full.shapes)

	smoke, err := parse([]string{"-smoke", "-callers", "8, 2"}, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, []int{8, 2}, smoke.callers)
	assert.Less(t, smoke.locks, full.locks)
	assert.Len(t, smoke.profiles, 1)
	assert.Equal(t, full.ttl, smoke.ttl)
	few, err := parse([]string{"latency", "-contestants", "redislock,redlock"}, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, 5, few.mastersNeeded())
}

func TestPartsAndFlagsStandInAnyOrder(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"wan", "faults", "-rounds", "2", "-check"},
		{"-rounds", "2", "wan", "-check", "faults"},
		{"--check", "faults", "--rounds=2", "wan"},
	} {
		s, err := parse(args, io.Discard)
		require.NoError(t, err)
		assert.True(t, s.files.Check)
		assert.Equal(t, 2, s.rounds)
		assert.Equal(t, []string{"wan", "faults"}, []string{s.parts[0].name, s.parts[1].name}, "in the order they run")
	}
	compare, err := parse([]string{"--compare", "old.json", "new.json"}, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, []string{"old.json", "new.json"}, compare.compare)
}

func TestAMajorityIsAsFarAsItsThirdMaster(t *testing.T) {
	t.Parallel()
	all, err := pick("-profiles", "five-continents-rough,"+report.FiveContinents, allProfiles())
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.Equal(t, 40*ms, all[0].third())
	assert.Equal(t, 160*ms, all[0].linkTo(4).RTT)
	assert.Zero(t, all[0].linkTo(2).Loss)
	rough := all[1]
	assert.Positive(t, rough.linkTo(2).Loss, "the third, which a majority needs")
	assert.Equal(t, 240*ms, rough.linkTo(2).Resend, "TCP waits 200 ms beyond the round trip")
	assert.Zero(t, rough.linkTo(1).Loss)
	assert.Positive(t, rough.linkTo(1).Jitter)
	for _, p := range allProfiles() {
		assert.Len(t, p.trips, peers.QuorumMasters)
	}
	_, _, err = delayed([]string{"redis://127.0.0.1:1", "unix:///tmp/redis.sock"}, rough.linkTo)
	assert.ErrorContains(t, err, "unix masters cannot be moved away")
}

// turnstile is a lock within one process: a channel with as much capacity as it has slots.
type turnstile struct {
	name  string
	place chan struct{}
	hold  time.Duration
	fail  error
	log   *turnLog
}

type turnLog struct {
	mu    sync.Mutex
	turns []string
}

func (s *turnstile) Acquire(ctx context.Context, _ string) (load.HeldLock, error) {
	if s.log != nil {
		s.log.mu.Lock()
		s.log.turns = append(s.log.turns, s.name)
		s.log.mu.Unlock()
	}
	select {
	case s.place <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.fail != nil {
		time.Sleep(ms)
		<-s.place
		return nil, s.fail
	}
	return s, nil
}

func (*turnstile) Extend(context.Context) error { return nil }

func (s *turnstile) Unlock(context.Context) error {
	time.Sleep(s.hold)
	<-s.place
	return nil
}

func (*turnstile) Close() error { return nil }

func byName(values []load.Value) map[string]float64 {
	all := map[string]float64{}
	for _, v := range values {
		all[v.Name] = v.V
	}
	return all
}

// What contend measures of a lock whose turns are known.
func TestContendMeasuresKnownTurns(t *testing.T) {
	t.Parallel()
	type measured map[string]struct{ least, most float64 }
	type testCase struct {
		job    job
		lock   turnstile
		places int
		want   measured
	}
	testmain.Each(t, map[string]testCase{
		"one at a time": {
			job{Goroutines: 4, Ramp: 100 * ms, Window: time.Second},
			turnstile{hold: 10 * ms},
			1,
			// The wait is for three others.
			measured{"locks/s": {97, 103}, "wait p50 ms": {29, 31}, "slowest/fastest goroutine": {0.9, 1}, "overlaps": {0, 0}},
		},
		"a wait that the end cuts short": {
			job{Goroutines: 2, Window: time.Second},
			turnstile{},
			0,
			measured{"locks/s": {0, 0}, "longest wait ms": {999, 1001}, "half of waiting ms": {999, 1001}},
		},
		"as many holders as slots": {
			job{Goroutines: 8, Slots: 4, Hold: 10 * ms, Window: time.Second},
			turnstile{},
			4,
			measured{"overlaps": {0, 0}, "locks/s": {390, 410}, "slowest/mean goroutine": {0.9, 1.1}},
		},
		// The controls for overlaps.
		"one holder too many": {
			job{Goroutines: 8, Slots: 3, Hold: 10 * ms, Window: time.Second},
			turnstile{},
			4,
			measured{"overlaps": {1, 1000}, "locks/s": {390, 410}},
		},
		"two holders of a lock for one": {
			job{Goroutines: 8, Hold: 10 * ms, Window: time.Second},
			turnstile{},
			2,
			measured{"overlaps": {1, 1000}},
		},
	}, func(t *testing.T, tc testCase) {
		synctest.Test(t, func(t *testing.T) {
			tc.lock.place = make(chan struct{}, tc.places)
			values, _, _, _ := valuesOf([]results{tc.job.contend(t.Context(), &tc.lock)}, tc.job.Window)
			got := byName(values)
			for name, want := range tc.want {
				assert.GreaterOrEqual(t, got[name], want.least, name)
				assert.LessOrEqual(t, got[name], want.most, name)
			}
		})
	})
}

func TestARoundAddsUpAllProcesses(t *testing.T) {
	t.Parallel()
	one := results{Got: []int64{10, 30}, Waits: slices.Repeat([]time.Duration{ms}, 40), Overlaps: 1}
	other := results{
		Got: []int64{20, 0}, Waits: slices.Repeat([]time.Duration{9 * ms}, 30), Overlaps: 1, Failed: 3,
		Failure: "some\nthing",
	}
	values, acquired, failed, why := valuesOf([]results{one, other}, 2*time.Second)
	got := byName(values)
	assert.Equal(t, 60, acquired)
	assert.Equal(t, 3, failed)
	assert.Equal(t, "some thing", why)
	assert.InDelta(t, 30, got["locks/s"], 1e-9)
	assert.Zero(t, got["slowest/fastest goroutine"])
	assert.InDelta(t, 0.5, got["slowest/fastest process"], 1e-9)
	assert.InDelta(t, 9, got["longest wait ms"], 1e-9)
	assert.InDelta(t, 1, got["wait p50 ms"], 1e-9)
	assert.InDelta(t, 2, got["overlaps"], 1e-9)
}

func fakeSession(callers ...int) (*session, loadPlan) {
	one := &masters.Set{URLs: []string{"a"}}
	s := &session{settings: &settings{}, masters: one, report: &report.Report{}, progress: io.Discard}
	return s, loadPlan{part: "latency", rounds: 3, callers: callers, slice: 10 * ms}
}

func contestant(l *turnstile) *peers.Contestant {
	open := func([]string, peers.Options) (load.Locker, error) { return l, nil }
	return &peers.Contestant{Name: l.name, Masters: 1, Open: open}
}

func TestRoundsInterleaveContestantsInAnotherOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log turnLog
		var all []*peers.Contestant
		for _, name := range []string{"a", "b", "c"} {
			all = append(all, contestant(&turnstile{name: name, place: make(chan struct{}, 9), hold: ms, log: &log}))
		}
		s, plan := fakeSession(1, 2)
		require.NoError(t, s.measureLoad(t.Context(), all, s.masters.URLs, plan))
		assert.Equal(t, "abc"+"abcabc"+"bcabca"+"cabcab", strings.Join(slices.Compact(log.turns), ""), "first to warm up")
		for _, name := range []string{"a", "b", "c"} {
			assert.Len(t, s.report.Find("latency", "2 callers", name, "µs/pair"), 3)
		}
	})
}

func TestARoundThatFailsNamesContestantAndCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := contestant(&turnstile{name: "broken", place: make(chan struct{}, 9), fail: errors.New("refused")})
		s, plan := fakeSession(3)
		err := s.measureLoad(t.Context(), []*peers.Contestant{c}, s.masters.URLs, plan)
		require.ErrorContains(t, err, "broken, 3 callers: no pair was completed", "a first connection may fail")
		assert.ErrorContains(t, err, "refused")
	})
}

// aging simulates masters that may vote from a certain time on.
type aging struct{ until time.Time }

func (a aging) Nodes(context.Context) ([]redlock.NodeStatus, error) {
	left := time.Until(a.until)
	voting := redlock.NodeStatus{NodeState: redlock.NodeState{MayVote: true}}
	if left <= 0 {
		return []redlock.NodeStatus{voting, voting}, nil
	}
	young := redlock.NodeStatus{NodeState: redlock.NodeState{VoteIn: left, Err: errors.New("it has just started")}}
	return []redlock.NodeStatus{voting, young}, redlock.ErrNoQuorum
}

func TestAwaitVotesReturnsWhenEveryMasterMayVote(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		require.NoError(t, awaitVotes(t.Context(), aging{begun.Add(8 * time.Second)}, 8*time.Second))
		assert.InDelta(t, 8*time.Second, time.Since(begun), float64(time.Second))
		err := awaitVotes(t.Context(), aging{time.Now().Add(time.Hour)}, 8*time.Second)
		require.ErrorContains(t, err, "not every master may vote after 23s")
		assert.ErrorContains(t, err, "it has just started")
	})
}
