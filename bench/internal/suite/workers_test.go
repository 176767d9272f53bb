package suite

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestARoundAddsUpAllProcesses(t *testing.T) {
	t.Parallel()
	waits := func(d time.Duration) results {
		return results{
			Got: []int64{10, 30}, Waits: histogramOf(map[time.Duration]int64{d: 40}).Export(), Longest: d,
			Elapsed: 2 * time.Second, Overlaps: 1,
		}
	}
	other := waits(9 * ms)
	other.Got, other.Failed, other.Failure = []int64{20, 0}, 3, "some\nthing"
	r := roundOf([]results{waits(ms), other})
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
