package report

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/bench/internal/peers"
)

func withRounds(name string, micros ...float64) *Report {
	return &Report{Latency: rows(map[string]map[int][]float64{name: {64: micros}})}
}

func TestCompareSeparatesTheSlowerFromTheNoise(t *testing.T) {
	t.Parallel()
	old := []float64{100, 104, 96, 102, 98}
	for name, c := range map[string]struct {
		now  []float64
		want string
	}{
		"the same":                             {[]float64{99, 103, 97, 101, 100}, "as before, within the noise"},
		"slower in every round":                {[]float64{120, 130, 125, 122, 128}, "SLOWER"},
		"slower in the middle, but they touch": {[]float64{120, 130, 125, 103, 128}, "as before, within the noise"},
		"faster in every round":                {[]float64{80, 81, 82, 83, 84}, "better"},
		"apart, but by next to nothing":        {[]float64{104.1, 104.2, 104.1, 104.3, 104.2}, "as before, within the noise"},
		"too few rounds to tell":               {[]float64{150, 151}, "as before, within the noise"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, got := range changed(withRounds(peers.Redlock, old...), withRounds(peers.Redlock, c.now...)) {
				if got.name == "latency, 64 callers, redlock: µs/pair" {
					assert.Equal(t, c.want, got.verdict())
					return
				}
			}
			t.Fatal("not compared")
		})
	}
}

func TestCompareKnowsWhereMoreIsBetter(t *testing.T) {
	t.Parallel()
	crowd := func(perSecond ...float64) *Report {
		row := &ContentionRow{Shape: oneProcess, Contestant: peers.Redlock}
		for _, n := range perSecond {
			row.Rounds = append(row.Rounds, ContentionRound{PerSecond: n})
		}
		return &Report{Contention: []*ContentionRow{row}}
	}
	got := changed(crowd(100, 101, 102), crowd(50, 51, 52))
	require.Len(t, got, 1)
	assert.Equal(t, "SLOWER", got[0].verdict())
	assert.InDelta(t, 2, got[0].factor, 0.1)
}

func TestCompareIsAboutOurs(t *testing.T) {
	t.Parallel()
	assert.Empty(t, changed(withRounds(peers.Redsync, 10, 10, 10), withRounds(peers.Redsync, 90, 90, 90)))
}

func TestCompareFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old, now := filepath.Join(dir, "old.json"), filepath.Join(dir, "new.json")
	require.NoError(t, Outputs{Save: old}.write(onTarget()))
	slow := onTarget()
	slowDown(slow, 512, peers.Redlock, 2)
	require.NoError(t, Outputs{Save: now}.write(slow))

	var out bytes.Buffer
	require.NoError(t, CompareFiles(old, old, &out))
	assert.NotContains(t, out.String(), "SLOWER")
	out.Reset()
	err := CompareFiles(old, now, &out)
	require.ErrorIs(t, err, errSlower)
	require.ErrorContains(t, err, "latency, 512 callers, redlock: µs/pair")
	assert.Contains(t, out.String(), "SLOWER")
	require.ErrorContains(t, CompareFiles(old, filepath.Join(dir, "none"), &out), "no such file")
}
