package load

import (
	"fmt"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Figures are the results of one contestant in one round.
type Figures struct {
	PairMicros float64 `json:"us_per_pair"` // elapsed / pairs: the inverse of the throughput
	P50        float64 `json:"p50_us"`      // of one pair, as its caller sees it
	P99        float64 `json:"p99_us"`
	LockP50    float64 `json:"lock_p50_us"`
	LockP99    float64 `json:"lock_p99_us"`
	ExtendP50  float64 `json:"extend_p50_us,omitempty"`
	ExtendP99  float64 `json:"extend_p99_us,omitempty"`
	UnlockP50  float64 `json:"unlock_p50_us"`
	UnlockP99  float64 `json:"unlock_p99_us"`
	Allocs     float64 `json:"allocs_per_pair"`
	Pairs      int64   `json:"pairs"`
	Failed     int64   `json:"failed"`
	Failure    string  `json:"failure,omitempty"`
}

// Figures returns the figures of the sample. It fails if the sample has no completed pair.
func (s *Sample) Figures() (Figures, error) {
	if s.Pairs == 0 || s.Pair.TotalCount() == 0 {
		//nolint:errorlint // Failure may be nil
		return Figures{}, fmt.Errorf("no pair was completed in %v (%d failed: %v)", s.Elapsed, s.failed, s.Failure)
	}
	f := Figures{
		PairMicros: Micros(s.Elapsed) / float64(s.Pairs),
		P50:        percentileMicros(s.Pair, 50),
		P99:        percentileMicros(s.Pair, 99),
		LockP50:    percentileMicros(s.Lock, 50),
		LockP99:    percentileMicros(s.Lock, 99),
		ExtendP50:  percentileMicros(s.Extend, 50),
		ExtendP99:  percentileMicros(s.Extend, 99),
		UnlockP50:  percentileMicros(s.Unlock, 50),
		UnlockP99:  percentileMicros(s.Unlock, 99),
		Allocs:     s.Allocs,
		Pairs:      s.Pairs,
		Failed:     s.failed,
	}
	if s.Failure != nil {
		f.Failure = strings.Join(strings.Fields(s.Failure.Error()), " ") // on one line
	}
	return f, nil
}

// percentileMicros returns a percentile in µs, or 0 if h is empty.
func percentileMicros(h *hdrhistogram.Histogram, percentile float64) float64 {
	return Micros(time.Duration(h.ValueAtPercentile(percentile)))
}

// Micros returns d in microseconds.
func Micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
