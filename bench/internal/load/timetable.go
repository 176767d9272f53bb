package load

import (
	"context"
	"sync/atomic"
	"time"
)

// A timetable says when pairs are due. Without a rate each is due at once: the next begins where the caller stands.
//
// Latency from when a pair was due, and not from when a caller got round to it, is what a user would see who does not
// wait for others: a stall delays all that came due meanwhile. Measured from the start, one slow pair stands for all of
// them (coordinated omission; Tene, "How NOT to Measure Latency").
type timetable struct {
	begin time.Time
	rate  float64
	taken atomic.Int64
}

const longestNap = 50 * time.Millisecond // so that a caller sees the end of the run

// next waits until the next pair is due and returns when that was; false if the run ends first.
func (t *timetable) next(ctx context.Context, stop *atomic.Bool) (due time.Time, ok bool) {
	if t.rate <= 0 {
		return time.Now(), true
	}
	n := t.taken.Add(1) - 1
	due = t.begin.Add(time.Duration(float64(n) / t.rate * float64(time.Second)))
	for {
		left := time.Until(due)
		if left <= 0 {
			return due, true
		}
		if stop.Load() || Sleep(ctx, min(left, longestNap)) != nil {
			return due, false
		}
	}
}
