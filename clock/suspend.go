package clock

import "time"

// A Suspender is a Clock that stands still while the machine is suspended, and that can report the length of the
// suspensions. [System] is a Suspender on Linux.
//
// Go's monotonic clock keeps running during a suspension on Windows. It stands still on Linux and macOS. On macOS the
// standard library offers no way to find out how long the machine was suspended.
type Suspender interface {
	// Suspended returns the total time for which the machine was suspended since some fixed time in the past. It never
	// decreases.
	Suspended() time.Duration
}

// Suspended returns what c.Suspended returns if c is a [Suspender], and 0 otherwise.
func Suspended(c Clock) time.Duration {
	if s, ok := c.(Suspender); ok {
		return s.Suspended()
	}
	return 0
}
