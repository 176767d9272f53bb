package redlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlock-go/redlock/internal/contention"
	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/waitqueue"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/quorum"
)

// call is one acquisition (see [Trace]): a Lock or a TryLock of any kind.
type call struct {
	locker *Locker
	ctx    context.Context
	cfg    *config
	target kind.Target
	try    bool
	id     uint64
	origin *wire.Origin // marks the requests for the Vote hook; nil: there is none
	began  time.Time
	ended  bool  // it is counted as ended
	lock   *Lock // the lock that was acquired; nil: none

	waiter        waitqueue.Waiter // its place in the queue
	backoff       contention.Backoff
	failures      quorum.PermanentFailures
	attempts      int   // so far
	reason        error // why it waits, as it or a caller before it in the queue found; nil: unknown
	askOneFirst   bool  // the next attempt asks one master before the others; set by await and pause
	deniedByFirst bool  // of the last attempt; see contention.Result
	slots         slotSearch
	intent        intent
}

// attemptResult is the result of an attempt.
type attemptResult struct {
	lock   *Lock               // nil: none was acquired
	err    error               // why there is no lock
	denied *quorum.DeniedError // nil: the attempt was not denied
	final  bool                // the call must return err instead of trying again
}

// startCall makes a call and counts it. The caller traces its start, so that a hook that panics ends the call.
func (l *Locker) startCall(ctx context.Context, cfg *config, t kind.Target, try bool) *call {
	c := &call{
		locker: l, ctx: ctx, cfg: cfg, target: t, try: try, id: l.activity.start(t.Kind), began: cfg.clock.Now(),
		backoff: contention.Backoff{
			RetryMin: cfg.retryMin, RetryMax: cfg.retryMax, Majority: l.quorum.Majority(),
		},
	}
	c.origin = cfg.origin(ctx, c.id, t.Kind)
	c.intent.allowed = !try && t.Kind.Intents != kind.IntentNever && !l.noSiblingKeys(t.Names[0])
	return c
}

// run does what the queue says, until the masters grant the lock, another caller hands its lease over, or waiting
// cannot help.
func (c *call) run() (lock *Lock, err error) {
	if err = c.locker.begin(); err != nil {
		return nil, err
	}
	defer c.locker.end()
	if err = c.ctx.Err(); err != nil {
		return nil, fmt.Errorf("not asked: %w", err)
	}
	c.join()
	defer func() { c.leave(lock) }() // deferred, as all cleanup, because a callback may panic
	for {
		next, err := c.await()
		if err != nil {
			return nil, err
		}
		switch next.Action {
		case waitqueue.Fail:
			return nil, next.Err
		case waitqueue.Inherit:
			return c.inherit((*Lock)(next.Lock.(*queuedLock)))
		case waitqueue.Probe:
			if err = c.pause(next.Err); err != nil {
				return nil, err
			}
		case waitqueue.Ask:
			o := c.attempt()
			if o.lock != nil || o.final || c.try {
				return o.lock, o.err
			}
			c.waiter.Failed(o.err, errors.Is(o.err, ErrHeld))
		}
	}
}

// join joins the queue of the lock.
func (c *call) join() {
	k, width := c.target.Kind, 1
	switch {
	case k.SharedByAll():
		width = waitqueue.Unbounded
	case k.Slotted():
		width = c.target.Slots
	}
	c.locker.queues.Join(&c.waiter, waitqueue.Request{
		Names: c.target.Names, Kind: k.Name, Owner: c.target.Owner,
		Holder: c.owner(), Width: width, Slotted: k.Slotted(), Try: c.try, Policy: c.cfg.queuePolicy(k),
	})
}

// await waits until the caller is to do something else than to wait, and returns that.
func (c *call) await() (next waitqueue.Instruction, err error) {
	for {
		if next = c.waiter.Next(); next.Action != waitqueue.Wait {
			return next, nil
		}
		c.askOneFirst = c.askOneFirst || next.After > 0 // after a delay that the queue ordered, others may be asking, too
		if err = c.sleep(next.After); err != nil {
			return next, err
		}
	}
}

// sleep returns nil when the waiter is woken, or after d unless d is 0. It returns an error if the call must end.
func (c *call) sleep(d time.Duration) error {
	var over chan struct{}
	if d > 0 {
		over = make(chan struct{})
		timer := c.cfg.clock.AfterFunc(d, func() { close(over) })
		defer timer.Stop()
	}
	select {
	case <-over:
	case <-c.waiter.Woken():
	case <-c.ctx.Done():
		return c.gaveUp()
	case <-c.locker.ending:
		return ErrClosed
	}
	return nil
}

// attempt asks the masters for the lock.
func (c *call) attempt() (o attemptResult) {
	if c.target.Kind.Slotted() {
		o = c.askForSlot()
	} else {
		o = c.ask(0)
	}
	c.askOneFirst, c.deniedByFirst = false, o.denied != nil && o.denied.ByFirst
	return o
}

// ask asks the masters once, with a new token, for a slot of a semaphore or for a lock of another kind. All contenders
// that ask one master first ask the same one, so that they do not split the vote.
func (c *call) ask(slot int) attemptResult {
	l := c.locker
	if l.isEnding() {
		return attemptResult{err: ErrClosed, final: true}
	}
	firstNode := quorum.NoFirst
	if c.askOneFirst {
		firstNode = l.quorum.FirstNode(c.target.Names[0])
	}
	claim, asked := c.claim(kind.NewToken(c.owner()), slot), c.cfg.clock.Now()
	c.attempts++
	lease, err := l.quorum.Acquire(c.ctx, claim.Ops(), &c.cfg.terms, firstNode, &c.failures)
	now := c.cfg.clock.Now()
	l.noteAttempt(now.Sub(asked), c.try, err)
	if err != nil {
		return c.refused(err)
	}
	lock := c.newLock(claim, lease)
	c.waiter.Granted(&lock.hold, asked, now)
	lock, err = c.deliver(lock, now)
	return attemptResult{lock: lock, err: err, final: err != nil}
}

// refused returns the result of an attempt that failed with err.
func (c *call) refused(err error) (o attemptResult) {
	if errors.As(err, &o.denied) {
		err = c.heldBy(o.denied)
	}
	over := c.ctx.Err()
	if over == nil || !errors.Is(err, over) { // the masters may have answered just before ctx ended
		c.reason = err
	}
	switch {
	case c.locker.isEnding():
		o.err, o.final = ErrClosed, true
	case over != nil:
		o.err, o.final = c.gaveUp(), true
	default:
		o.err, o.final = err, errors.As(err, new(*quorum.PermanentError))
	}
	return o
}

// heldBy returns the error of an attempt that was denied.
func (c *call) heldBy(denied *quorum.DeniedError) *HeldError {
	blocker, _ := denied.By.(kind.Blocker)
	return &HeldError{Name: c.target.Names[blocker.Name], Kind: Kind(blocker.Kind), Retry: denied.Wait}
}

// claim returns what the masters are asked for, with a token, and a slot if it is a permit.
func (c *call) claim(token string, slot int) *kind.Claim {
	return &kind.Claim{
		Target: c.target, Token: token, Slot: slot, Intent: c.intent.token, Scripts: c.locker.cfg.scripts,
		Origin: c.origin,
	}
}

// owner returns the owner part of the lock's token.
func (c *call) owner() string { return cmp.Or(c.target.Owner, c.cfg.owner) }

// pause finds out when to try again after an attempt that failed with an error, and waits.
func (c *call) pause(failure error) error {
	c.reason = cmp.Or(failure, c.reason)
	plan, err := c.nextPlan()
	if err != nil {
		return err
	}
	if t := c.cfg.trace; t != nil && t.Waiting != nil {
		t.Waiting(c.ctx, WaitingEvent{
			Event: c.event(), Attempts: c.attempts, Delay: plan.Delay, Err: c.reason,
		})
	}
	c.waiter.Pause(plan.Delay)
	_, err = c.await()
	c.askOneFirst = plan.First // replaces what await has set: the plan knows whether the first master can be relied on
	return err
}

// listener returns the Listener that the queue's waiters share; nil before the first of them was denied.
func (c *call) listener() *quorum.Listener {
	l, _ := c.waiter.Subscription().(*quorum.Listener)
	return l
}

// newLock makes the Lock of a lease that was acquired.
func (c *call) newLock(claim *kind.Claim, lease *quorum.Lease) *Lock {
	base := c.ctx
	if base.Done() != nil {
		base = context.WithoutCancel(base) // allocates
	}
	c.lock = &Lock{locker: c.locker, id: c.id, claim: claim, cfg: c.cfg, lease: lease, base: base}
	return c.lock
}

// inherit returns a Lock that takes over the lease of from.
func (c *call) inherit(from *Lock) (*Lock, error) {
	claim := from.claim
	if c.origin != nil {
		own := *claim // the old lock still uses its own
		own.Origin = c.origin
		claim = &own
		from.lease.HandOver(claim.Ops())
	}
	lock := c.newLock(claim, from.lease)
	c.waiter.Inherited(&lock.hold)
	from.transition(change{event: eventHandOver})
	started, err := c.deliver(lock, c.cfg.clock.Now())
	from.setSuccessor(started)
	if err != nil {
		return nil, err
	}
	if started.lease.Gone() { // an extension may have found that before from had a successor, and from ignored it
		started.gone()
	}
	return started, nil
}

// deliver returns an acquired lock for the caller and starts its keepalive. From then on the lock may end at any
// moment, so its queue must know of the acquisition before: call Waiter.Granted or Waiter.Inherited first.
func (c *call) deliver(lock *Lock, now time.Time) (*Lock, error) {
	if c.locker.isEnding() {
		lock.close()
		return nil, ErrClosed
	}
	lock.heldSince = max(1, now.Sub(c.locker.opened))
	c.report(OutcomeAcquired, now, AcquireEndEvent{Fence: lock.Fence()})
	lock.schedule()
	return lock, nil
}

// leave ends the call. Without a lock to return, it first leaves the queue, and then releases the lock that the caller
// does not get because a hook panicked. At last it withdraws the intent. A panic of one step does not skip the others.
func (c *call) leave(lock *Lock) {
	defer c.withdraw(lock)
	if lock != nil {
		return
	}
	if c.lock != nil {
		defer c.lock.abandon()
	}
	c.waiter.Leave()
}

// gaveUp returns the error of a caller whose context ended while it waited.
func (c *call) gaveUp() error {
	waited := c.cfg.clock.Now().Sub(c.began).Round(time.Millisecond)
	if c.reason == nil { // this caller never asked the masters, but others in its queue may have
		c.reason = c.waiter.Reason()
	}
	why := []error{fmt.Errorf("gave up after %v: %w", waited, c.ctx.Err())}
	if c.reason != nil {
		why = append(why, c.reason)
	}
	return failed("lock", c.target.Names, why...)
}
