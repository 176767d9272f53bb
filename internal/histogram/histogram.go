// Package histogram counts durations in fixed buckets.
package histogram

import (
	"sort"
	"time"
)

// Bounds are the inclusive upper bounds of the buckets, in ascending order. One more bucket has no bound.
var Bounds = [...]time.Duration{
	100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second,
	10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute, time.Hour,
}

// Histogram is the number of durations by bucket, and their sum. The zero Histogram is empty. A copy is a snapshot. It
// is not safe for concurrent use.
type Histogram struct {
	Counts [len(Bounds) + 1]int64
	Sum    time.Duration
}

// Observe counts a duration. A negative one counts as 0.
func (h *Histogram) Observe(d time.Duration) {
	d = max(d, 0)
	h.Counts[sort.Search(len(Bounds), func(i int) bool { return d <= Bounds[i] })]++
	h.Sum += d
}

// Count returns the number of durations.
func (h *Histogram) Count() (n int64) {
	for _, c := range h.Counts {
		n += c
	}
	return n
}

// Add adds the durations of other.
func (h *Histogram) Add(other *Histogram) {
	for i, n := range other.Counts {
		h.Counts[i] += n
	}
	h.Sum += other.Sum
}
