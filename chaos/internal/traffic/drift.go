package traffic

import (
	"sync"
	"time"

	"github.com/redlock-go/redlock/clock"
)

// drift is the clock that a client's lock goes by. It may be ahead of the machine's and run faster or slower, and its
// rate can change, after which it continues from the time that it shows.
type drift struct {
	started float64 // the rate that it began with

	mu    sync.RWMutex
	paces []pace // one after the other; the last one lasts
}

// pace is a stretch of time in which a drift keeps its rate.
type pace struct {
	from, shown time.Time // the machine's time at its beginning, and what the clock showed then
	rate        float64
}

func newDrift(c Config) *drift {
	d := &drift{started: c.ClockRate}
	if d.started <= 0 {
		d.started = 1
	}
	now := time.Now()
	d.paces = []pace{{from: now, shown: now.Add(c.ClockAhead), rate: d.started}}
	return d
}

// Now returns the drifted time. Like the real time it carries Go's monotonic reading.
func (d *drift) Now() time.Time {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.last().shows(time.Now())
}

// gain has the clock gain so many seconds a second from now on; 0: it runs as it began. What it shows does not jump.
func (d *drift) gain(seconds float64) {
	rate := 1 + seconds
	if seconds == 0 {
		rate = d.started
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	d.paces = append(d.paces, pace{from: now, shown: d.last().shows(now), rate: rate})
}

// right is the machine's time when this clock shows t. For a time to come that is if it keeps its rate.
func (d *drift) right(t time.Time) time.Time {
	d.mu.RLock()
	defer d.mu.RUnlock()
	p := d.paces[0]
	for _, later := range d.paces[1:] {
		if later.shown.After(t) {
			break
		}
		p = later
	}
	return p.from.Add(scale(t.Sub(p.shown), 1/p.rate))
}

// AfterFunc sets a timer, which keeps the rate that the clock has now. If that changes before it fires, it is early or
// late by as much as the clock drifts meanwhile: within the drift budget that is a hundredth of what it waits, at most.
// Who needs to be exact looks at the clock then, as a lock does.
func (d *drift) AfterFunc(wait time.Duration, f func()) clock.Timer {
	return driftTimer{time.AfterFunc(scale(wait, 1/d.rate()), f), d}
}

type driftTimer struct {
	*time.Timer
	drift *drift
}

func (t driftTimer) Reset(wait time.Duration) bool {
	return t.Timer.Reset(scale(wait, 1/t.drift.rate()))
}

func (d *drift) rate() float64 {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.last().rate
}

// last is the pace that lasts. The caller holds the mutex.
func (d *drift) last() pace { return d.paces[len(d.paces)-1] }

// shows is what the clock shows at a time of the machine, within the pace.
func (p pace) shows(now time.Time) time.Time { return p.shown.Add(scale(now.Sub(p.from), p.rate)) }

func scale(d time.Duration, by float64) time.Duration {
	if by == 1 {
		return d // without the rounding of a float
	}
	return time.Duration(float64(d) * by)
}
