package redlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

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

	waiter     *waitqueue.Waiter // its place in the present queue
	contention waitqueue.Contention
	failures   quorum.PermanentFailures
	attempts   int   // so far
	reason     error // why it waits; nil: it has not asked yet
	slots      slotSearch
	intent     intent
}

// outcome is the result of an attempt.
type outcome struct {
	lock   *Lock               // nil: none was acquired
	err    error               // why
	denied *quorum.DeniedError // nil: the attempt was not denied
	final  bool                // the call must return err instead of trying again
}

// firstDenied reports whether the first master denied, and no other was asked.
func (o outcome) firstDenied() bool { return o.denied != nil && o.denied.Alone }

// startCall makes a call, counts it and traces its start.
func (l *Locker) startCall(ctx context.Context, cfg *config, t kind.Target, try bool) *call {
	c := &call{
		locker: l, ctx: ctx, cfg: cfg, target: t, try: try, id: l.activity.start(t.Kind), began: cfg.clock.Now(),
		contention: waitqueue.Contention{
			RetryMin: cfg.retryMin, RetryMax: cfg.retryMax, Majority: l.quorum.Majority(),
		},
	}
	c.origin = cfg.origin(ctx, c.id, t.Kind)
	c.intent.allowed = !try && t.Kind.Intents != kind.IntentNever && !l.noSiblingKeys(t.Names[0])
	return c
}

// run waits for the caller's turn and asks the masters, until they grant the lock or waiting cannot help. An attempt
// that fails ends the turn. A caller of a reentrant lock makes one attempt in a queue of its own, because its owner may
// hold the lock already, and then joins the queue that all owners share.
func (c *call) run() (lock *Lock, err error) {
	if err = c.locker.begin(); err != nil {
		return nil, err
	}
	defer c.locker.end()
	if err = c.ctx.Err(); err != nil {
		return nil, fmt.Errorf("not asked: %w", err)
	}
	if err = c.join(c.target.Kind.Nested()); err != nil {
		return nil, err
	}
	defer func() { c.leave(lock) }() // deferred, as all cleanup, because a callback may panic
	var last outcome
	for {
		turn, nudged, err := c.awaitTurn()
		first := false
		switch {
		case err != nil:
			return nil, err
		case nudged: // it asks without the turn
		case turn.Action == waitqueue.Fail:
			return nil, turn.Err
		case turn.Action == waitqueue.Inherit:
			return c.inherit(turn.Lock.(queuedLock).Lock)
		default:
			if first, err = c.awaitAttempt(turn, last.firstDenied()); err != nil {
				return nil, err
			}
			if from := c.inherited(); from != nil {
				return c.inherit(from)
			}
		}
		if c.target.Kind.Slotted() {
			last = c.askForSlot(first)
		} else {
			last = c.ask(first, 0)
		}
		switch {
		case last.lock != nil, last.final, c.try && !nudged:
			return last.lock, last.err
		case nudged:
		case c.waiter.Alone:
			c.waiter.Leave()
			if err := c.join(false); err != nil {
				return nil, err
			}
		default:
			c.waiter.Failed(last.err, errors.Is(last.err, ErrHeld))
		}
	}
}

// join joins the queue of the lock, or with alone a queue of its own.
func (c *call) join(alone bool) error {
	k, width := c.target.Kind, c.target.Slots
	if k.SharedByAll() {
		width = waitqueue.Unbounded
	}
	w, err := c.locker.queues.Join(waitqueue.Request{
		Key: waitqueue.KeyOf(c.target.Names), Names: c.target.Names, Kind: k.Name, Owner: c.target.Owner,
		Holder: c.owner(), Width: width, Try: c.try, Alone: alone, Policy: c.cfg.queuePolicy(k),
	})
	if err == nil {
		c.waiter = w
	}
	return err
}

// leave leaves the queue, unless the call has acquired a lock, and withdraws the intent.
func (c *call) leave(lock *Lock) {
	defer c.withdraw(lock)
	if lock == nil {
		c.waiter.Leave()
	}
}

// awaitTurn waits for the caller's turn. If the caller is nudged, because its owner may hold the reentrant lock, it
// asks the masters without the turn.
func (c *call) awaitTurn() (turn waitqueue.Wakeup, nudged bool, err error) {
	var nudges <-chan struct{}
	if c.target.Kind.Nested() {
		nudges = c.waiter.Nudges()
	}
	select {
	case turn = <-c.waiter.Wakeups():
	case <-nudges:
		nudged = true
	case <-c.ctx.Done():
		err = c.gaveUp()
	case <-c.locker.ending:
		err = ErrClosed
	}
	return turn, nudged, err
}

// awaitAttempt waits until the caller, which has the turn, asks the masters. It reports whether to ask one master
// before the others. firstDenied reports whether the first node denied the last attempt.
func (c *call) awaitAttempt(turn waitqueue.Wakeup, firstDenied bool) (first bool, err error) {
	if turn.Action == waitqueue.Ask {
		var yieldingEnds <-chan struct{}
		if c.target.Kind.Slotted() {
			yieldingEnds = c.waiter.Nudges()
		}
		return turn.Delay > 0, c.sleep(turn.Delay, nil, yieldingEnds) // others may be asking after a delay
	}
	if turn.Err != nil {
		c.reason = turn.Err
	}
	plan, err := c.nextPlan(firstDenied)
	if err != nil {
		return false, err
	}
	return plan.First, c.pause(plan.Delay)
}

// pause waits for delay before another attempt. It ends early if the waiter is nudged, or if the last attempt was
// denied and a release is published. After any other failure a release does not help. Callers whose attempts
// fail publish the releases of what they were granted, and would wake each other without end.
func (c *call) pause(delay time.Duration) error {
	if t := c.cfg.trace; t != nil && t.Waiting != nil {
		t.Waiting(c.ctx, WaitingEvent{
			Event: c.event(), Attempts: c.attempts, Delay: delay, Err: c.reason,
		})
	}
	var releases <-chan struct{}
	if l := c.listener(); l != nil && errors.Is(c.reason, ErrHeld) {
		var stop func()
		releases, stop = l.Wait()
		defer stop()
	}
	if c.target.Kind.Slotted() {
		c.waiter.Pause()
	}
	return c.sleep(delay, releases, c.waiter.Nudges())
}

// sleep returns nil after d, or earlier when releases or nudges receives. It returns an error if the call must end.
func (c *call) sleep(d time.Duration, releases, nudges <-chan struct{}) error {
	if d == 0 {
		return nil
	}
	over := make(chan struct{})
	timer := c.cfg.clock.AfterFunc(d, func() { close(over) })
	defer timer.Stop()
	select {
	case <-over:
	case <-releases:
	case <-nudges:
	case <-c.ctx.Done():
		return c.gaveUp()
	case <-c.locker.ending:
		return ErrClosed
	}
	return nil
}

// listener returns the Listener that the queue's waiters share; nil before the first of them was denied.
func (c *call) listener() *quorum.Listener {
	l, _ := c.waiter.Subscription().(*quorum.Listener)
	return l
}

// ask makes one attempt: it asks the masters once, with a new token, for a slot of a semaphore or for a lock of another
// kind. All contenders that ask one master first ask the same one, so that they do not split the vote.
func (c *call) ask(first bool, slot int) outcome {
	l := c.locker
	if l.isEnding() {
		return outcome{err: ErrClosed, final: true}
	}
	firstNode := quorum.NoFirst
	if first {
		firstNode = l.quorum.FirstNode(hash(c.target.Names[0]))
	}
	claim, asked := c.claim(kind.NewToken(c.owner())), c.cfg.clock.Now()
	claim.Slot = slot
	c.attempts++
	lease, err := l.quorum.Acquire(
		c.ctx, traced(claim.Ops(), c.origin), &c.cfg.terms, firstNode, &c.failures)
	if !c.try {
		l.noteAttempt(c.cfg.clock.Now().Sub(asked), err)
	}
	if err != nil {
		return c.refused(err)
	}
	lock := c.newLock(claim, lease)
	c.waiter.Granted(&lock.hold, asked, c.cfg.clock.Now())
	lock, err = c.deliver(lock)
	return outcome{lock: lock, err: err, final: err != nil}
}

// refused returns the outcome of an attempt that failed with err.
func (c *call) refused(err error) (o outcome) {
	if errors.As(err, &o.denied) {
		blocker, _ := o.denied.By.(kind.Blocker)
		name := c.target.Names[min(blocker.Name, len(c.target.Names)-1)]
		err = &HeldError{Name: name, Kind: Kind(blocker.Kind), Retry: o.denied.Wait}
	}
	over := c.ctx.Err()
	if c.locker.isEnding() {
		o.err, o.final = ErrClosed, true
		return o
	}
	if over == nil || !errors.Is(err, over) { // the masters may have answered just as ctx ended
		c.reason = err
	}
	if over != nil {
		o.err, o.final = c.gaveUp(), true
		return o
	}
	var permanent *quorum.PermanentError
	o.err, o.final = err, errors.As(err, &permanent)
	return o
}

// claim returns what the masters are asked for, with a token.
func (c *call) claim(token string) *kind.Claim {
	return &kind.Claim{
		Target: c.target, Token: token, Intent: c.intent.token, Scripts: c.locker.cfg.scripts,
	}
}

// owner returns the owner part of the lock's token.
func (c *call) owner() string { return cmp.Or(c.target.Owner, c.cfg.owner) }

// hash maps a name to the node that contenders ask first.
func hash(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return h.Sum64()
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
	lock := c.newLock(from.claim, from.lease)
	if c.origin != nil {
		lock.lease.HandOver(traced(lock.claim.Ops(), c.origin))
	}
	c.waiter.Inherited(&lock.hold)
	from.transition(change{event: eventHandOver})
	started, err := c.deliver(lock)
	from.setSuccessor(started)
	return started, err
}

// deliver returns an acquired lock for the caller and starts its keepalive. From then on the lock may end at any
// moment, so its queue must know of the acquisition before: call Waiter.Granted or Waiter.Inherited first.
func (c *call) deliver(lock *Lock) (*Lock, error) {
	if c.locker.isEnding() {
		lock.transition(change{event: eventClose, cause: ErrClosed})
		return nil, ErrClosed
	}
	now := c.cfg.clock.Now()
	lock.heldSince = max(1, now.Sub(c.locker.opened))
	c.end(OutcomeAcquired, now, AcquireEndEvent{Fence: lock.Fence()})
	lock.schedule()
	return lock, nil
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

// failed ends a call whose caller gets no lock. If err is nil, a hook panicked; if the call had acquired the lock by
// then, failed releases the lock.
func (c *call) failed(err error) {
	if c.lock != nil {
		defer c.lock.abandon()
	}
	if !c.ended {
		c.end(c.outcomeOf(err), c.cfg.clock.Now(), AcquireEndEvent{Err: err})
	}
}

// event returns what the call's events have in common.
func (c *call) event() Event {
	return Event{ID: c.id, Kind: Kind(c.target.Kind.Name), Name: c.target.Title()}
}

// callType returns whether the call waits.
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

// end counts and traces the end of the call.
func (c *call) end(o Outcome, now time.Time, e AcquireEndEvent) {
	c.ended = true
	took := now.Sub(c.began)
	c.locker.activity.end(c.target.Kind, o, took)
	if t := c.cfg.trace; t != nil && t.AcquireEnd != nil {
		e.Event, e.Call = c.event(), c.callType()
		e.Attempts, e.Outcome, e.Took = c.attempts, o, took
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
