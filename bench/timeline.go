package main

import (
	"slices"
	"sync"
	"time"
)

// A timeline notes every pair of a load with when it began.
type timeline struct {
	base   time.Time
	shards [shards]pairLog
}

type pairLog struct {
	mu    sync.Mutex
	pairs []noted
}

// noted is one pair, in µs since the timeline's base.
type noted struct {
	began, took uint32
	failed      bool
}

// note may be called by many callers at once.
func (t *timeline) note(begun, ended time.Time, err error) {
	if begun.Before(t.base) {
		return
	}
	n := noted{began: uint32(begun.Sub(t.base).Microseconds()), took: uint32(ended.Sub(begun).Microseconds()), failed: err != nil}
	log := &t.shards[n.took%shards]
	log.mu.Lock()
	defer log.mu.Unlock()
	log.pairs = append(log.pairs, n)
}

// A moment is what the pairs that began in one tenth of a second took.
type moment struct {
	At     float64 `json:"at_s"` // its beginning, since the load's
	Pairs  int     `json:"pairs"`
	Failed int     `json:"failed,omitempty"`
	P50    float64 `json:"p50_us"`
	P99    float64 `json:"p99_us"`
	Max    float64 `json:"max_us"`
}

const momentLength = 100 * time.Millisecond

// moments sorts the pairs into tenths of a second. One in which no pair began has zeros: nobody got as far as to begin.
func (t *timeline) moments(until time.Duration) []moment {
	took := make([][]uint32, int(until/momentLength))
	all := make([]moment, len(took))
	for i := range all {
		all[i].At = (time.Duration(i) * momentLength).Seconds()
	}
	t.each(func(n noted) {
		i := int(time.Duration(n.began) * time.Microsecond / momentLength)
		if i >= len(all) {
			return
		}
		all[i].Pairs++
		if n.failed {
			all[i].Failed++
		}
		took[i] = append(took[i], n.took)
	})
	for i := range all {
		all[i].P50, all[i].P99, all[i].Max = percentilesOf(took[i])
	}
	return all
}

// between returns what pairs took that began in that time and did not fail, and how many failed.
func (t *timeline) between(from, to time.Duration) (took []uint32, failed int64) {
	t.each(func(n noted) {
		at := time.Duration(n.began) * time.Microsecond
		switch {
		case at < from || at >= to:
		case n.failed:
			failed++
		default:
			took = append(took, n.took)
		}
	})
	return took, failed
}

func (t *timeline) each(do func(noted)) {
	for i := range t.shards {
		log := &t.shards[i]
		log.mu.Lock()
		for _, n := range log.pairs {
			do(n)
		}
		log.mu.Unlock()
	}
}

// percentilesOf sorts values and returns their median, their 99th percentile and the largest; zeros of none.
func percentilesOf(values []uint32) (p50, p99, largest float64) {
	if len(values) == 0 {
		return 0, 0, 0
	}
	slices.Sort(values)
	rank := func(q float64) float64 { return float64(values[min(len(values)-1, int(q*float64(len(values))))]) }
	return rank(0.5), rank(0.99), rank(1)
}
