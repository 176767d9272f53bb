// Package clock is time as a lock needs it: monotonic, injectable, and with a budget for what cannot be measured.
//
// A lock's safety is arithmetic over elapsed time. Wall clocks jump, so nothing here subtracts one wall time from
// another: [System] hands out times that carry Go's monotonic reading. What one clock cannot know about another, how
// much faster it runs, is the [Drift] budget. The rest of the project takes its time from a [Clock] and never from
// package time, so that a test can stand a client still while the world goes on.
package clock

import (
	"context"
	"time"
)

// A Clock tells the time and wakes its user later. Its times must never run backward.
type Clock interface {
	// Now returns the present. Only differences between two readings of one Clock mean anything.
	Now() time.Time
	// AfterFunc runs f in a goroutine of its own once d has passed. A d of zero or less runs it at once.
	AfterFunc(d time.Duration, f func()) Timer
}

// A Timer is a pending call of [Clock.AfterFunc].
type Timer interface {
	// Stop prevents the call, and reports whether it did: false means that the call has begun, or was stopped before.
	Stop() bool
	// Reset moves the call to d from now, and reports whether it was still pending.
	Reset(d time.Duration) bool
}

// System is the machine's own monotonic clock.
var System Clock = system{}

type system struct{}

func (system) Now() time.Time { return time.Now() }

func (system) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }

// Sleep waits until d has passed on c, and returns nil; or until ctx ends, and returns its error.
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
