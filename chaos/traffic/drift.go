package traffic

import (
	"time"

	"github.com/redlock-go/redlock/clock"
)

// drift is a clock that is wrong: it runs rate times as fast as the machine's, and was ahead of it at the origin.
type drift struct {
	origin time.Time
	rate   float64
	ahead  time.Duration
}

func newDrift(c Config) drift {
	d := drift{origin: time.Now(), rate: c.ClockRate, ahead: c.ClockAhead}
	if d.rate <= 0 {
		d.rate = 1
	}
	return d
}

// Now tells the wrong time. Like the right one it carries Go's monotonic reading.
func (d drift) Now() time.Time {
	return d.origin.Add(d.ahead + scale(time.Since(d.origin), d.rate))
}

// right is the machine's time when this clock shows t.
func (d drift) right(t time.Time) time.Time {
	return d.origin.Add(scale(t.Sub(d.origin)-d.ahead, 1/d.rate))
}

func (d drift) AfterFunc(wait time.Duration, f func()) clock.Timer {
	return driftTimer{time.AfterFunc(scale(wait, 1/d.rate), f), d.rate}
}

type driftTimer struct {
	*time.Timer
	rate float64
}

func (t driftTimer) Reset(wait time.Duration) bool { return t.Timer.Reset(scale(wait, 1/t.rate)) }

func scale(d time.Duration, by float64) time.Duration {
	if by == 1 {
		return d // without the rounding of a float
	}
	return time.Duration(float64(d) * by)
}
