package report

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/bench/internal/load"
	"github.com/redlock-go/redlock/bench/internal/peers"
)

// onTarget is a report that meets every target exactly: a figure that is compared is 100, or the multiple of 100 that
// the target allows.
func onTarget() *Report {
	r := &Report{Pairs: 999, Failed: 1}
	r.Setup.CPUs = 2
	for _, t := range targets() {
		in, who := t.measured()
		switch {
		case t.part == "":
		case t.over == "":
			r.add(t.part, in, who, t.name, t.limit)
		default:
			if mine := r.Find(t.part, in, who, t.name); mine != nil {
				r.add(t.part, in, t.over, t.name, mine[0]/t.limit)
			}
			r.add(t.part, in, t.over, t.name, 100)
			r.add(t.part, in, who, t.name, r.Find(t.part, in, t.over, t.name)[0]*t.limit)
		}
	}
	return r
}

// measured returns the case and the contestant of the figure that stands for a target here.
func (t target) measured() (in, who string) { return cmp.Or(t.in, "any"), cmp.Or(t.who, peers.Redlock) }

// add adds a figure of three equal rounds, unless it is there.
func (r *Report) add(part, in, who, name string, v float64) {
	for len(r.Find(part, in, who, name)) < 3 {
		r.Add(part, in, who, load.Value{Name: name, V: v})
	}
}

func scale(rounds []float64, by float64) {
	for i := range rounds {
		rounds[i] *= by
	}
}

func missed(all []verdict) (names []string) {
	for _, v := range all {
		if !v.OK {
			names = append(names, v.What)
		}
	}
	return names
}

func TestCheckPassesOnTheTarget(t *testing.T) {
	t.Parallel()
	all := judge(onTarget(), false)
	assert.Empty(t, missed(all), "%+v", all)
	assert.Len(t, all, len(targets()))
	assert.Empty(t, missed(judge(onTarget(), true)))
}

// The control: each figure a little beyond its target must be named. A figure that two targets are about may also miss
// the other one, of the same part.
func TestCheckNamesWhatFallsShort(t *testing.T) {
	t.Parallel()
	for _, target := range targets() {
		t.Run(target.what, func(t *testing.T) {
			t.Parallel()
			r := onTarget()
			in, who := target.measured()
			by := 0.99
			if target.atMost {
				by = 1.01
			}
			switch {
			case target.part == "":
				r.Failed = 2
			case target.limit == 0:
				r.Find(target.part, in, who, target.name)[0] = 1 // of three rounds
			default:
				scale(r.Find(target.part, in, who, target.name), by)
			}
			all := judge(r, false)
			assert.Contains(t, missed(all), target.what)
			assert.Contains(t, describeShort(all), target.what)
			for _, other := range targets() {
				if other.part != target.part || other.in != target.in {
					assert.NotContains(t, missed(all), other.what)
				}
			}
		})
	}
}

func TestCheckFallsShortOnWhatWasNotMeasured(t *testing.T) {
	t.Parallel()
	for _, smoke := range []bool{false, true} {
		for _, v := range judge(&Report{}, smoke) {
			assert.Equal(t, notMeasured, v.Got, v.What)
			assert.False(t, v.OK)
		}
	}
	r := onTarget()
	r.find("scale", Scale(FullLocks, ScaleTTL), peers.Redlock, "idle CPU s").Case = Scale(1000, ScaleTTL)
	assert.Contains(
		t, describeShort(judge(r, false)), "CPU seconds in 60 idle s is not measured", "of fewer locks says nothing of many",
	)
}

func TestOnlyThePartsAskedForAreChecked(t *testing.T) {
	t.Parallel()
	r := &Report{Pairs: 1}
	for _, f := range onTarget().Figures {
		if f.Part == "latency" {
			r.Figures = append(r.Figures, f)
		}
	}
	assert.NotEmpty(t, missed(judge(r, false)))
	r.Setup.Parts = []string{"latency"}
	assert.Empty(t, missed(judge(r, false)))
	r.Setup.Parts = []string{"latency", "faults"}
	assert.Contains(
		t, describeShort(judge(r, false)), "frozen for 12 s: keys left on it 2 s after it thawed is not measured",
	)
}

func TestASmokeRunHasSlackOnRatiosOnly(t *testing.T) {
	t.Parallel()
	in := "frozen for 2s"
	r := onTarget()
	scale(r.Find("latency", Callers(1), peers.Redlock, "µs/pair"), 1.9)
	scale(r.Find("faults", in, peers.Redlock, "longest ms"), 99)
	assert.Len(t, missed(judge(r, false)), 2)
	assert.Empty(t, missed(judge(r, true)), "absolute figures belong to the machine")
	scale(r.Find("latency", Callers(1), peers.Redlock, "µs/pair"), 1.9)
	assert.Len(t, missed(judge(r, true)), 1)

	r = onTarget()
	r.Find("faults", in, peers.Redlock, "keys left")[1] = 1
	r.Find("contention", "any", peers.Redlock, "overlaps")[2] = 1
	assert.Len(t, missed(judge(r, true)), 2, "what must be nothing must be nothing, in each round")
	for _, target := range targets() {
		bad := []float64{target.limit / 10}
		if target.atMost {
			bad[0] = 10*target.limit + 1
		}
		assert.False(t, target.judge(bad, true).OK, target.what)
	}
}

func TestCompareSeparatesTheSlowerFromTheNoise(t *testing.T) {
	t.Parallel()
	with := func(who, name string, rounds ...float64) *Report {
		r := &Report{}
		for _, v := range rounds {
			r.Add("latency", Callers(64), who, load.Value{Name: name, V: v})
		}
		return r
	}
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
			got := changed(with(peers.Redlock, "µs/pair", old...), with(peers.Redlock, "µs/pair", c.now...))
			require.Len(t, got, 1)
			assert.Equal(t, "latency, 64 callers, redlock: µs/pair", got[0].name)
			assert.Equal(t, c.want, got[0].verdict())
		})
	}
	more := changed(with(peers.Redlock, "locks/s", 100, 101, 102), with(peers.Redlock, "locks/s", 50, 51, 52))
	require.Len(t, more, 1)
	assert.Equal(t, "SLOWER", more[0].verdict(), "more is better")
	assert.InDelta(t, 2, more[0].factor, 0.1)
	assert.Empty(t, changed(with(peers.Redsync, "µs/pair", 10, 10, 10), with(peers.Redsync, "µs/pair", 90, 90, 90)))
	assert.Empty(t, changed(with(peers.Redlock, "failed", 1, 1, 1), with(peers.Redlock, "failed", 9, 9, 9)))
}

func TestFilesAreWrittenReadAndCompared(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old, now, page := filepath.Join(dir, "old.json"), filepath.Join(dir, "new.json"), filepath.Join(dir, "run.html")
	require.NoError(t, Outputs{Save: old, HTML: page, Pictures: dir}.Finish(onTarget(), io.Discard))
	slow := onTarget()
	scale(slow.Find("latency", Callers(512), peers.Redlock, "µs/pair"), 2)
	require.NoError(t, Outputs{Save: now}.Finish(slow, io.Discard), "without -check it is only reported")

	again, err := ReadReport(old)
	require.NoError(t, err)
	assert.Equal(t, onTarget().Figures, again.Figures)
	var out bytes.Buffer
	require.NoError(t, CompareFiles(old, old, &out))
	assert.NotContains(t, out.String(), "SLOWER")
	err = CompareFiles(old, now, &out)
	require.ErrorIs(t, err, errSlower)
	require.ErrorContains(t, err, "latency, 512 callers, redlock: µs/pair")
	require.ErrorContains(t, err, "latency, 512 callers, redlock: × as fast as redsync", "which another machine shares")
	require.ErrorContains(t, CompareFiles(old, filepath.Join(dir, "none"), &out), "no such file")

	text, err := os.ReadFile(page)
	require.NoError(t, err)
	for _, part := range []string{"distinct names, 64 callers", "<svg", "bsm/redislock"} {
		assert.Contains(t, string(text), part)
	}
}

func TestAMissedTargetIsAnError(t *testing.T) {
	t.Parallel()
	r := onTarget()
	var out bytes.Buffer
	require.NoError(t, Outputs{Check: true}.Finish(r, &out))
	assert.Contains(t, out.String(), "the project's targets")
	scale(r.Find("latency", Callers(512), peers.Redlock, "µs/pair"), 2)
	out.Reset()
	err := Outputs{Check: true}.Finish(r, &out)
	require.ErrorIs(t, err, errShort)
	require.ErrorContains(t, err, "512 callers: throughput, × redsync's is 5, wanted ≥ 10")
	assert.Contains(t, out.String(), fallsShort)
}

// The pictures that docs/performance.md shows are among those of a full run, and are well-formed.
func TestChartsAreWellFormedSVG(t *testing.T) {
	t.Parallel()
	r := onTarget()
	for _, name := range []string{"healthy p50 ms", "healthy p99 ms", "p50 ms", "p99 ms"} {
		r.add("faults", "frozen for 12s", peers.Redlock, name, 2)
	}
	names := map[string]bool{}
	for _, c := range r.charts() {
		names[c.Name] = true
		d := xml.NewDecoder(strings.NewReader(string(c.SVG())))
		for {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, c.Name)
		}
		assert.NotContains(t, string(c.SVG()), "NaN")
		assert.NotContains(t, string(c.SVG()), "Inf")
	}
	for _, want := range []string{"throughput", "wan", "contention", "fault-frozen-12s"} {
		assert.Contains(t, names, want)
	}
}

func TestASpreadIsOfItsRounds(t *testing.T) {
	t.Parallel()
	assert.Equal(t, spread{1, 2, 3}, spreadOf([]float64{3, 1, 2}))
	assert.Equal(t, spread{1, 2.5, 4}, spreadOf([]float64{4, 1, 2, 3}))
	assert.Equal(t, []float64{2, 0.5}, ratios([]float64{4, 1}, []float64{2, 2}))
	assert.Nil(t, ratios([]float64{4}, []float64{2, 2}))
	for want, values := range map[string][]float64{
		"–": nil, "7": {7}, "0.25": {0.25}, "150 [100–200]": {100, 200}, "1.50 [1.00–2.00]": {1, 2},
		"15.0 [10.0–20.0]": {10, 20},
	} {
		assert.Equal(t, want, brief(values))
	}
}
