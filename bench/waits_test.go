package main

import (
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/assert"
)

func histogramOf(waits map[time.Duration]int64) *hdrhistogram.Histogram {
	h := histogram()
	for d, n := range waits {
		_ = h.RecordValues(int64(d), n)
	}
	return h
}

// Ten thousand waits of nobody and one of a second: by count nobody waits, by time nearly all waiting is that one.
func TestHalfOfWaitingIsWeighedByTime(t *testing.T) {
	t.Parallel()
	h := histogramOf(map[time.Duration]int64{10 * time.Microsecond: 10_000, time.Second: 1})
	got := waitsOf(h, time.Second)
	assert.InDelta(t, 10, got.P50, 1)
	assert.InDelta(t, 10, got.P99, 1)
	assert.InDelta(t, 1e6, got.Half, 1e4)
	assert.InDelta(t, 1e6, got.Longest, 1)

	even := histogramOf(map[time.Duration]int64{ms: 100})
	assert.InDelta(t, 1000, waitsOf(even, ms).Half, 10)
	assert.Zero(t, waitsOf(histogram(), 0).Half)
}

func TestFairnessIsTheSlowestsShareOfTheFastests(t *testing.T) {
	t.Parallel()
	for want, got := range map[float64][]int64{1: {5, 5, 5}, 0.25: {8, 4, 2}, 0: {0, 9}} {
		assert.InDelta(t, want, fairness(got), 1e-9, "%v", got)
	}
	assert.Zero(t, fairness([]int64{0, 0}), "nobody got anything: not fair, but nothing")
	assert.Zero(t, fairness(nil))
}

func TestARoundAddsUpAllProcesses(t *testing.T) {
	t.Parallel()
	waits := func(d time.Duration) haul {
		return haul{
			Got: []int64{10, 30}, Waits: histogramOf(map[time.Duration]int64{d: 40}).Export(), Longest: d, Elapsed: 2 * time.Second, Overlaps: 1,
		}
	}
	other := waits(9 * ms)
	other.Got, other.Failed, other.Failure = []int64{20, 0}, 3, "some\nthing"
	r := roundOf([]haul{waits(ms), other})
	assert.Equal(t, int64(60), r.Acquired)
	assert.InDelta(t, 30, r.PerSecond, 1e-9)
	assert.InDelta(t, 0, r.Goroutines, 1e-9)
	assert.InDelta(t, 0.5, r.Processes, 1e-9)
	assert.InDelta(t, 9000, r.Waits.Longest, 1)
	assert.InDelta(t, 1000, r.Waits.P50, 10)
	assert.Equal(t, int64(2), r.Overlaps)
	assert.Equal(t, int64(3), r.Failed)
	assert.Equal(t, "some thing", r.Failure)
}
