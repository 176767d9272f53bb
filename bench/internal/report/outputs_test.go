package report

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

	"github.com/redlock-go/redlock/bench/internal/load"
)

// drawable is a report with something for every picture.
func drawable() *Report {
	r := onTarget()
	for _, row := range r.Latency {
		row.CDF = []load.Point{{Share: 0.1, Micros: 10}, {Share: 0.5, Micros: 100}, {Share: 1, Micros: 1e6}}
	}
	for _, f := range r.Faults {
		f.From, f.To = 1, 2
		f.Timeline = []load.Moment{{At: 0, P50: 10, P99: 20, Max: 30}, {At: 0.1}, {At: 0.2, P50: 10, P99: 20, Max: 3e6}}
	}
	r.Checks = judge(r, false)
	return r
}

func TestEveryPictureIsWellFormed(t *testing.T) {
	t.Parallel()
	pictures := drawable().pictures()
	parts := map[string]bool{}
	for _, p := range pictures {
		parts[p.Part] = true
		d := xml.NewDecoder(strings.NewReader(p.SVG()))
		for {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, p.Name)
		}
		assert.NotContains(t, p.SVG(), "NaN", p.Name)
		assert.NotContains(t, p.SVG(), "Inf", p.Name)
	}
	for _, part := range []string{"latency", "wan", "contention", "faults"} {
		assert.True(t, parts[part], part)
	}
	assert.Empty(t, (&Report{}).pictures())
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
	for _, outside := range []string{"<script", "<link", "src=", "@import"} {
		assert.NotContains(t, page, outside)
	}
	assert.Equal(t, strings.Count(page, "href="), strings.Count(page, "href=\"#"), "links lead only within the page")
}

func TestTablesGoBetweenTheMarksOfAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	page := filepath.Join(dir, "performance.md")
	require.NoError(t, os.WriteFile(page, []byte("before\n"+markBegin+"\nold\n"+markEnd+"\nafter\n"), 0o644))
	o := Outputs{Markdown: page, Pictures: filepath.Join(dir, "pictures")}
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
