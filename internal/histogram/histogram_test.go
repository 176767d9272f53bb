package histogram_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/internal/histogram"
)

func TestBoundsAscend(t *testing.T) {
	t.Parallel()
	assert.True(t, slices.IsSorted(histogram.Bounds[:]))
	assert.Len(t, slices.Compact(slices.Clone(histogram.Bounds[:])), len(histogram.Bounds))
}

func TestADurationIsInTheFirstBucketWhoseBoundItDoesNotExceed(t *testing.T) {
	t.Parallel()
	last := len(histogram.Bounds)
	for i, bound := range histogram.Bounds {
		for d, bucket := range map[time.Duration]int{bound: i, bound + 1: i + 1} {
			var h histogram.Histogram
			h.Observe(d)
			assert.EqualValues(t, 1, h.Counts[bucket], "%v", d)
			assert.Equal(t, d, h.Sum)
		}
	}
	var h histogram.Histogram
	h.Observe(-time.Second)
	h.Observe(0)
	h.Observe(1000 * time.Hour)
	assert.EqualValues(t, 2, h.Counts[0])
	assert.EqualValues(t, 1, h.Counts[last])
	assert.EqualValues(t, 3, h.Count())
	assert.Equal(t, 1000*time.Hour, h.Sum)
}
