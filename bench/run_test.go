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

// tiny is a run of everything on real masters in a few seconds.
func tiny(t *testing.T, args ...string) *settings {
	t.Helper()
	s, err := parse(append([]string{"-smoke", "-ttl", "1s", "-rounds", "2", "-slice", "30ms", "-callers", "1,8"}, args...), discard)
	require.NoError(t, err)
	s.frozenPlan.window = 200 * ms
	return s
}

func TestRunMeasuresEveryContestantOnRealMasters(t *testing.T) {
	redisproc.Need(t)
	dir := t.TempDir()
	cpu, mem := filepath.Join(dir, "cpu"), filepath.Join(dir, "mem")
	var out, said bytes.Buffer
	require.NoError(t, run(t.Context(), tiny(t, "-json", "-cpuprofile", cpu, "-memprofile", mem), &out, &progress{w: &said}))

	var r report
	require.NoError(t, json.Unmarshal(out.Bytes(), &r))
	require.Len(t, r.Latency, 2*len(allContestants()))
	for _, row := range r.Latency {
		require.Len(t, row.Rounds, 2, row.Contestant)
		for _, f := range row.Rounds {
			assert.Positive(t, f.Pairs, row.Contestant)
			assert.Positive(t, f.P50, row.Contestant)
			assert.GreaterOrEqual(t, f.P99, f.P50, row.Contestant)
			assert.Positive(t, f.Allocs, row.Contestant)
		}
	}
	require.Len(t, r.Kinds, 2*len(allKinds()))
	for _, row := range r.Kinds {
		require.Len(t, row.Rounds, 2, row.Contestant)
		for _, f := range row.Rounds {
			assert.Positive(t, f.Pairs, row.Contestant)
			assert.Zero(t, f.Failed, "%s: %s", row.Contestant, f.Failure)
		}
	}
	require.Len(t, r.Frozen.Cycles, 1)
	assert.Zero(t, r.Frozen.left(), "%v", r.Frozen.Cycles[0].Few)
	assert.NotEmpty(t, r.Setup.Redis)
	for _, profile := range []string{cpu, mem} {
		info, err := os.Stat(profile)
		require.NoError(t, err)
		assert.Positive(t, info.Size())
	}
	assert.Contains(t, said.String(), "restart window 1s")
}

// leaky forgets one key on one master: the control for what is left behind.
type leaky struct {
	pairer
	forget func(ctx context.Context) error
}

func (l leaky) Pair(ctx context.Context, name string) (time.Time, error) {
	if err := l.forget(ctx); err != nil {
		return time.Time{}, err
	}
	return l.pairer.Pair(ctx, name)
}

func TestKeysLeftOnAThawedMasterAreFound(t *testing.T) {
	redisproc.Need(t)
	m, err := startMasters(t.Context(), 2)
	require.NoError(t, err)
	defer func() { assert.NoError(t, m.close()) }()
	var once sync.Once
	c := &contestant{Name: "leaky", pairer: leaky{&fake{lock: ms}, func(ctx context.Context) (err error) {
		once.Do(func() { err = m.clients[0].Set(ctx, "forgotten", "token", time.Minute).Err() })
		return err
	}}}

	plan := frozenPlan{cycles: 2, window: 50 * ms}
	cycles, err := measureFrozen(t.Context(), plan, m, c, silent())
	require.NoError(t, err)
	assert.Zero(t, cycles[0].Left, "the second master was frozen, and the leak is on the first")
	assert.Equal(t, int64(1), cycles[1].Left)
	assert.Equal(t, []string{"forgotten"}, cycles[1].Few)

	require.NoError(t, m.flush(t.Context()))
	n, few, err := m.left(t.Context(), 0)
	require.NoError(t, err)
	assert.Zero(t, n)
	assert.Empty(t, few)
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
	err := run(ctx, tiny(t, "-latency", "-slice", "30s", "-contestants", "redislock"), discard, &progress{w: said})
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
