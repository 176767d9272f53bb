package redlock

import (
	"context"
	"errors"
	"time"
)

// endWithoutLock ends a call whose caller gets no lock. If err is nil, a hook panicked.
func (c *call) endWithoutLock(err error) {
	if !c.reported {
		c.report(c.outcomeOf(err), c.cfg.clock.Now(), AcquireEndEvent{Err: err})
	}
}

// event returns what the call's events have in common.
func (c *call) event() Event {
	return Event{ID: c.id, Kind: Kind(c.target.Kind.Name), Name: c.target.Title()}
}

// callType returns the type of the call.
func (c *call) callType() CallType {
	if c.try {
		return CallTryLock
	}
	return CallLock
}

// traceStart traces the start of the call.
func (c *call) traceStart() {
	if t := c.cfg.trace; t != nil && t.AcquireStart != nil {
		t.AcquireStart(c.ctx, AcquireStartEvent{
			Event: c.event(), Call: c.callType(),
		})
	}
}

// report counts and traces the end of the call.
func (c *call) report(o Outcome, now time.Time, e AcquireEndEvent) {
	c.reported = true
	took := now.Sub(c.began)
	c.locker.activity.end(c.target.Kind, o, took)
	if t := c.cfg.trace; t != nil && t.AcquireEnd != nil {
		e.Event, e.Call = c.event(), c.callType()
		e.Attempts, e.Outcome, e.Took = int(c.attempts), o, took
		t.AcquireEnd(c.ctx, e)
	}
}

// outcomeOf returns the outcome of a call that ended with err. The end of the caller's context takes precedence over
// what the call was waiting for: the error of a call that timed out matches ErrHeld as well.
func (c *call) outcomeOf(err error) Outcome {
	over := c.ctx.Err()
	switch {
	case errors.Is(err, ErrClosed):
		return OutcomeClosed
	case over != nil && errors.Is(err, over) && errors.Is(over, context.DeadlineExceeded):
		return OutcomeTimedOut
	case over != nil && errors.Is(err, over):
		return OutcomeCanceled
	case errors.Is(err, ErrHeld):
		return OutcomeRefused
	default:
		return OutcomeFailed
	}
}
