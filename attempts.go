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
	"github.com/redlock-go/redlock/quorum"
)

// attempts is one call of Lock or TryLock, of any kind of lock.
type attempts struct {
	locker *Locker
	cfg    *config
	target kind.Target
	try    bool
	began  time.Time
	waiter *waitqueue.Waiter

	count       int // of the attempts so far
	failures    *quorum.PermanentFailures
	contention  waitqueue.Contention
	firstDenied bool  // the first master denied the last attempt, and no other was asked
	last        error // why the last attempt failed; nil: there was none
	rejoin      bool  // the attempt of a caller that waited alone was denied, and it must join the shared queue

	mayIntend bool            // the caller is an exclusive waiter that can leave an intent
	intent    string          // the token of the intent, the same in every probe; "" before the first probe
	residue   *quorum.Residue // where the intent may have been left; nil: nowhere
}

func (l *Locker) newAttempts(cfg *config, t kind.Target, try bool) *attempts {
	return &attempts{
		locker: l, cfg: cfg, target: t, try: try, began: l.cfg.clock.Now(), failures: l.quorum.NewPermanentFailures(),
		contention: waitqueue.Contention{
			RetryMin: cfg.retryMin, RetryMax: cfg.retryMax, Majority: l.quorum.Majority(),
		},
		mayIntend: !try && t.Kind.Intents != kind.IntentNever && !l.noSiblingKeys(t.Names[0]),
	}
}

// acquire waits for the lock. A caller of a reentrant lock asks the masters once before it joins the queue that all
// owners share, because its owner may hold the lock already.
func (a *attempts) acquire(ctx context.Context) (lock *Lock, err error) {
	defer func() { a.withdraw(lock) }() // deferred, as all cleanup below, because a callback may panic
	lock, err = a.waitInQueue(ctx, !a.target.Kind.Exclusive())
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
		Try: a.try, Alone: alone, Reader: k.KeptOut,
		Policy: a.cfg.queuePolicy(k),
	}
}

// run waits for the caller's turn, and then asks the masters until they grant the lock or waiting cannot help.
func (a *attempts) run(ctx context.Context) (*Lock, error) {
	turn, lock, err := a.awaitTurn(ctx)
	switch {
	case lock != nil || err != nil:
		return lock, err
	case turn.Action == waitqueue.Fail:
		return nil, turn.Err
	case turn.Action == waitqueue.Inherit:
		return a.inherit(ctx, turn.Lock.(queuedLock).Lock)
	}
	plan := waitqueue.Plan{First: turn.Delay > 0} // other processes may be asking for the lock
	for err = a.sleep(ctx, turn.Delay, nil, nil); err == nil; err = a.pause(ctx, plan.Delay) {
		lock, err = a.ask(ctx, plan.First)
		switch {
		case lock != nil, a.final(ctx, err), a.try:
			return lock, err
		case a.waiter.Alone && a.target.Kind.Nested():
			a.rejoin = true
			return nil, err
		}
		a.waiter.Failed(err, errors.Is(err, ErrHeld))
		plan = a.nextPlan(ctx)
	}
	return nil, err
}

// awaitTurn waits for the caller's turn. A nudge makes it ask the masters without the turn, which may acquire the lock.
func (a *attempts) awaitTurn(ctx context.Context) (waitqueue.Wakeup, *Lock, error) {
	for {
		select {
		case turn := <-a.waiter.Wakeups():
			return turn, nil, nil
		case <-a.waiter.Nudges():
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

// ask asks the masters once, with a new token. If they grant, it returns the Lock. With first, it asks one master
// before the others.
func (a *attempts) ask(ctx context.Context, first bool) (*Lock, error) {
	if a.locker.isEnding() {
		return nil, ErrClosed
	}
	claim, asked := a.claim(kind.NewToken(a.owner())), a.cfg.clock.Now()
	lease, err := a.attempt(ctx, claim, first)
	switch {
	case err == nil:
		lock := newLock(ctx, a.locker, claim, a.cfg, lease)
		a.waiter.Granted(&lock.hold, asked, a.cfg.clock.Now())
		return a.start(lock)
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
	return ctx.Err() != nil || errors.Is(err, ErrClosed) || errors.As(err, &permanent)
}

// attempt asks the masters once. All contenders that ask one master first ask the same one, so that they do not split
// the vote.
func (a *attempts) attempt(ctx context.Context, c *kind.Claim, first bool) (*quorum.Lease, error) {
	firstNode := quorum.NoFirst
	if first {
		firstNode = a.locker.quorum.FirstNode(hash(a.target.Names[0]))
	}
	a.count++
	lease, err := a.locker.quorum.Acquire(ctx, c.Ops(), c.Terms, firstNode, a.failures)
	if err != nil {
		var denied *quorum.DeniedError
		a.firstDenied = errors.As(err, &denied) && denied.Alone
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

// inherit returns a Lock with the lease of from, which was handed over.
func (a *attempts) inherit(ctx context.Context, from *Lock) (*Lock, error) {
	lock := newLock(ctx, a.locker, from.claim, a.cfg, from.lease)
	a.waiter.Inherited(&lock.hold)
	started, err := a.start(lock)
	from.handedOver(started)
	return started, err
}

// start begins to extend a lock that was acquired. From then on the lock may end at any moment, and its queue must have
// recorded the acquisition before the end. So Granted or Inherited comes first.
func (a *attempts) start(lock *Lock) (*Lock, error) {
	if !lock.schedule() {
		lock.transition(change{event: eventClose, cause: ErrClosed})
		return nil, ErrClosed
	}
	if t := a.cfg.trace; t != nil && t.Acquired != nil {
		a.traceAcquired(t, lock)
	}
	return lock, nil
}

// traceAcquired calls the Acquired hook. If the hook panics, the caller gets no Lock, so traceAcquired releases it.
func (a *attempts) traceAcquired(t *Trace, lock *Lock) {
	returned := false
	defer func() {
		if !returned {
			lock.abandon()
		}
	}()
	t.Acquired(lock.name, a.cfg.clock.Now().Sub(a.began), a.count)
	returned = true
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
		Target: t, Token: token, Intent: intent, Terms: cfg.terms(),
		Hint: l.cfg.clock.Now().UnixMicro(), Scripts: l.cfg.scripts,
	}
}
