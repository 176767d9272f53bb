package load

import (
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Waits summarizes how long the callers waited for a lock.
type Waits struct {
	P50     float64 `json:"p50_us"`
	P99     float64 `json:"p99_us"`
	Half    float64 `json:"half_of_waiting_us"` // half of all time spent waiting was spent in waits longer than this
	Longest float64 `json:"longest_us"`
}

// WaitsOf returns the waits in a histogram of nanoseconds, of which the longest was measured apart.
func WaitsOf(h *hdrhistogram.Histogram, longest time.Duration) Waits {
	return Waits{
		P50:     percentileMicros(h, 50),
		P99:     percentileMicros(h, 99),
		Half:    Micros(halfOfWaiting(h)),
		Longest: Micros(longest),
	}
}

// halfOfWaiting returns the wait of which this is true: half of all time spent waiting was spent in longer waits. A
// percentile by count looks too good if one caller gets the lock again and again at once while the others wait: the
// waits of the others are few, but most of the waiting.
func halfOfWaiting(h *hdrhistogram.Histogram) time.Duration {
	var all, below float64
	bars := h.Distribution()
	for _, b := range bars {
		all += float64(b.Count) * middle(b)
	}
	for _, b := range bars {
		if below += float64(b.Count) * middle(b); b.Count > 0 && below >= all/2 {
			return time.Duration(middle(b))
		}
	}
	return 0
}

func middle(b hdrhistogram.Bar) float64 { return float64(b.From+b.To) / 2 }

// Fairness returns the smallest count divided by the largest: 1 if all are equal, 0 if one caller got nothing.
func Fairness(got []int64) float64 {
	if len(got) == 0 {
		return 0
	}
	least, most := got[0], got[0]
	for _, n := range got {
		least, most = min(least, n), max(most, n)
	}
	if most == 0 {
		return 0
	}
	return float64(least) / float64(most)
}

// LeastByMean returns the smallest count divided by the mean.
func LeastByMean(got []int64) float64 {
	var sum int64
	for _, n := range got {
		sum += n
	}
	if sum == 0 {
		return 0
	}
	return float64(slices.Min(got)) * float64(len(got)) / float64(sum)
}
