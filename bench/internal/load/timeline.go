package load

import (
	"slices"
	"sync"
	"time"
)

// A Timeline records every pair of a load and when it began.
type Timeline struct {
	Base   time.Time
	shards [shards]pairLog
}

type pairLog struct {
	mu    sync.Mutex
	pairs []pairRecord
}

// A pairRecord is one pair; its times are in µs since the timeline's base.
type pairRecord struct {
	began, took uint32
	failed      bool
}

// Note records a pair. Many callers may call it at once.
func (t *Timeline) Note(begun, ended time.Time, err error) {
	if begun.Before(t.Base) {
		return
	}
	n := pairRecord{
		began:  uint32(begun.Sub(t.Base).Microseconds()),
		took:   uint32(ended.Sub(begun).Microseconds()),
		failed: err != nil,
	}
	log := &t.shards[n.took%shards]
	log.mu.Lock()
	defer log.mu.Unlock()
	log.pairs = append(log.pairs, n)
}

// A Moment summarizes the pairs that began in one tenth of a second.
type Moment struct {
	At     float64 `json:"at_s"` // its beginning, since the load's
	Pairs  int     `json:"pairs"`
	Failed int     `json:"failed,omitempty"`
	P50    float64 `json:"p50_us"`
	P99    float64 `json:"p99_us"`
	Max    float64 `json:"max_us"`
}

// MomentLength is the length of a [Moment].
const MomentLength = 100 * time.Millisecond

// Moments sorts the pairs into tenths of a second. A tenth in which no pair began has zeros.
func (t *Timeline) Moments(until time.Duration) []Moment {
	took := make([][]uint32, int(until/MomentLength))
	all := make([]Moment, len(took))
	for i := range all {
		all[i].At = (time.Duration(i) * MomentLength).Seconds()
	}
	t.each(func(n pairRecord) {
		i := int(time.Duration(n.began) * time.Microsecond / MomentLength)
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
		all[i].P50, all[i].P99, all[i].Max = PercentilesOf(took[i])
	}
	return all
}

// Between returns the durations of the successful pairs that began in that time, and the number of failed ones.
func (t *Timeline) Between(from, to time.Duration) (took []uint32, failed int64) {
	t.each(func(n pairRecord) {
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

func (t *Timeline) each(do func(pairRecord)) {
	for i := range t.shards {
		log := &t.shards[i]
		log.mu.Lock()
		for _, n := range log.pairs {
			do(n)
		}
		log.mu.Unlock()
	}
}

// PercentilesOf sorts values, and returns their median, their 99th percentile and the largest, or zeros if there are
// none.
func PercentilesOf(values []uint32) (p50, p99, largest float64) {
	if len(values) == 0 {
		return 0, 0, 0
	}
	slices.Sort(values)
	rank := func(q float64) float64 { return float64(values[min(len(values)-1, int(q*float64(len(values))))]) }
	return rank(0.5), rank(0.99), rank(1)
}
