package suite

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
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
	"github.com/redlock-go/redlock/internal/redisproc"
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

// turnstile is a lock within one process: a channel with as much capacity as it has slots. If broken, it lets everybody
// in.
type turnstile struct {
	name   string
	place  chan struct{}
	broken bool
	hold   time.Duration
	fail   error
	log    *turnLog
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
	if s.broken {
		return s, nil
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
	if !s.broken {
		<-s.place
	}
	return nil
}

func (*turnstile) Close() error { return nil }

func contended(t *testing.T, j job, l load.Locker) map[string]float64 {
	t.Helper()
	return byName(valuesOf([]results{j.contend(t.Context(), l)}, j.Window))
}

func byName(values []load.Value, _, _ int, _ string) map[string]float64 {
	all := map[string]float64{}
	for _, v := range values {
		all[v.Name] = v.V
	}
	return all
}

// Slots are the control of what a process may see at once: as many holders as there are slots, and not one more.
func TestContendCountsHoldersBeyondTheSlots(t *testing.T) {
	t.Parallel()
	for slots, want := range map[int]bool{3: true, 4: false} {
		synctest.Test(t, func(t *testing.T) {
			got := contended(t, job{Goroutines: 8, Slots: slots, Hold: 10 * ms, Window: time.Second},
				&turnstile{place: make(chan struct{}, 4)})
			assert.Equal(t, want, got["overlaps"] > 0, slots)
			assert.InDelta(t, 400, got["locks/s"], 10)
			assert.InDelta(t, 1, got["slowest/mean goroutine"], 0.1)
		})
	}
}

func TestContendCountsTurnsAndWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		got := contended(t, job{Goroutines: 4, Ramp: 100 * ms, Window: time.Second},
			&turnstile{place: make(chan struct{}, 1), hold: 10 * ms})
		assert.InDelta(t, 100, got["locks/s"], 3, "one every 10 ms")
		assert.InDelta(t, 30, got["wait p50 ms"], 1, "after three others")
		assert.Greater(t, got["slowest/fastest goroutine"], 0.9)
	})
}

// A goroutine that waits for the whole window shows in the results.
func TestAWaitThatTheEndCutsShortCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &turnstile{place: make(chan struct{}, 1)}
		s.place <- struct{}{} // another caller holds it and never releases it
		got := contended(t, job{Goroutines: 2, Window: time.Second}, s)
		assert.Zero(t, got["locks/s"])
		assert.InDelta(t, 1000, got["longest wait ms"], 1)
		assert.InDelta(t, 1000, got["half of waiting ms"], 1)
	})
}

// The control for overlaps: a lock that lets every caller in.
func TestTwoAtOnceAreSeen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		got := contended(t, job{Goroutines: 8, Hold: ms, Window: 100 * ms}, &turnstile{broken: true, hold: ms})
		assert.Positive(t, got["overlaps"])
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
	got := byName(values, acquired, failed, why)
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

// tiny returns settings for a run on real masters that takes a few seconds.
func tiny(t *testing.T, args ...string) *settings {
	t.Helper()
	s, err := parse(
		append([]string{
			"-smoke", "-ttl", "4s", "-rounds", "2", "-slice", "40ms", "-callers", "1,8", "-locks", "500",
		}, args...),
		io.Discard,
	)
	require.NoError(t, err)
	return s
}

func TestLatencyAndKindsOnRealMasters(t *testing.T) {
	redisproc.Need(t)
	saved := filepath.Join(t.TempDir(), "run.json")
	everybody := strings.Join(slices.Concat(peers.Latency, peers.Kinds), ",")
	var said, out bytes.Buffer
	s := tiny(t, "latency", "kinds", "-save", saved, "-contestants", everybody)
	require.NoError(t, run(t.Context(), s, &out, &said))
	r, err := report.ReadReport(saved)
	require.NoError(t, err)
	for part, names := range map[string][]string{"latency": peers.Latency, "kinds": peers.Kinds} {
		for _, who := range names {
			for _, name := range []string{"µs/pair", "p50 µs", "p99 µs", "allocs/pair"} {
				rounds := r.Find(part, "1 caller", who, name)
				require.Len(t, rounds, 2, "%s, %s", who, name)
				assert.Positive(t, slices.Min(rounds), "%s, %s", who, name)
			}
			assert.Contains(t, out.String(), "\n  "+peers.Label(who))
		}
	}
	assert.NotEmpty(t, r.Setup.Redis)
	assert.Less(t, r.Failed, r.Pairs, "a busy machine may cost some")
	assert.Contains(t, said.String(), "restart window 4s")
}

func TestWANContentionAndWaitingOnRealMasters(t *testing.T) {
	redisproc.Need(t)
	s := tiny(t, "wan", "contention", "waiting", "slots", "-profiles", "one-region", "-shapes", "1x4,2x2", "-slice",
		"200ms")
	r, err := s.measure(t.Context(), io.Discard)
	require.NoError(t, err)
	for _, step := range []string{"Lock p50", "Extend p50", "Unlock p50"} {
		lone := r.Find("wan", "one-region, 1 caller", peers.Redlock, step)
		require.NotEmpty(t, lone)
		assert.GreaterOrEqual(t, slices.Min(lone), 1., "a majority is no nearer than its third master")
	}
	crowds := map[string][]string{
		"one-region far away, 2 × 4": {peers.Redlock}, "1 × 4": peers.Contended, "2 × 2": peers.Contended,
		report.FreeSlots: peers.FreeSlots, report.FullSlots: peers.FullSlots,
	}
	for in, names := range crowds {
		part := "contention"
		if in == report.FreeSlots || in == report.FullSlots {
			part = "slots"
		}
		for _, who := range names {
			assert.NotZero(t, r.Find(part, in, who, "locks/s"), "%s, %s", in, who)
			assert.Equal(t, []float64{0}, r.Find(part, in, who, "overlaps"), "%s, %s", in, who)
		}
	}
	commands := 0.0
	for _, w := range waits {
		for _, n := range []int{1, 100, 1000} {
			rounds := r.Find("waiting", "commands/s of all masters", w[0]+" behind a "+w[1], report.Callers(n))
			require.Len(t, rounds, 1)
			commands += rounds[0] // in 200 ms one waiter may send none
		}
	}
	assert.Positive(t, commands)
}

func TestFaultsAndScaleOnRealMasters(t *testing.T) {
	redisproc.Need(t)
	s := tiny(t, "faults", "scale", "-scenarios", "slow,killed")
	for i := range s.faults {
		s.faults[i].lasts = 500 * ms
	}
	r, err := s.measure(t.Context(), io.Discard)
	require.NoError(t, err)
	for _, f := range s.faults {
		for _, name := range []string{"healthy p99 ms", "p99 ms", "longest ms"} {
			require.NotEmpty(t, r.Find("faults", f.what, peers.Redlock, name), f.what)
			assert.Positive(t, r.Find("faults", f.what, peers.Redlock, name)[0], f.what)
		}
		assert.Equal(t, []float64{0}, r.Find("faults", f.what, peers.Redlock, "keys left"), f.what)
	}
	held := func(name string) float64 {
		rounds := r.Find("scale", report.Scale(500, scaleSmokeTTL), peers.Redlock, name)
		require.Len(t, rounds, 1, name)
		return rounds[0]
	}
	assert.Less(t, held("lost"), 500., "a busy machine may lose some")
	assert.NotZero(t, held("heap bytes/lock"), "negative if the heap shrinks by more than so few locks need")
	assert.Positive(t, held("commands/s of all masters"), "they are kept alive")
}

// The control for residue: a lock that leaves one key on one master.
func TestKeysLeftOnAThawedMasterAreFound(t *testing.T) {
	redisproc.Need(t)
	s := tiny(t, "faults")
	m, err := masters.Start(t.Context(), nil, peers.QuorumMasters)
	require.NoError(t, err)
	defer func() { assert.NoError(t, m.Close()) }()
	session := &session{settings: s, masters: m, report: &report.Report{}, progress: io.Discard}
	f := s.faults[0]
	f.lasts = 300 * ms
	inject := f.inject
	f.inject = func(ctx context.Context, v *victim) error {
		return errors.Join(m.Clients[0].Set(ctx, "forgotten", "token", time.Minute).Err(), inject(ctx, v))
	}
	for at, want := range []float64{1, 0} {
		session.report = &report.Report{}
		c := contestant(&turnstile{name: "leaky", place: make(chan struct{}, 1), hold: ms})
		require.NoError(t, session.measureFault(t.Context(), f, c, at))
		assert.Equal(t, []float64{want}, session.report.Find("faults", f.what, "leaky", "keys left"))
		assert.Equal(t, want == 1, strings.Contains(strings.Join(session.report.Notes, "\n"), "forgotten"))
	}
}

func TestAUsersMastersAreLeftAsTheyWere(t *testing.T) {
	redisproc.Need(t)
	servers, err := redisproc.StartN(t.Context(), 1)
	require.NoError(t, err)
	defer func() { assert.NoError(t, redisproc.CloseAll(servers)) }()
	s := tiny(t, "latency", "faults", "-masters", servers[0].URL())
	m, err := masters.Start(t.Context(), s.masters, peers.QuorumMasters)
	require.NoError(t, err)
	defer func() { assert.NoError(t, m.Close()) }()
	require.NoError(t, m.Clients[0].Set(t.Context(), "theirs", "1", 0).Err())
	var said bytes.Buffer
	session := &session{settings: s, masters: m, report: &report.Report{}, progress: &said}
	require.NoError(t, m.Flush(t.Context()))
	for _, p := range s.parts {
		require.NoError(t, p.run(t.Context(), session), p.name)
	}
	assert.Equal(t, "1", m.Clients[0].Get(t.Context(), "theirs").Val())
	assert.Contains(t, said.String(), "faults: left out")
	assert.Contains(t, said.String(), "redsync is left out: it wants 5 masters, and there are 1")
	assert.NotEmpty(t, session.report.Find("latency", "8 callers", peers.RedlockSingle, "µs/pair"))
}

func TestWithoutRedisServerTheRunSaysSo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := run(t.Context(), tiny(t), io.Discard, io.Discard)
	require.ErrorIs(t, err, redisproc.ErrNotInstalled)
	assert.ErrorContains(t, err, "apt-get install redis-server")
}

func TestInterruptedRunEndsItsMasters(t *testing.T) {
	redisproc.Need(t)
	ctx, cancel := context.WithCancel(t.Context())
	said := writerFunc(func(p []byte) (int, error) {
		if bytes.Contains(p, []byte("round 1")) {
			cancel()
		}
		return len(p), nil
	})
	err := run(ctx, tiny(t, "latency", "-slice", "30s", "-contestants", "redislock"), io.Discard, said)
	assert.EqualError(t, err, "interrupted")
}

type writerFunc func([]byte) (int, error)

func (w writerFunc) Write(p []byte) (int, error) { return w(p) }
