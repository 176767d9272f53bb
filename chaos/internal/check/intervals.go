package check

import (
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// An Interval is a time in which a holder believed that it held its lock. [Exclusion] judges these intervals.
type Interval struct {
	Who  history.ID
	Mode string
	// Begin and End bound the belief. Expired: its deadline ended it.
	Begin, End time.Duration
	Expired    bool
	// Acquired is the acquisition.
	Acquired history.Event
}

// Intervals returns the intervals of all holders, in the order of the acquisitions.
func Intervals(events []history.Event) []Interval {
	var all []Interval
	for _, h := range holds(events) {
		for _, b := range h.beliefs {
			all = append(all, Interval{
				h.who, b.mode, b.start, b.end,
				b.to.Kind == history.Acquired || b.to.Kind == history.Extended, h.acquired,
			})
		}
	}
	return all
}
