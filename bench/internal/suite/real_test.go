package suite

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
