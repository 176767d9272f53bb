package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// drawable is a report with something for every picture.
func drawable() *report {
	r := onTarget()
	for _, row := range r.Latency {
		row.CDF = []point{{0.1, 10}, {0.5, 100}, {1, 1e6}}
	}
	for _, f := range r.Faults {
		f.From, f.To = 1, 2
		f.Timeline = []moment{{At: 0, P50: 10, P99: 20, Max: 30}, {At: 0.1}, {At: 0.2, P50: 10, P99: 20, Max: 3e6}}
	}
	r.Checks = judge(r, false)
	return r
}

func TestEveryPictureIsWellFormed(t *testing.T) {
	t.Parallel()
	pictures := drawable().pictures()
	parts := map[string]bool{}
	for _, p := range pictures {
		parts[p.part] = true
		d := xml.NewDecoder(strings.NewReader(p.svg()))
		for {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, p.name)
		}
		assert.NotContains(t, p.svg(), "NaN", p.name)
		assert.NotContains(t, p.svg(), "Inf", p.name)
	}
	for _, part := range []string{"latency", "wan", "contention", "faults"} {
		assert.True(t, parts[part], part)
	}
	assert.Empty(t, (&report{}).pictures())
}

func TestAPageNeedsNothingElse(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	require.NoError(t, drawable().writeHTML(&b))
	page := b.String()
	for _, s := range drawable().sections() {
		assert.Contains(t, page, strings.ReplaceAll(s.title, "'", "&#39;"))
	}
	assert.GreaterOrEqual(t, strings.Count(page, "<svg "), 8)
	for _, outside := range []string{"<script", "<link", "src=", "@import", "href="} {
		assert.NotContains(t, page, outside)
	}
}

func TestAxes(t *testing.T) {
	t.Parallel()
	log := axis{log: true, from: 0, to: 300}
	log.fit(13, 900, 0)
	assert.Equal(t, []float64{10, 1000}, []float64{log.low, log.top})
	assert.InDelta(t, 150, log.at(100), 1e-9)
	assert.InDelta(t, 0, log.at(0), 1e-9, "what a logarithm cannot show lies at the edge")
	assert.Equal(t, []float64{10, 20, 50, 100, 200, 500, 1000}, log.ticks())
	even := axis{low: 0, top: 10, from: 100, to: 0}
	assert.InDelta(t, 75, even.at(2.5), 1e-9)
	assert.Equal(t, []float64{0, 2, 4, 6, 8, 10}, even.ticks())
	assert.Equal(t, []string{"12 µs", "1.5 ms", "2 s"}, []string{sayMicros(12), sayMicros(1500), sayMicros(2e6)})
	assert.Equal(t, []string{"999", "1.5k", "2M"}, []string{sayCount(999), sayCount(1500), sayCount(2e6)})
}

func TestTablesGoBetweenTheMarksOfAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	page := filepath.Join(dir, "performance.md")
	require.NoError(t, os.WriteFile(page, []byte("before\n"+markBegin+"\nold\n"+markEnd+"\nafter\n"), 0o644))
	o := outputs{markdown: page, pictures: filepath.Join(dir, "pictures")}
	for range 2 { // a second run replaces what the first one wrote
		require.NoError(t, o.write(drawable()))
	}
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(text), "before\n"+markBegin))
	assert.True(t, strings.HasSuffix(string(text), markEnd+"\nafter\n"))
	assert.NotContains(t, string(text), "old\n")
	assert.Equal(t, 1, strings.Count(string(text), "### Latency"))
	assert.Contains(t, string(text), "](pictures/throughput.svg)")
	assert.FileExists(t, filepath.Join(dir, "pictures", "throughput.svg"))

	require.NoError(t, os.WriteFile(page, []byte("no marks"), 0o644))
	assert.ErrorContains(t, o.write(drawable()), markBegin)
}
