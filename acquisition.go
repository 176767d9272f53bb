package redlock

import (
	"context"
	"errors"
	"time"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/quorum"
)

// acquisition counts and traces one call that acquires a lock.
type acquisition struct {
	locker *Locker
	cfg    *config
	target kind.Target
	call   string // the value of AcquireStartEvent.Call
	ctx    context.Context
	id     uint64
	began  time.Time
	ended  bool
	lock   *Lock // the lock that was acquired; nil: none
}

// The values of AcquireStartEvent.Call.
const (
	callLock    = "lock"
	callTryLock = "trylock"
)

// start counts and traces the start of the acquisition.
func (q *acquisition) start() {
	q.id, q.began = q.locker.activity.start(q.target.Kind), q.cfg.clock.Now()
	if t := q.cfg.trace; t != nil && t.AcquireStart != nil {
		t.AcquireStart(q.ctx, AcquireStartEvent{ID: q.id, Kind: q.target.Kind.Name, Name: q.target.Title(), Call: q.call})
	}
}

// newLock makes the Lock of a lease that was acquired.
func (q *acquisition) newLock(c *kind.Claim, lease *quorum.Lease) *Lock {
	q.lock = &Lock{
		locker: q.locker, id: q.id, claim: c, cfg: q.cfg, lease: lease,
		base: withoutCancel(q.ctx),
	}
	return q.lock
}

// withoutCancel is context.WithoutCancel, which allocates, for a context that may be canceled. Another one is returned
// as it is.
func withoutCancel(ctx context.Context) context.Context {
	if ctx.Done() == nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// acquired ends the acquisition with a lock. Nothing else may use the lock yet.
func (q *acquisition) acquired(lock *Lock, attempts int) {
	now := q.cfg.clock.Now()
	lock.heldSince = max(1, now.Sub(q.locker.opened))
	q.end(OutcomeAcquired, now, AcquireEndEvent{Attempts: attempts, Fence: lock.Fence()})
}

// failed ends the acquisition without a lock. If a hook panicked, err is nil, and the lock may have been acquired. Then
// failed releases it, since the caller never gets it.
func (q *acquisition) failed(err error, attempts int) {
	if q.lock != nil {
		defer q.lock.abandon()
	}
	if !q.ended {
		q.end(q.outcomeOf(err), q.cfg.clock.Now(), AcquireEndEvent{Attempts: attempts, Err: err})
	}
}

func (q *acquisition) end(o Outcome, now time.Time, e AcquireEndEvent) {
	q.ended = true
	took := now.Sub(q.began)
	q.locker.activity.end(q.target.Kind, o, took)
	if t := q.cfg.trace; t != nil && t.AcquireEnd != nil {
		e.ID, e.Kind, e.Name, e.Call = q.id, q.target.Kind.Name, q.target.Title(), q.call
		e.Outcome, e.Took = o, took
		t.AcquireEnd(q.ctx, e)
	}
}

// outcomeOf returns the outcome of an acquisition that ended with err. The end of the caller's context takes precedence
// over what the call was waiting for: the error of a call that timed out matches ErrHeld as well.
func (q *acquisition) outcomeOf(err error) Outcome {
	over := q.ctx.Err()
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
