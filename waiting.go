package redlock

import (
	"context"
	"errors"
	"time"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/waitqueue"
	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

// pause waits for delay before another attempt. It ends early if the waiter is nudged, or if the last attempt was
// denied and a release is published. After any other failure a release does not help. Callers whose attempts
// fail publish the releases of what they were granted, and would wake each other without end.
func (a *attempts) pause(ctx context.Context, delay time.Duration) error {
	if t := a.cfg.trace; t != nil && t.Waiting != nil {
		t.Waiting(ctx, WaitingEvent{
			ID: a.id, Kind: a.target.Kind.Name, Name: a.target.Title(), Attempts: a.count, Delay: delay, Err: a.last,
		})
	}
	var releases <-chan struct{}
	if l := a.listener(); l != nil && errors.Is(a.last, ErrHeld) {
		var stop func()
		releases, stop = l.Wait()
		defer stop()
	}
	if a.target.Kind.Slotted() {
		a.waiter.Pause()
	}
	return a.sleep(ctx, delay, releases, a.waiter.Nudges())
}

// listener returns the Listener that the queue's waiters share; nil before the first of them was denied.
func (a *attempts) listener() *quorum.Listener {
	l, _ := a.waiter.Subscription().(*quorum.Listener)
	return l
}

// sleep returns nil after d, or earlier when releases or nudges receives. It returns an error if the call must end.
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

// nextPlan returns when and how to try again after an attempt that failed with a.last. If the attempt was denied,
// nextPlan probes the masters. A waiter that left its intent probes again before the intent expires.
func (a *attempts) nextPlan(ctx context.Context) waitqueue.Plan {
	result := waitqueue.Result{Attempts: a.count, FirstDenied: a.firstDenied}
	var found kind.ProbeResult
	if errors.Is(a.last, ErrHeld) {
		a.waiter.Listen()
		found, result.Denied = a.probeForHolder(ctx)
		result.Masters = waitqueue.Masters{
			Free: found.Free, Largest: found.MostMasters(), Failed: found.Failed, Pending: found.Pending, TTLs: found.TTLs,
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

// probeForHolder asks the masters which lock each of them holds. Usually the first majority of the answers shows
// whether the lock is free or held. Otherwise probeForHolder waits for all masters. ok is false if too few masters
// answered.
func (a *attempts) probeForHolder(ctx context.Context) (found kind.ProbeResult, ok bool) {
	need := a.locker.quorum.Majority()
	found, err := a.probe(ctx, true)
	if err == nil && found.Free < need && found.MostMasters() < need {
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
	held := &HeldError{
		Name: a.target.Names[found.Longest.Name], Kind: found.Longest.Kind, Holder: kind.HolderOf(found.Longest.Token),
	}
	if expiry < waitqueue.Unlimited {
		held.Retry = expiry
	}
	a.last = held
}

// probeInterval is the longest time between two probes of a waiter that left its intent.
const probeInterval = time.Second

// intentLife returns the TTL of the intent: the time until the waiter probes again, plus a margin for slow masters. It
// bounds how long a waiter that died keeps readers out.
func (a *attempts) intentLife() time.Duration {
	return min(a.cfg.retryMax, probeInterval) + 3*a.cfg.timeout()
}

// probe asks the masters which lock blocks the call. With early, it returns as soon as a majority grants or a majority
// denies. The first probe of an exclusive waiter creates its intent. If masters refuse the intent, because the user has
// no right to its key, the waiter probes without an intent from then on.
func (a *attempts) probe(ctx context.Context, early bool) (kind.ProbeResult, error) {
	if a.canIntend && a.intent == "" {
		a.intent = kind.NewToken(a.cfg.owner)
		a.residue = a.locker.quorum.NewResidue(a.target.Kind.LeftIntent)
	}
	op := mark(a.claim(kind.NewToken(a.owner())).Probe(a.intentLife()), a.origin)
	answers, err := a.locker.quorum.Probe(ctx, op, a.cfg.timeout(), early, a.residue, a.listener())
	if err != nil && a.intent != "" && !a.target.Kind.NeedsSiblingKeys() && refusals(answers) > 0 {
		a.withdraw(nil)
		a.canIntend = false
		return a.probe(ctx, early)
	}
	if a.target.Kind.Slotted() {
		a.noteSlots(answers)
	}
	return kind.NewProbeResult(answers), err
}

// refusals counts the masters that refused an operation for a reason that only an operator can fix.
func refusals(answers []quorum.Answer) (n int) {
	for _, an := range answers {
		if node.Permanent(an.Vote.Err) {
			n++
		}
	}
	return n
}

// withdraw removes the waiter's intent from the masters on which its probes may have left it. lock is the lock that the
// waiter acquired; nil if it gave up. In that case withdraw also wakes the readers that the intent kept out.
func (a *attempts) withdraw(lock *Lock) {
	if a.residue == nil {
		return
	}
	var lease *quorum.Lease
	if lock != nil && a.target.Kind.AcquireRemovesIntent() {
		lease = lock.lease // its acquisition removes the intent
	}
	op := mark(a.claim("").Withdraw(lock == nil), a.origin)
	a.locker.quorum.Withdraw(op, a.cfg.timeout(), a.intentLife(), a.residue, lease)
	a.intent, a.residue = "", nil
}
