package load

import (
	"github.com/HdrHistogram/hdrhistogram-go"
)

// A Point of a distribution says that this share of the values is at most so many µs.
type Point struct {
	Share  float64 `json:"q"`
	Micros float64 `json:"us"`
}

// distributionShares returns the percentiles at which a distribution is drawn: evenly spaced, and denser in its tail.
func distributionShares() (all []float64) {
	for q := 1.0; q < 99; q += 2 {
		all = append(all, q)
	}
	return append(all, 99, 99.5, 99.9, 99.99, 100)
}

// Distribution returns the cumulative distribution of h, or nil if h is empty.
func Distribution(h *hdrhistogram.Histogram) (all []Point) {
	if h.TotalCount() == 0 {
		return nil
	}
	for _, q := range distributionShares() {
		all = append(all, Point{q / 100, percentileMicros(h, q)})
	}
	return all
}
