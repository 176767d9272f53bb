package main

import "github.com/HdrHistogram/hdrhistogram-go"

// A point of a distribution: at this share the value is this many µs.
type point struct {
	Share  float64 `json:"q"`
	Micros float64 `json:"us"`
}

// shares are where a distribution is drawn: evenly, and closer towards its tail.
func shares() (all []float64) {
	for q := 1.0; q < 99; q += 2 {
		all = append(all, q)
	}
	return append(all, 99, 99.5, 99.9, 99.99, 100)
}

// cdf is the distribution of h; nothing of an empty one.
func cdf(h *hdrhistogram.Histogram) (all []point) {
	if h.TotalCount() == 0 {
		return nil
	}
	for _, q := range shares() {
		all = append(all, point{q / 100, at(h, q)})
	}
	return all
}
