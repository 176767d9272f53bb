package history

import "time"

// Clock gives times that can be compared between the processes of one machine: nanoseconds of the monotonic clock that
// the kernel keeps for all of them (CLOCK_MONOTONIC, or what Go itself reads on darwin). Where there is no such clock
// the times are wall times.
//
// It is anchored once: one reading of the machine's clock is paired with one of Go's, and every later time is the
// anchor plus a difference of Go's monotonic readings. So a deadline that a library hands out as a time.Time lands on
// the same scale exactly, whatever happens to the process between two instructions. Adding time.Until to a fresh
// reading would not do: a process that is frozen between the two moves its deadline by the length of the freeze.
type Clock struct {
	origin time.Time
	at     time.Duration
}

// NewClock anchors a clock. The anchor is the closest of several tries, so that a process frozen in the middle of one
// still gets a good one.
func NewClock() Clock {
	const tries = 32
	var best Clock
	width := time.Duration(-1)
	for range tries {
		before := time.Now()
		at := machine()
		after := time.Now()
		if w := after.Sub(before); width < 0 || w < width {
			width = w
			best = Clock{origin: before.Add(w / 2), at: at}
		}
	}
	return best
}

// Now returns the present.
func (c Clock) Now() time.Duration { return c.Of(time.Now()) }

// Of returns the time t, which must carry Go's monotonic reading.
func (c Clock) Of(t time.Time) time.Duration { return c.at + t.Sub(c.origin) }
