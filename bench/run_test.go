package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tiny is a run on real masters in a few seconds.
func tiny(t *testing.T, args ...string) *settings {
	t.Helper()
	s, err := parse(append([]string{"-smoke", "-ttl", "4s", "-rounds", "2", "-slice", "40ms", "-callers", "1,8", "-locks", "500"}, args...), discard)
	require.NoError(t, err)
	return s
}

func TestLatencyAndKindsOnRealMasters(t *testing.T) {
	redisproc.Need(t)
	dir := t.TempDir()
	cpu, mem, saved := filepath.Join(dir, "cpu"), filepath.Join(dir, "mem"), filepath.Join(dir, "run.json")
	var everybody string
	for _, c := range allContestants() {
		everybody += "," + c.Name
	}
	var said, out bytes.Buffer
	s := tiny(t, "latency", "kinds", "-json", "-cpuprofile", cpu, "-memprofile", mem, "-save", saved, "-html", filepath.Join(dir, "run.html"), "-contestants", everybody[1:])
	require.NoError(t, run(t.Context(), s, &out, &progress{w: &said}))

	var r report
	require.NoError(t, json.Unmarshal(out.Bytes(), &r))
	require.Len(t, r.Latency, 2*len(allContestants()))
	require.Len(t, r.Kinds, 2*len(allKinds()))
	for _, row := range append(r.Latency, r.Kinds...) {
		require.Len(t, row.Rounds, 2, row.Contestant)
		for _, f := range row.Rounds {
			assert.Positive(t, f.Pairs, row.Contestant)
			assert.Positive(t, f.P50, row.Contestant)
			assert.GreaterOrEqual(t, f.P99, f.P50, row.Contestant)
			assert.Equal(t, row.Contestant != bottom, f.Allocs > 1, row.Contestant)
			assert.Zero(t, f.Failed, "%s: %s", row.Contestant, f.Failure)
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

	again, err := readReport(saved)
	require.NoError(t, err)
	assert.Equal(t, r.Latency, again.Latency)
}

func TestWANAndContentionOnRealMasters(t *testing.T) {
	redisproc.Need(t)
	s := tiny(t, "wan", "contention", "-profiles", "one-region", "-shapes", "1x4,2x2", "-slice", "200ms")
	r, err := s.gather(t.Context(), silent())
	require.NoError(t, err)

	require.Len(t, r.WAN, 1)
	lone := r.WAN[0].row(1, ours)
	require.NotNil(t, lone)
	third := micros(r.WAN[0].Profile.third())
	for _, f := range lone.Rounds {
		assert.GreaterOrEqual(t, f.LockP50, third, "a majority is no nearer than its third master")
		assert.GreaterOrEqual(t, f.ExtendP50, third)
		assert.GreaterOrEqual(t, f.UnlockP50, third)
	}
	require.Len(t, r.WAN[0].HandOver, 1)
	require.Len(t, r.Contention, 2*len(contenders()))
	for _, row := range append(r.Contention, r.WAN[0].HandOver...) {
		require.NotEmpty(t, row.Rounds, row.Contestant)
		for _, round := range row.Rounds {
			assert.Positive(t, round.Acquired, "%v %s: %s", row.Shape, row.Contestant, round.Failure)
			assert.Zero(t, round.Overlaps, row.Contestant)
			assert.Positive(t, round.Waits.Longest, row.Contestant)
		}
	}
}

func TestFaultsAndScaleOnRealMasters(t *testing.T) {
	redisproc.Need(t)
	s := tiny(t, "faults", "scale", "-scenarios", "slow,killed")
	for i := range s.scenarios {
		s.scenarios[i].Lasts = 500 * ms
	}
	r, err := s.gather(t.Context(), silent())
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
	assert.Zero(t, r.Scale.Lost)
	assert.Positive(t, r.Scale.Heap)
	assert.Positive(t, r.Scale.Extensions, "they are kept alive")
}

// leaky forgets one key on one master: the control for what is left behind.
type leaky struct {
	pairer
	forget func(ctx context.Context) error
}

func (l leaky) Pair(ctx context.Context, name string) (marks, error) {
	if err := l.forget(ctx); err != nil {
		return marks{}, err
	}
	return l.pairer.Pair(ctx, name)
}

func TestKeysLeftOnAThawedMasterAreFound(t *testing.T) {
	redisproc.Need(t)
	s := tiny(t, "faults")
	m, err := startMasters(t.Context(), s, quorumMasters)
	require.NoError(t, err)
	defer func() { assert.NoError(t, m.close()) }()
	var once sync.Once
	c := &contestant{Name: "leaky", open: func([]string, openOptions) (pairer, error) {
		return leaky{&fake{lock: ms}, func(ctx context.Context) (err error) {
			once.Do(func() { err = m.clients[0].Set(ctx, "forgotten", "token", time.Minute).Err() })
			return err
		}}, nil
	}}
	sc := s.scenarios[0]
	sc.Lasts = 300 * ms

	session := &session{settings: s, masters: m, report: &report{}, progress: silent()}
	f, err := session.oneFault(t.Context(), sc, c, 0)
	require.NoError(t, err)
	assert.Equal(t, int64(1), f.Left)
	assert.Equal(t, []string{"forgotten"}, f.Few)

	f, err = session.oneFault(t.Context(), sc, c, 1)
	require.NoError(t, err)
	assert.Zero(t, f.Left, "nothing is left by others")
}

func TestAUsersMastersAreLeftAsTheyWere(t *testing.T) {
	redisproc.Need(t)
	servers, err := redisproc.StartN(t.Context(), 1)
	require.NoError(t, err)
	defer func() { assert.NoError(t, redisproc.CloseAll(servers)) }()
	s := tiny(t, "latency", "faults", "-masters", servers[0].URL())
	m, err := startMasters(t.Context(), s, quorumMasters)
	require.NoError(t, err)
	defer func() { assert.NoError(t, m.close()) }()
	require.NoError(t, m.clients[0].Set(t.Context(), "theirs", "1", 0).Err())

	var said bytes.Buffer
	session := &session{settings: s, masters: m, report: &report{}, progress: &progress{w: &said}}
	require.NoError(t, m.flush(t.Context()))
	for _, p := range s.parts {
		require.NoError(t, p.run(t.Context(), session), p.name)
	}
	assert.Equal(t, "1", m.clients[0].Get(t.Context(), "theirs").Val())
	assert.Contains(t, said.String(), "faults: left out")
	assert.Contains(t, said.String(), "redsync is left out: it wants 5 masters, and there are 1")
	assert.NotNil(t, rowOf(session.report.Latency, 8, oursSingle))
}

func TestWithoutRedisServerTheRunSaysSo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := run(t.Context(), tiny(t), discard, silent())
	require.ErrorIs(t, err, redisproc.ErrNotInstalled)
	assert.ErrorContains(t, err, "apt-get install redis-server")
}

func TestInterruptedRunEndsItsMasters(t *testing.T) {
	redisproc.Need(t)
	ctx, cancel := context.WithCancel(t.Context())
	said := writer(func(p []byte) (int, error) {
		if bytes.Contains(p, []byte("round 1")) {
			cancel()
		}
		return len(p), nil
	})
	err := run(ctx, tiny(t, "latency", "-slice", "30s", "-contestants", "redislock"), discard, &progress{w: said})
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
