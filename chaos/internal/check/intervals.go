package check

import (
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// Interval is one stretch of time in which a holder believed in its lock: what [Exclusion] judges, for others to show.
type Interval struct {
	Who  history.ID
	Mode string
	// Begin and End bound the belief.
	Begin, End time.Duration
}

// Intervals returns all of them, holder after holder in the order in which they acquired.
func Intervals(events []history.Event) []Interval {
	var all []Interval
	for _, h := range holds(events) {
		for _, b := range h.beliefs {
			all = append(all, Interval{h.who, b.mode, b.start, b.end})
		}
	}
	return all
}
