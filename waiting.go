package redlock

import (
	"context"
	"errors"
	"time"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/waitqueue"
	"github.com/redlock-go/redlock/quorum"
)

// pause waits for delay before another attempt. It ends early if a release is published, or if the waiter is nudged.
func (a *attempts) pause(ctx context.Context, delay time.Duration) error {
	if t := a.cfg.trace; t != nil && t.Waiting != nil {
		t.Waiting(a.target.Title(), delay, a.last)
	}
	var releases <-chan struct{}
	if l := a.listener(); l != nil {
		var stop func()
		releases, stop = l.Wait()
		defer stop()
	}
	return a.sleep(ctx, delay, releases, a.waiter.Nudges())
}

// listener returns what listens to the releases of the lock; nil if no waiter of the queue was denied yet.
func (a *attempts) listener() *quorum.Listener {
	l, _ := a.waiter.Subscription().(*quorum.Listener)
	return l
}

// sleep returns nil after d, or when a channel receives. It returns an error if the call must end.
func (a *attempts) sleep(ctx context.Context, d time.Duration, releases, nudges <-chan struct{}) error {
	if d == 0 {
		return nil
	}
	over := make(chan struct{})
	timer := a.cfg.clock.AfterFunc(d, func() { close(over) })
	defer timer.Stop()
	select {
	case <-over:
	case <-releases:
	case <-nudges:
	case <-ctx.Done():
		return a.gaveUp(ctx)
	case <-a.locker.ending:
		return ErrClosed
	}
	return nil
}

// nextPlan returns the plan after an attempt that failed with a.last. If the attempt was denied, nextPlan asks the
// masters which locks they hold. A waiter that left its intent asks them again before the intent ends.
func (a *attempts) nextPlan(ctx context.Context) waitqueue.Plan {
	result := waitqueue.Result{Attempts: a.count, FirstDenied: a.firstDenied}
	var found kind.ProbeResult
	if errors.Is(a.last, ErrHeld) {
		a.waiter.Listen()
		found, result.Denied = a.probeForHolder(ctx)
		result.Masters = waitqueue.Masters{
			Free: found.Free, Largest: found.Most(), Failed: found.Failed, Pending: found.Pending, TTLs: found.TTLs,
		}
	}
	plan := a.contention.Next(result)
	if plan.Held {
		a.noteHolder(found, plan.Expiry)
	}
	if a.residue != nil && a.residue.Left() {
		plan.Delay = min(plan.Delay, probeInterval)
	}
	return plan
}

// probeForHolder asks the masters which locks they hold. It waits for all masters if the first majority shows neither
// that the lock is free nor who holds it. It reports false if too few masters answered.
func (a *attempts) probeForHolder(ctx context.Context) (kind.ProbeResult, bool) {
	need := a.locker.quorum.Majority()
	found, err := a.probe(ctx, true)
	if err == nil && found.Free < need && found.Most() < need {
		found, err = a.probe(ctx, false)
	}
	return found, err == nil
}

// noteHolder records which lock the call waits for. If the lock is reentrant, it nudges the waiters of its owner.
func (a *attempts) noteHolder(found kind.ProbeResult, expiry time.Duration) {
	if a.target.Kind.Nested() {
		for _, owner := range found.Owners() {
			a.locker.queues.Nudge(a.waiter.Key, owner)
		}
	}
	held := &HeldError{Name: a.target.Names[found.Longest.Name], Kind: found.Longest.Kind}
	if expiry < waitqueue.Unlimited {
		held.Retry = expiry
	}
	a.last = held
}
