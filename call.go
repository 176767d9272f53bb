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

// call is one acquisition (see [Trace]): a Lock or a TryLock of any kind. Its probes are in probe.go, the search for a
// slot in slots.go, its events in report.go, the outages that it notices in outage.go.
type call struct {
	locker *Locker
	ctx    context.Context
	cfg    *config
	target kind.Target
	id     uint64
	origin *wire.Origin // marks the requests for the Vote hook; nil: no Vote hook is set
	began  time.Time
	lock   *Lock // nil: no lock was acquired

	waiter      waitqueue.Waiter // the call's place in its queue
	backoff     contention.Backoff
	failures    quorum.PermanentFailures
	likelySlots []int // the free slots of a semaphore, by the latest probe
	intent      intent
	// reason is why the call waits: the error of the last attempt in its queue, or the holder that a probe found; nil:
	// unknown.
	reason error

	attempts      int32 // so far
	try           bool
	reported      bool // report was called
	deniedByFirst bool // the first master denied the last attempt, so that no other was asked
}

// attemptResult is the result of an attempt.
type attemptResult struct {
	lock   *Lock               // nil: none was acquired
	err    error               // why there is no lock
	denied *quorum.DeniedError // nil: the attempt was not denied
	final  bool                // the call must return err instead of trying again
}

// startCall makes a call and counts it. It calls no hook: the caller first defers the end of the call, because a hook
// may panic.
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

// run carries out the instructions of the queue until the call has the lock or must end without it.
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
	oneFirst := false                // the next attempt asks one master before the others
	for {
		next, timed, err := c.await()
		if err != nil {
			return nil, err
		}
		oneFirst = oneFirst || timed // timed: it has yielded, and other processes may still be asking
		switch next.Action {
		case waitqueue.Fail:
			return nil, next.Err
		case waitqueue.Inherit:
			return c.inherit((*Lock)(next.Lock.(*queuedLock)))
		case waitqueue.Probe:
			if oneFirst, err = c.probeAndPause(next.Err); err != nil {
				return nil, err
			}
		case waitqueue.Ask:
			result := c.takeTurn(oneFirst)
			oneFirst = false
			if result.lock != nil || result.final || c.try { // a TryLock that failed just leaves
				return result.lock, result.err
			}
			c.waiter.Failed(result.err, errors.Is(result.err, ErrHeld))
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

// await waits until the queue's instruction is not Wait, and returns it. timed reports whether it waited for a limited
// time: for run, that it yielded; pause ignores it.
func (c *call) await() (next waitqueue.Instruction, timed bool, err error) {
	for {
		if next = c.waiter.Next(); next.Action != waitqueue.Wait {
			return next, timed, nil
		}
		timed = timed || next.After > 0
		if err = c.sleep(next.After); err != nil {
			return next, timed, err
		}
	}
}

// sleep returns nil when the waiter is woken, or after d unless d is 0. It returns an error if the call must end.
func (c *call) sleep(d time.Duration) error {
	var elapsed chan struct{}
	if d > 0 {
		elapsed = make(chan struct{})
		timer := c.cfg.clock.AfterFunc(d, func() { close(elapsed) })
		defer timer.Stop()
	}
	select {
	case <-elapsed:
	case <-c.waiter.Woken():
	case <-c.ctx.Done():
		return c.gaveUpError()
	case <-c.locker.ending:
		return ErrClosed
	}
	return nil
}

// probeAndPause plans the next attempt after one that failed with err, and waits for it. After a denial it probes who
// holds the lock. oneFirst reports whether the next attempt asks one master first; see contention.Plan.
func (c *call) probeAndPause(err error) (oneFirst bool, _ error) {
	c.reason = cmp.Or(err, c.reason)
	plan, err := c.probeAndPlan()
	if err != nil {
		return false, err
	}
	return plan.First, c.pause(plan.Delay)
}

// pause waits for the delay, or until the queue has another instruction; run then gets that instruction.
func (c *call) pause(delay time.Duration) error {
	if t := c.cfg.trace; t != nil && t.Waiting != nil {
		t.Waiting(c.ctx, WaitingEvent{
			Event: c.event(), Attempts: int(c.attempts), Delay: delay, Err: c.reason,
		})
	}
	c.waiter.Pause(delay)
	_, _, err := c.await()
	return err
}

// takeTurn asks the masters for the lock: once, or for a semaphore once for each of a few slots. With oneFirst, one
// master is asked before the others. All contenders ask the same one, so that they do not split the vote.
func (c *call) takeTurn(oneFirst bool) (result attemptResult) {
	if c.target.Kind.Slotted() {
		result = c.searchSlot(oneFirst)
	} else {
		result = c.attempt(0, oneFirst)
	}
	c.deniedByFirst = result.denied != nil && result.denied.ByFirst
	return result
}

// attempt asks the masters once, with a new token, for a slot of a semaphore or for a lock of another kind.
func (c *call) attempt(slot int, oneFirst bool) attemptResult {
	l := c.locker
	if l.isEnding() {
		return attemptResult{err: ErrClosed, final: true}
	}
	firstNode := quorum.NoFirst
	if oneFirst {
		firstNode = l.quorum.FirstNode(c.target.Names[0])
	}
	c.attempts++
	claim := c.claim(kind.NewToken(c.owner()), slot)
	asked := c.cfg.clock.Now()
	lease, err := l.quorum.Acquire(c.ctx, claim.Ops(), &c.cfg.terms, firstNode, &c.failures)
	now := c.cfg.clock.Now()
	c.noteAttempt(now.Sub(asked), err)
	if err != nil {
		return c.attemptFailed(err)
	}
	lock := c.newLock(claim, lease)
	c.waiter.Granted(&lock.hold, asked, now)
	if l.isEnding() { // before deliver, which would report the lock as acquired
		lock.close()
		return attemptResult{err: ErrClosed, final: true}
	}
	c.deliver(lock, now)
	return attemptResult{lock: lock}
}

// attemptFailed records why an attempt failed, and returns its result.
func (c *call) attemptFailed(err error) (result attemptResult) {
	if errors.As(err, &result.denied) {
		err = c.heldBy(result.denied)
	}
	ctxErr := c.ctx.Err()
	if ctxErr == nil || !errors.Is(err, ctxErr) { // an answer of the masters, not the end of ctx
		c.reason = err
	}
	switch {
	case c.locker.isEnding():
		result.err, result.final = ErrClosed, true
	case ctxErr != nil:
		result.err, result.final = c.gaveUpError(), true
	default:
		result.err, result.final = err, errors.As(err, new(*quorum.PermanentError))
	}
	return result
}

// heldBy returns the error of an attempt that was denied.
func (c *call) heldBy(denied *quorum.DeniedError) *HeldError {
	blocker, _ := denied.By.(kind.Blocker)
	return &HeldError{Name: c.target.Names[blocker.NameIndex], Kind: Kind(blocker.Kind), Retry: denied.Wait}
}

// claim returns the claim of the call with a token. slot is 0 for every kind but a semaphore.
func (c *call) claim(token string, slot int) *kind.Claim {
	return &kind.Claim{
		Target: c.target, Token: token, Slot: slot, Intent: c.intent.token, Scripts: c.locker.cfg.scripts,
		Origin: c.origin,
	}
}

// owner returns the owner part of the lock's token.
func (c *call) owner() string { return cmp.Or(c.target.Owner, c.cfg.owner) }

// newLock makes the Lock of a lease that was acquired, and records it in c.lock for leave.
func (c *call) newLock(claim *kind.Claim, lease *quorum.Lease) *Lock {
	base := c.ctx
	if base.Done() != nil {
		base = context.WithoutCancel(base) // only then, since it allocates
	}
	c.lock = &Lock{locker: c.locker, id: c.id, claim: claim, cfg: c.cfg, lease: lease, base: base}
	return c.lock
}

// inherit returns a Lock that takes over the lease of from.
func (c *call) inherit(from *Lock) (*Lock, error) {
	if c.locker.isEnding() {
		return nil, ErrClosed // c.leave has the queue release the lease of from
	}
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
	c.deliver(lock, c.cfg.clock.Now())
	from.setSuccessor(lock)
	// Until setSuccessor was called, an extension reported a loss only to from, which was no longer held and ignored it.
	if lock.lease.Gone() {
		lock.endAsGone()
	}
	return lock, nil
}

// deliver reports an acquired lock and starts its keepalive. Waiter.Granted or Waiter.Inherited must come before it:
// once the keepalive runs, the lock may end at any moment.
func (c *call) deliver(lock *Lock, now time.Time) {
	lock.heldSince = max(1, now.Sub(c.locker.opened))
	c.report(OutcomeAcquired, now, AcquireEndEvent{Fence: lock.Fence()})
	lock.startKeepalive()
}

// leave ends the call. Without a lock to return, it first leaves the queue, and then releases a lock that was acquired
// but not delivered, as after a panic of a hook. Last, it withdraws the intent. A panic of one step does not skip the
// others.
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

// gaveUpError returns the error of a caller whose context ended while it waited.
func (c *call) gaveUpError() error {
	waited := c.cfg.clock.Now().Sub(c.began).Round(time.Millisecond)
	waited = max(time.Millisecond, waited) // "after 0s" would read as if the call had not waited
	if c.reason == nil {                   // no attempt of this call has ended, but others in its queue may have
		c.reason = c.waiter.Reason()
	}
	why := []error{fmt.Errorf("gave up after %v: %w", waited, c.ctx.Err())}
	if c.reason != nil {
		why = append(why, c.reason)
	}
	return failed("lock", c.target.Names, why...)
}
