package main

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// waits are how long those who wanted a lock waited for it.
type waits struct {
	P50     float64 `json:"p50_us"`
	P99     float64 `json:"p99_us"`
	Half    float64 `json:"half_of_waiting_us"` // half of all time spent waiting was spent in waits longer than this
	Longest float64 `json:"longest_us"`
}

func waitsOf(h *hdrhistogram.Histogram, longest time.Duration) waits {
	return waits{P50: at(h, 50), P99: at(h, 99), Half: micros(halfOfWaiting(h)), Longest: micros(longest)}
}

// halfOfWaiting is the wait that half of all waiting exceeded. A percentile by count is flattered by whoever gets the
// lock again and again at once, while the others wait: they are few waits, but most of the waiting.
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

// fairness is how many times the slowest got what the fastest got, as a share: 1 is equal, 0 is that somebody got
// nothing.
func fairness(got []int64) float64 {
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
