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
	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

// attempts is one call of Lock or TryLock, of any kind of lock.
type attempts struct {
	acquisition
	try    bool
	origin *node.Origin // marks the requests for the Vote hook; nil: there is none
	waiter *waitqueue.Waiter

	count        int // number of attempts so far
	failures     quorum.PermanentFailures
	contention   waitqueue.Contention
	firstDenied  bool                // the first master denied the last attempt, and no other was asked
	last         error               // why the last attempt failed; nil: there was none
	denied       *quorum.DeniedError // the denial of the last attempt; nil: it was not denied
	doubtful     bool                // some master has another number of slots
	disagreement error               // a majority has permits with another number of slots; nil: none is known
	freeSlots    []int               // the slots of a semaphore that the last probe found free; nil: unknown
	rejoin       bool                // a caller that waited alone was denied, and must join the shared queue

	canIntend bool            // the caller is an exclusive waiter that can leave an intent
	intent    string          // the token of the intent, the same in every probe; "" before the first probe
	residue   *quorum.Residue // where the intent may have been left; nil: nowhere
}

func (l *Locker) newAttempts(ctx context.Context, cfg *config, t kind.Target, try bool) *attempts {
	call := callLock
	if try {
		call = callTryLock
	}
	return &attempts{
		acquisition: acquisition{locker: l, cfg: cfg, target: t, call: call, ctx: ctx},
		try:         try,
		contention: waitqueue.Contention{
			RetryMin: cfg.retryMin, RetryMax: cfg.retryMax, Majority: l.quorum.Majority(),
		},
		canIntend: !try && t.Kind.Intents != kind.IntentNever && !l.noSiblingKeys(t.Names[0]),
	}
}

// acquire waits for the lock. A caller of a reentrant lock makes one attempt alone, because its owner may hold the lock
// already, and then joins the queue that all owners share.
func (a *attempts) acquire(ctx context.Context) (lock *Lock, err error) {
	a.origin = a.cfg.origin(ctx, a.id, a.target.Kind)
	defer func() { a.withdraw(lock) }() // deferred, as all cleanup below, because a callback may panic
	lock, err = a.waitInQueue(ctx, a.target.Kind.Nested())
	if a.rejoin {
		lock, err = a.waitInQueue(ctx, false)
	}
	return lock, err
}

// waitInQueue joins the queue of the lock, or with alone a queue of its own. It returns when the caller has the lock or
// gives up.
func (a *attempts) waitInQueue(ctx context.Context, alone bool) (lock *Lock, err error) {
	a.waiter, err = a.locker.queues.Join(a.request(alone))
	if err != nil {
		return nil, err
	}
	defer func() {
		if lock == nil {
			a.waiter.Leave()
		}
	}()
	a.rejoin = false
	return a.run(ctx)
}

func (a *attempts) request(alone bool) waitqueue.Request {
	k := a.target.Kind
	return waitqueue.Request{
		Key: waitqueue.KeyOf(a.target.Names), Names: a.target.Names, Kind: k.Name, Owner: a.target.Owner,
		Holder: a.owner(), Width: a.width(), Try: a.try, Alone: alone,
		Policy: a.cfg.queuePolicy(k),
	}
}

// width returns how many callers of this Locker may hold the lock, each with a token of its own; 0: one.
func (a *attempts) width() int {
	if a.target.Kind.SharedByAll() {
		return waitqueue.Unbounded
	}
	return a.target.Slots
}

// run waits for the caller's turn and asks the masters, until they grant the lock or waiting cannot help. An attempt
// that fails ends the turn.
func (a *attempts) run(ctx context.Context) (*Lock, error) {
	for {
		turn, lock, err := a.awaitTurn(ctx)
		switch {
		case lock != nil || err != nil:
			return lock, err
		case turn.Action == waitqueue.Fail:
			return nil, turn.Err
		case turn.Action == waitqueue.Inherit:
			return a.inherit(turn.Lock.(queuedLock).Lock)
		}
		first, err := a.prepare(ctx, turn)
		if err != nil {
			return nil, err
		}
		if from := a.inherited(); from != nil {
			return a.inherit(from)
		}
		lock, err = a.ask(ctx, first)
		switch {
		case lock != nil, a.final(ctx, err), a.try:
			return lock, err
		case a.waiter.Alone:
			a.rejoin = true
			return nil, err
		}
		a.waiter.Failed(err, errors.Is(err, ErrHeld))
	}
}

// prepare waits until the caller, which has the turn, asks the masters. It reports whether to ask one master before the
// others.
func (a *attempts) prepare(ctx context.Context, turn waitqueue.Wakeup) (first bool, err error) {
	if turn.Action == waitqueue.Ask {
		return turn.Delay > 0, a.sleep(ctx, turn.Delay, nil, a.yieldingEnds()) // others may be asking after a delay
	}
	if turn.Err != nil {
		a.last = turn.Err
	}
	plan := a.nextPlan(ctx)
	if a.disagreement != nil {
		return false, a.disagreement
	}
	return plan.First, a.pause(ctx, plan.Delay)
}

// yieldingEnds returns the channel that receives when a waiter for a semaphore, which has the turn, need not yield any
// longer; nil for other kinds.
func (a *attempts) yieldingEnds() <-chan struct{} {
	if a.target.Kind.Slotted() {
		return a.waiter.Nudges()
	}
	return nil
}

// ownerNudges returns the channel that receives when the waiter's owner may hold the reentrant lock; nil for other
// kinds.
func (a *attempts) ownerNudges() <-chan struct{} {
	if a.target.Kind.Nested() {
		return a.waiter.Nudges()
	}
	return nil
}

// awaitTurn waits for the caller's turn. A nudge makes it ask the masters without the turn, which may acquire the lock.
func (a *attempts) awaitTurn(ctx context.Context) (waitqueue.Wakeup, *Lock, error) {
	for {
		select {
		case turn := <-a.waiter.Wakeups():
			return turn, nil, nil
		case <-a.ownerNudges():
			if lock, err := a.ask(ctx, false); lock != nil || a.final(ctx, err) {
				return waitqueue.Wakeup{}, lock, err
			}
		case <-ctx.Done():
			return waitqueue.Wakeup{}, nil, a.gaveUp(ctx)
		case <-a.locker.ending:
			return waitqueue.Wakeup{}, nil, ErrClosed
		}
	}
}

// ask asks the masters once; for a semaphore, once for each of a few slots. If they grant, it returns the Lock. With
// first, it asks one master before the others.
func (a *attempts) ask(ctx context.Context, first bool) (*Lock, error) {
	if a.target.Kind.Slotted() {
		return a.askForPermit(ctx, first)
	}
	return a.askOnce(ctx, first, 0)
}

// askOnce asks the masters once, with a new token, for a slot of a semaphore or for a lock of another kind.
func (a *attempts) askOnce(ctx context.Context, first bool, slot int) (*Lock, error) {
	if a.locker.isEnding() {
		return nil, ErrClosed
	}
	claim, asked := a.claim(kind.NewToken(a.owner())), a.cfg.clock.Now()
	claim.Slot = slot
	lease, err := a.attempt(ctx, claim, first)
	switch {
	case err == nil:
		lock := a.newLock(claim, lease)
		a.waiter.Granted(&lock.hold, asked, a.cfg.clock.Now())
		return a.deliver(lock)
	case a.locker.isEnding():
		return nil, ErrClosed
	case ctx.Err() != nil:
		if !errors.Is(err, ctx.Err()) {
			a.last = err // the masters answered just as ctx ended
		}
		return nil, a.gaveUp(ctx)
	}
	a.last = err
	return nil, err
}

// final reports whether the call must return the error of an attempt instead of trying again.
func (a *attempts) final(ctx context.Context, err error) bool {
	var permanent *quorum.PermanentError
	return ctx.Err() != nil || errors.Is(err, ErrClosed) || errors.As(err, &permanent) || a.disagreement != nil
}

// attempt asks the masters once. All contenders that ask one master first ask the same one, so that they do not split
// the vote.
func (a *attempts) attempt(ctx context.Context, c *kind.Claim, first bool) (*quorum.Lease, error) {
	firstNode := quorum.NoFirst
	if first {
		firstNode = a.locker.quorum.FirstNode(hash(a.target.Names[0]))
	}
	a.count++
	a.denied = nil
	terms := a.cfg.termsOf(c.Target.Kind)
	lease, err := a.locker.quorum.Acquire(ctx, traced(c.Ops(), a.origin), terms, firstNode, &a.failures)
	if !a.try {
		a.locker.noteAttempt(err)
	}
	if err != nil {
		a.firstDenied = errors.As(err, &a.denied) && a.denied.Alone
		return nil, heldError(a.target, err)
	}
	return lease, nil
}

// heldError turns the quorum's error into the error of an attempt: a denial into a HeldError.
func heldError(t kind.Target, err error) error {
	var denied *quorum.DeniedError
	if !errors.As(err, &denied) {
		return err
	}
	blocker, _ := denied.By.(kind.Blocker)
	return &HeldError{Name: t.Names[min(blocker.Name, len(t.Names)-1)], Kind: blocker.Kind, Retry: denied.Wait}
}

// claim returns what the masters are asked for, with a token.
func (a *attempts) claim(token string) *kind.Claim {
	return a.locker.claim(a.target, token, a.intent, a.cfg)
}

// owner returns the owner part of the lock's token.
func (a *attempts) owner() string { return cmp.Or(a.target.Owner, a.cfg.owner) }

// inherit returns a Lock that takes over the lease of from.
func (a *attempts) inherit(from *Lock) (*Lock, error) {
	lock := a.newLock(from.claim, from.lease)
	if a.origin != nil {
		lock.lease.HandOver(traced(lock.claim.Ops(), a.origin))
	}
	a.waiter.Inherited(&lock.hold)
	from.transition(change{event: eventHandOver})
	started, err := a.deliver(lock)
	from.setSuccessor(started)
	return started, err
}

// deliver returns an acquired lock for the caller and starts its keepalive. From then on the lock may end at any
// moment, so its queue must know of the acquisition before: call Waiter.Granted or Waiter.Inherited first.
func (a *attempts) deliver(lock *Lock) (*Lock, error) {
	if a.locker.isEnding() {
		lock.transition(change{event: eventClose, cause: ErrClosed})
		return nil, ErrClosed
	}
	a.acquired(lock, a.count)
	lock.schedule()
	return lock, nil
}

// gaveUp returns the error of a caller whose context ended while it waited.
func (a *attempts) gaveUp(ctx context.Context) error {
	waited := a.cfg.clock.Now().Sub(a.began).Round(time.Millisecond)
	if a.last == nil { // this caller never asked the masters, but others in its queue may have
		a.last = a.waiter.Reason()
	}
	why := []error{fmt.Errorf("gave up after %v: %w", waited, ctx.Err())}
	if a.last != nil {
		why = append(why, a.last)
	}
	return failed("lock", a.target.Names, why...)
}

// hash maps a name to the node that contenders ask first.
func hash(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return h.Sum64()
}

func (l *Locker) claim(t kind.Target, token, intent string, cfg *config) *kind.Claim {
	return &kind.Claim{
		Target: t, Token: token, Intent: intent, TTL: cfg.ttl, Fencing: cfg.fencing, Scripts: l.cfg.scripts,
	}
}
