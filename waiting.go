package redlock

import (
	"context"
	"errors"
	"time"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// pause waits until another attempt can succeed: a release is published, the holder's TTL ends, or the back-off is over.
func (a *attempts) pause(ctx context.Context) error {
	l := a.locker
	plan := a.nextAttempt(ctx)
	if a.residue != nil && a.residue.Left() {
		plan.Delay = min(plan.Delay, intentGap)
	}
	a.scout = plan.First
	if t := a.cfg.trace; t != nil && t.Waiting != nil {
		t.Waiting(a.target.Title(), plan.Delay, a.last)
	}
	var released <-chan struct{} // never receives unless the line is subscribed
	if a.line.releases != nil {
		var stop func()
		released, stop = a.line.releases.Wait()
		defer stop()
	}
	up := make(chan struct{})
	timer := a.cfg.clock.AfterFunc(plan.Delay, func() { close(up) })
	defer timer.Stop()
	select {
	case <-released:
	case <-a.nudge:
	case <-up:
	case <-ctx.Done():
		return a.gaveUp(ctx)
	case <-l.ending:
		return ErrClosed
	}
	return nil
}

// nextAttempt returns the plan after an attempt that failed with a.last. If the attempt was denied, nextAttempt asks
// the masters which locks they hold.
func (a *attempts) nextAttempt(ctx context.Context) waitqueue.Plan {
	result := waitqueue.Result{Attempts: a.count, FirstDenied: a.scoutDenied}
	if !errors.Is(a.last, ErrHeld) {
		return a.contention.Next(result)
	}
	a.locker.lines.listen(a.line)
	need := a.locker.quorum.Majority()
	view, err := a.look(ctx, true)
	if err == nil && view.Free < need && view.Most() < need {
		view, err = a.look(ctx, false) // nothing has a majority of those that answered first
	}
	if err != nil {
		return a.contention.Next(result)
	}
	result.Denied, result.Masters = true, waitqueue.Masters{
		Free: view.Free, Largest: view.Most(), Failed: view.Failed, Pending: view.Pending, TTLs: view.TTLs,
	}
	plan := a.contention.Next(result)
	if plan.Held {
		a.noteHolder(view, plan.Expiry)
	}
	return plan
}

// noteHolder records which lock the call waits for. It nudges the waiters of a reentrant lock whose owner holds it.
func (a *attempts) noteHolder(view kind.ProbeResult, expiry time.Duration) {
	if a.target.Kind.Nested() {
		a.locker.lines.nudgeOwners(a.target, view.Owners())
	}
	held := &HeldError{Name: a.target.Names[view.Longest.Name], Kind: view.Longest.Kind}
	if expiry < waitqueue.Unlimited {
		held.Retry = expiry
	}
	a.last = held
}

// intentGap is the longest time between two looks of a waiter that left its intent.
const intentGap = time.Second

// intentLife is the TTL of the intent: until the waiter looks again, plus a margin for slow masters. It bounds how long
// a waiter that died keeps readers out.
func (a *attempts) intentLife() time.Duration {
	return min(a.cfg.retryMax, intentGap) + 3*a.cfg.timeout()
}
