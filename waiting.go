package redlock

import (
	"context"
	"errors"
	mathrand "math/rand/v2"
	"time"
)

// pause waits until another attempt is worth it: a release was announced, the holder's TTL ends, or the backoff is over.
func (a *attempts) pause(ctx context.Context) error {
	l := a.locker
	delay := a.backoff()
	if errors.Is(a.last, ErrHeld) {
		l.lines.listen(a.line)
		delay = min(delay, a.freeIn(ctx))
	} else {
		a.scout = false // it might deny, and that is not what is in the way
	}
	if a.residue != nil && a.residue.Left() {
		delay = min(delay, intentGap)
	}
	if t := a.cfg.trace; t != nil && t.Waiting != nil {
		t.Waiting(a.target.title(), delay, a.last)
	}
	up := make(chan struct{})
	timer := a.cfg.clock.AfterFunc(delay, func() { close(up) })
	defer timer.Stop()
	select {
	case <-a.line.wake: // never receives unless the line is subscribed
	case <-a.nudge:
	case <-up:
	case <-ctx.Done():
		return a.gaveUp(ctx)
	case <-l.ending:
		return ErrClosed
	}
	return nil
}

// backoff is how long to wait at most: full jitter below a bound that doubles with each attempt. The source is
// "Exponential Backoff And Jitter" of the AWS Architecture Blog.
func (a *attempts) backoff() time.Duration {
	bound := a.cfg.retryMin << min(a.count, 30)
	if bound > a.cfg.retryMax || bound <= 0 {
		bound = a.cfg.retryMax
	}
	return max(a.cfg.retryMin, time.Duration(mathrand.Int64N(int64(bound)+1)))
}

// spread is how far apart those who wait for one moment go for it, so that they do not split the vote.
const spread = 10 * time.Millisecond

// freeIn asks the masters when enough of them will be free to make a majority if nobody releases or extends, and
// decides whether the next attempt asks a scout first.
//
// In two cases there is no holder whose end to wait for:
//
//   - Only the scout denied. Another contender is just coming through; or, if the scout denies again, what it has is
//     stale, and the next attempt asks all at once.
//   - No lock has a majority. Contenders split the vote, and give back what they got without a message: all try again
//     soon, and apart. It may have other reasons (masters restarted a moment ago, or are out of memory), so each time in
//     a row the wait is twice as long.
func (a *attempts) freeIn(ctx context.Context) time.Duration {
	a.scout = true
	need := a.locker.quorum.Majority()
	view, err := a.look(ctx, true)
	if err == nil && view.free < need && view.most() < need {
		view, err = a.look(ctx, false) // nothing has a majority of those that answered first
	}
	if err != nil {
		a.scout = false
		return unbounded
	}
	apart := mathrand.N(min(spread, a.cfg.retryMin))
	switch {
	case view.free >= need && a.scoutDenied:
		a.scoutDenials++
		a.scout = a.scoutDenials%2 == 1 // once may be a contender who is coming through
		return apart
	case view.free >= need, view.most()+view.silent+view.unread < need:
		a.splits++
		return apart << min(a.splits, 30)
	}
	a.splits, a.scoutDenials = 0, 0
	if a.target.kind == kindReentrant {
		a.locker.lines.nudgeOwners(a.target, view.locks)
	}
	soonest := nth(view.lefts, max(1, need-view.free-view.unread)) // the unread may be free by then
	held := &HeldError{Name: a.target.names[view.longest.name], Kind: view.longest.kind}
	if soonest < unbounded {
		held.Retry = soonest
	}
	a.last = held
	return max(soonest, apart)
}

// intentGap is the longest time between two looks of a waiter that left its intent.
const intentGap = time.Second

// intentLife is the TTL of the intent: until the waiter looks again, plus a margin for slow masters. It bounds how long
// a waiter that died keeps readers out.
func (a *attempts) intentLife() time.Duration {
	return min(a.cfg.retryMax, intentGap) + 3*a.cfg.timeout()
}
