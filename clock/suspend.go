package clock

import (
	"sync"
	"time"
)

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

// CountSuspensions returns a Clock that advances while the machine is suspended, as the clocks of the masters do. It
// is the only place in which a suspension is counted: every deadline of the library is a time of such a Clock, and so
// remains right without a correction. Its times differ from those of c by a constant while the machine is not
// suspended; [Outside] converts them back.
//
// The timers of c stand still during a suspension. So a timer of the returned Clock looks at the time once a second,
// and fires at most a second late if the machine was suspended.
//
// If c is no [Suspender], or counts suspensions already, CountSuspensions returns c.
func CountSuspensions(c Clock) Clock {
	if _, counts := c.(*counting); counts {
		return c
	}
	if s, ok := c.(interface {
		suspendedAt(now time.Time) time.Duration
	}); ok {
		return &counting{clock: c, suspended: s.suspendedAt}
	}
	if s, ok := c.(Suspender); ok {
		return &counting{clock: c, suspended: func(time.Time) time.Duration { return s.Suspended() }}
	}
	return c
}

// Outside returns t, a time of c, as a time of the Clock on which c was made with [CountSuspensions]. A suspension that
// follows moves the result earlier, so it must not be kept.
func Outside(c Clock, t time.Time) time.Time {
	if c, ok := c.(*counting); ok {
		return t.Add(-c.suspended(c.clock.Now()))
	}
	return t
}

// counting is a Clock that counts suspensions.
type counting struct {
	clock     Clock
	suspended func(now time.Time) time.Duration // at now or later
}

func (c *counting) Now() time.Time {
	now := c.clock.Now() // before the reading, so that a suspension in between counts
	return now.Add(c.suspended(now))
}

func (c *counting) AfterFunc(d time.Duration, f func()) Timer {
	t := &watchfulTimer{clock: c, f: f}
	t.mu.Lock() // fire may run before timer is set
	defer t.mu.Unlock()
	t.due, t.pending = c.Now().Add(d), true
	t.timer = c.clock.AfterFunc(min(d, lookEvery), t.fire)
	return t
}

// lookEvery bounds how late a timer fires after the machine was suspended.
const lookEvery = time.Second

// watchfulTimer is a timer that looks at the time at least every lookEvery.
type watchfulTimer struct {
	clock *counting
	f     func()

	mu      sync.Mutex
	timer   Timer // of the clock that stands still
	due     time.Time
	pending bool
}

func (t *watchfulTimer) fire() {
	t.mu.Lock()
	if !t.pending {
		t.mu.Unlock()
		return
	}
	if left := t.due.Sub(t.clock.Now()); left > 0 {
		t.timer.Reset(min(left, lookEvery))
		t.mu.Unlock()
		return
	}
	t.pending = false
	t.mu.Unlock()
	t.f()
}

func (t *watchfulTimer) Stop() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer.Stop()
	pending := t.pending
	t.pending = false
	return pending
}

func (t *watchfulTimer) Reset(d time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	pending := t.pending
	t.due, t.pending = t.clock.Now().Add(d), true
	t.timer.Reset(min(d, lookEvery))
	return pending
}
