package report

import (
	"encoding/xml"
	"errors"
	"io"
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

func TestPicturesAreWrittenAsFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "pictures")
	require.NoError(t, Outputs{Pictures: dir}.write(drawable()))
	assert.FileExists(t, filepath.Join(dir, "throughput.svg"))
}
