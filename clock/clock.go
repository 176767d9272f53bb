// Package clock measures time for locks: monotonic, replaceable in tests, with a budget for drift.
//
// The safety of a lock depends on elapsed time. Wall clocks jump, so this package never subtracts one wall time from
// another: [System] returns times with Go's monotonic reading. [Drift] is the budget for the difference between the
// speeds of two clocks. The other packages take their time from a [Clock] and not from package time, so a test can stop
// the clock of one client while the others continue.
//
// A program that replaces the clock of package redlock needs [Clock], [Timer] and perhaps [Suspender]. The rest of this
// package may change in any release.
package clock

import (
	"context"
	"time"
)

// A Clock returns the time and calls functions later. Its times must never run backward.
type Clock interface {
	// Now returns the present time. Only the difference between two times of one Clock has a meaning.
	Now() time.Time
	// AfterFunc runs f in a goroutine of its own once d has passed. A d of zero or less runs it at once.
	AfterFunc(d time.Duration, f func()) Timer
}

// A Timer is a call that is scheduled with [Clock.AfterFunc].
type Timer interface {
	// Stop prevents the call. It reports false if the call has begun or was stopped before.
	Stop() bool
	// Reset moves the call to d from now, and reports whether it was still pending.
	Reset(d time.Duration) bool
}

// System is the machine's own monotonic clock.
var System Clock = system{}

type system struct{}

func (system) Now() time.Time { return time.Now() }

func (system) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }

// Sleep waits until d has passed on c and returns nil. If ctx ends first, it returns the error of ctx.
func Sleep(ctx context.Context, c Clock, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	woken := make(chan struct{})
	timer := c.AfterFunc(d, func() { close(woken) })
	defer timer.Stop()
	select {
	case <-woken:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
