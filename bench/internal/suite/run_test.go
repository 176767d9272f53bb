package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/bench/internal/load"
	"github.com/redlock-go/redlock/bench/internal/masters"
	"github.com/redlock-go/redlock/bench/internal/peers"
	"github.com/redlock-go/redlock/bench/internal/report"
	"github.com/redlock-go/redlock/internal/redisproc"
)

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
	dir := t.TempDir()
	cpu, mem, saved := filepath.Join(dir, "cpu"), filepath.Join(dir, "mem"), filepath.Join(dir, "run.json")
	var everybody string
	for _, c := range peers.All() {
		everybody += "," + c.Name
	}
	var said, out bytes.Buffer
	s := tiny(
		t, "latency", "kinds", "-json", "-cpuprofile", cpu, "-memprofile", mem, "-save", saved, "-html",
		filepath.Join(dir, "run.html"), "-contestants", everybody[1:],
	)
	require.NoError(t, run(t.Context(), s, &out, &progress{w: &said}))

	var r report.Report
	require.NoError(t, json.Unmarshal(out.Bytes(), &r))
	require.Len(t, r.Latency, 2*len(peers.All()))
	require.Len(t, r.Kinds, 2*len(peers.Kinds()))
	for _, row := range append(r.Latency, r.Kinds...) {
		require.Len(t, row.Rounds, 2, row.Contestant)
		for _, f := range row.Rounds {
			assert.Positive(t, f.Pairs, row.Contestant)
			assert.Positive(t, f.P50, row.Contestant)
			assert.GreaterOrEqual(t, f.P99, f.P50, row.Contestant)
			assert.Equal(t, row.Contestant != peers.LowerBound, f.Allocs > 1, row.Contestant)
			assert.Less(t, f.Failed, f.Pairs, "%s: %s", row.Contestant, f.Failure) // a busy machine may cost some
		}
		require.NotEmpty(t, row.CDF, row.Contestant)
	}
	assert.NotEmpty(t, r.Setup.Redis)
	for _, file := range []string{cpu, mem, saved, filepath.Join(dir, "run.html")} {
		info, err := os.Stat(file)
		require.NoError(t, err)
		assert.Positive(t, info.Size())
	}
	assert.Contains(t, said.String(), "restart window 4s")

	again, err := report.ReadReport(saved)
	require.NoError(t, err)
	assert.Equal(t, r.Latency, again.Latency)
}

func TestWANAndContentionOnRealMasters(t *testing.T) {
	redisproc.Need(t)
	s := tiny(t, "wan", "contention", "-profiles", "one-region", "-shapes", "1x4,2x2", "-slice", "200ms")
	r, err := s.measure(t.Context(), silent())
	require.NoError(t, err)

	require.Len(t, r.WAN, 1)
	lone := r.WAN[0].Row(1, peers.Redlock)
	require.NotNil(t, lone)
	third := load.Micros(r.WAN[0].Profile.Third())
	for _, f := range lone.Rounds {
		assert.GreaterOrEqual(t, f.LockP50, third, "a majority is no nearer than its third master")
		assert.GreaterOrEqual(t, f.ExtendP50, third)
		assert.GreaterOrEqual(t, f.UnlockP50, third)
	}
	require.Len(t, r.WAN[0].HandOver, 1)
	require.Len(t, r.Contention, 2*len(peers.Contenders()))
	for _, row := range append(r.Contention, r.WAN[0].HandOver...) {
		require.NotEmpty(t, row.Rounds, row.Contestant)
		for _, round := range row.Rounds {
			assert.Positive(t, round.Acquired, "%v %s: %s", row.Shape, row.Contestant, round.Failure)
			assert.Zero(t, round.Overlaps, row.Contestant)
			assert.Positive(t, round.Waits.Longest, row.Contestant)
		}
	}
	require.NotEmpty(t, r.Waiting)
	commands := 0.0
	for _, row := range r.Waiting {
		require.Len(t, row.Counts, 3, row.Kind)
		for _, c := range row.Counts {
			commands += c.PerSecond // in 200 ms one waiter may send none
		}
	}
	assert.Positive(t, commands)
}

func TestSlotsOnRealMasters(t *testing.T) {
	redisproc.Need(t)
	r, err := tiny(t, "slots", "-slice", "200ms").measure(t.Context(), silent())
	require.NoError(t, err)
	require.Len(t, r.Slots, len(peers.SlotContestants(false))+len(peers.SlotContestants(true)))
	for _, row := range r.Slots {
		require.NotEmpty(t, row.Rounds, row.Contestant)
		for _, round := range row.Rounds {
			assert.Positive(t, round.Acquired, "%s: %s", row.Contestant, round.Failure)
			assert.Zero(t, round.Overlaps, row.Contestant)
			// A busy machine may fail some.
			assert.Less(t, round.Failed, round.Acquired, "%s: %s", row.Contestant, round.Failure)
		}
	}
}

func TestFaultsAndScaleOnRealMasters(t *testing.T) {
	redisproc.Need(t)
	s := tiny(t, "faults", "scale", "-scenarios", "slow,killed")
	for i := range s.faults {
		s.faults[i].Lasts = 500 * ms
	}
	r, err := s.measure(t.Context(), silent())
	require.NoError(t, err)
	require.Len(t, r.Faults, 2)
	for _, f := range r.Faults {
		assert.Positive(t, f.HealthyP99, f.Scenario.Name)
		assert.Positive(t, f.FaultP99, f.Scenario.Name)
		assert.Zero(t, f.Left, "%s: %v", f.Scenario.Name, f.Few)
		assert.InDelta(t, 0.5, f.To-f.From, 0.4)
		assert.Greater(t, len(f.Timeline), 20)
	}
	assert.Equal(t, 500, r.Scale.Locks)
	assert.Less(t, r.Scale.Lost, r.Scale.Locks, "a busy machine may lose some")
	assert.NotZero(t, r.Scale.Heap, "negative if the heap shrinks by more than so few locks need")
	assert.Positive(t, r.Scale.Extensions, "they are kept alive")
}

// leaky is a Pairer that leaves one key on one master, as a control for residue.
type leaky struct {
	load.Pairer
	forget func(ctx context.Context) error
}

func (l leaky) Pair(ctx context.Context, name string) (load.Timestamps, error) {
	if err := l.forget(ctx); err != nil {
		return load.Timestamps{}, err
	}
	return l.Pairer.Pair(ctx, name)
}

func TestKeysLeftOnAThawedMasterAreFound(t *testing.T) {
	redisproc.Need(t)
	s := tiny(t, "faults")
	m, err := masters.Start(t.Context(), s.masters, s.containers, peers.QuorumMasters)
	require.NoError(t, err)
	defer func() { assert.NoError(t, m.Close()) }()
	var once sync.Once
	c := &peers.Contestant{Name: "leaky", Open: func([]string, peers.Options) (load.Pairer, error) {
		return leaky{&fakePairer{lock: ms}, func(ctx context.Context) (err error) {
			once.Do(func() { err = m.Clients[0].Set(ctx, "forgotten", "token", time.Minute).Err() })
			return err
		}}, nil
	}}
	sc := s.faults[0]
	sc.Lasts = 300 * ms

	session := &session{settings: s, masters: m, report: &report.Report{}, progress: silent()}
	f, err := session.measureOneFault(t.Context(), sc, c, 0)
	require.NoError(t, err)
	assert.Equal(t, int64(1), f.Left)
	assert.Equal(t, []string{"forgotten"}, f.Few)

	f, err = session.measureOneFault(t.Context(), sc, c, 1)
	require.NoError(t, err)
	assert.Zero(t, f.Left, "nothing is left by others")
}

func TestAUsersMastersAreLeftAsTheyWere(t *testing.T) {
	redisproc.Need(t)
	servers, err := redisproc.StartN(t.Context(), 1)
	require.NoError(t, err)
	defer func() { assert.NoError(t, redisproc.CloseAll(servers)) }()
	s := tiny(t, "latency", "faults", "-masters", servers[0].URL())
	m, err := masters.Start(t.Context(), s.masters, s.containers, peers.QuorumMasters)
	require.NoError(t, err)
	defer func() { assert.NoError(t, m.Close()) }()
	require.NoError(t, m.Clients[0].Set(t.Context(), "theirs", "1", 0).Err())

	var said bytes.Buffer
	session := &session{settings: s, masters: m, report: &report.Report{}, progress: &progress{w: &said}}
	require.NoError(t, m.Flush(t.Context()))
	for _, p := range s.parts {
		require.NoError(t, p.run(t.Context(), session), p.name)
	}
	assert.Equal(t, "1", m.Clients[0].Get(t.Context(), "theirs").Val())
	assert.Contains(t, said.String(), "faults: left out")
	assert.Contains(t, said.String(), "redsync is left out: it wants 5 masters, and there are 1")
	assert.NotNil(t, report.RowOf(session.report.Latency, 8, peers.RedlockSingle))
}

func TestWithoutRedisServerTheRunSaysSo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := run(t.Context(), tiny(t), io.Discard, silent())
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
	err := run(ctx, tiny(t, "latency", "-slice", "30s", "-contestants", "redislock"), io.Discard, &progress{w: said})
	assert.EqualError(t, err, "interrupted")
}

func TestProgressIsLiveOnATerminalOnly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		terminal bool
		want     string
	}{
		"terminal": {true, clearLine + "50 %" + clearLine + "bench: next\n"},
		"file":     {false, "bench: next\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			p := &progress{w: &out, terminal: c.terminal}
			p.live("%d %%", 50)
			p.stage("next")
			assert.Equal(t, c.want, out.String())
		})
	}
	f, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer f.Close()
	assert.False(t, newProgress(f).terminal)
}
