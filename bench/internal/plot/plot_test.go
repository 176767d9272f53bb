package plot

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAxes(t *testing.T) {
	t.Parallel()
	log := Axis{Log: true, from: 0, to: 300}
	log.Fit(13, 900, 0)
	assert.Equal(t, []float64{10, 1000}, []float64{log.Low, log.High})
	assert.InDelta(t, 150, log.position(100), 1e-9)
	assert.InDelta(t, 0, log.position(0), 1e-9, "what a logarithm cannot show lies at the edge")
	assert.Equal(t, []float64{10, 20, 50, 100, 200, 500, 1000}, log.tickValues())
	even := Axis{Low: 0, High: 10, from: 100, to: 0}
	assert.InDelta(t, 75, even.position(2.5), 1e-9)
	assert.Equal(t, []float64{0, 2, 4, 6, 8, 10}, even.tickValues())
	assert.Equal(t, []string{"12 µs", "1.5 ms", "2 s"}, []string{FormatMicros(12), FormatMicros(1500), FormatMicros(2e6)})
	assert.Equal(t, []string{"999", "1.5k", "2M"}, []string{FormatCount(999), FormatCount(1500), FormatCount(2e6)})
}
