package clock

import "time"

// A Suspender is a Clock whose times stand still while the machine is suspended, and that can tell for how long it was.
// [System] is one on Linux.
//
// Go's clock counts the time of a suspended machine on Windows. It does not on Linux and on macOS; on macOS nothing that the
// standard library offers tells how long the machine was suspended in all.
type Suspender interface {
	// Suspended returns how long the machine has been suspended in all, since some time in the past. It never decreases.
	Suspended() time.Duration
}

// Suspended returns how long the machine has been suspended as far as c tells; 0 if c is no [Suspender].
func Suspended(c Clock) time.Duration {
	if s, ok := c.(Suspender); ok {
		return s.Suspended()
	}
	return 0
}
