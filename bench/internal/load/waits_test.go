package load

import (
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/assert"
)

func histogramOf(waits map[time.Duration]int64) *hdrhistogram.Histogram {
	h := NewHistogram()
	for d, n := range waits {
		_ = h.RecordValues(int64(d), n)
	}
	return h
}

// Ten thousand waits of zero and one of a second: most by count are zero, but nearly all the time is that one.
func TestHalfOfWaitingIsWeighedByTime(t *testing.T) {
	t.Parallel()
	h := histogramOf(map[time.Duration]int64{10 * time.Microsecond: 10_000, time.Second: 1})
	got := WaitsOf(h, time.Second)
	assert.InDelta(t, 10, got.P50, 1)
	assert.InDelta(t, 10, got.P99, 1)
	assert.InDelta(t, 1e6, got.Half, 1e4)
	assert.InDelta(t, 1e6, got.Longest, 1)

	even := histogramOf(map[time.Duration]int64{ms: 100})
	assert.InDelta(t, 1000, WaitsOf(even, ms).Half, 10)
	assert.Zero(t, WaitsOf(NewHistogram(), 0).Half)
}

func TestFairnessIsTheSlowestsShareOfTheFastests(t *testing.T) {
	t.Parallel()
	for want, got := range map[float64][]int64{1: {5, 5, 5}, 0.25: {8, 4, 2}, 0: {0, 9}} {
		assert.InDelta(t, want, Fairness(got), 1e-9, "%v", got)
	}
	assert.Zero(t, Fairness([]int64{0, 0}), "no caller got anything")
	assert.Zero(t, Fairness(nil))
}
