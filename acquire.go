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

// Lock acquires the lock on name, and waits for it until ctx ends. Callers of one Locker get it in the order in which
// they called. A name has 1 to 4,096 bytes of any value.
//
// Lock waits for masters that are down, slow, loading, out of memory, replicas, or within their restart window. It
// returns before ctx ends only if waiting cannot help: on an invalid argument, on [ErrClosed], and if too many masters
// have faults that only an operator can fix. Such faults are a wrong password, a missing right, INFO refused, a
// certificate that does not verify, a server that is not Redis, fencing tokens that are used up, one server under two
// addresses, and a Cluster that keeps the names of a LockAll in different slots. When ctx ends, the error matches
// ctx.Err() and also what Lock was waiting for: [ErrHeld] or [ErrNoQuorum].
//
// On an error nothing is held, and anything that was set is being released on every master.
func (l *Locker) Lock(ctx context.Context, name string, opts ...LockOption) (*Lock, error) {
	return l.lock(ctx, mutexOf(name), false, opts)
}

// TryLock acquires the lock on name if one round of requests suffices, and returns [ErrHeld] or [ErrNoQuorum]
// otherwise. Callers of one Locker take turns, and a TryLock does not overtake callers that wait in Lock. Callers in
// several processes may split the vote so that none of them wins; each then gets ErrHeld.
func (l *Locker) TryLock(ctx context.Context, name string, opts ...LockOption) (*Lock, error) {
	return l.lock(ctx, mutexOf(name), true, opts)
}

func mutexOf(name string) kind.Target { return kind.Target{Kind: kind.Mutex, Names: []string{name}} }

func (l *Locker) lock(ctx context.Context, t kind.Target, try bool, opts []LockOption) (*Lock, error) {
	lock, err := l.acquire(ctx, t, try, opts)
	if _, held := err.(*HeldError); held || err == nil { //nolint:errorlint // its text has the operation and the name
		return lock, err
	}
	return nil, failed("lock", t.Names, err)
}

func (l *Locker) acquire(ctx context.Context, t kind.Target, try bool, opts []LockOption) (lock *Lock, err error) {
	cfg, err := l.settings(t, opts)
	if err != nil {
		return nil, err
	}
	if cfg.fencing {
		if err := kind.CheckHint(cfg.clock.Now()); err != nil {
			return nil, err
		}
	}
	if err := l.begin(); err != nil {
		return nil, err
	}
	defer l.end()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("not asked: %w", err)
	}

	a := &attempts{locker: l, cfg: cfg, target: t, faults: l.quorum.NewPermanentFailures(), began: l.cfg.clock.Now()}
	a.contention = waitqueue.Contention{RetryMin: cfg.retryMin, RetryMax: cfg.retryMax, Majority: l.quorum.Majority()}
	a.mayIntend = !try && t.Kind.Intents != kind.IntentNever && !l.noSiblingKeys(t.Names[0])
	defer func() { a.withdraw(lock) }() // deferred, as everything below, because a callback may panic
	w := &waiter{turn: make(chan turn, 1), target: t, cfg: cfg, try: try, alone: !t.Kind.Exclusive()}
	w.once = t.Kind.Nested() && !try
	lock, err = a.waitInLine(ctx, w)
	if a.denied {
		nudged := &waiter{turn: make(chan turn, 1), nudge: make(chan struct{}, 1), target: t, cfg: cfg}
		lock, err = a.waitInLine(ctx, nudged)
	}
	return lock, err
}

// waitInLine adds a waiter to its line and returns when it has the lock or gives up.
func (a *attempts) waitInLine(ctx context.Context, w *waiter) (lock *Lock, err error) {
	ln, err := a.locker.lines.join(w)
	if err != nil {
		return nil, err
	}
	a.line, a.nudge, a.denied = ln, w.nudge, false
	defer func() {
		if lock == nil {
			a.locker.lines.leave(ln, w)
		}
	}()
	return a.run(ctx, w)
}

// settings checks the arguments of a call, before anything is sent, and returns its configuration.
func (l *Locker) settings(t kind.Target, opts []LockOption) (*config, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	cfg, err := l.cfg.with(opts)
	if err != nil {
		return nil, err
	}
	return cfg, l.checkSlots(t, cfg)
}

// checkSlots returns an error if a Cluster among the masters keeps the target's keys in several slots.
func (l *Locker) checkSlots(t kind.Target, cfg *config) error {
	if l.cluster == "" {
		return nil
	}
	return t.CheckSlots(l.cluster, cfg.fencing)
}

// noSiblingKeys reports whether a Cluster among the masters can keep no key beside the name. Then the name has no fence,
// and no holder but a mutex without a fencing token.
func (l *Locker) noSiblingKeys(name string) bool {
	return l.cluster != "" && kind.CheckSlots(l.cluster, []string{name}) != nil
}

// attempts is one call of Lock or TryLock, of any kind.
type attempts struct {
	locker *Locker
	cfg    *config
	target kind.Target
	line   *line
	faults *quorum.PermanentFailures
	began  time.Time
	count  int
	scout  bool  // the next attempt asks one master first
	last   error // why the last attempt failed; nil: there was none

	contention  waitqueue.Contention
	scoutDenied bool // the scout denied the last attempt, and no other master was asked

	mayIntend bool            // this is an exclusive waiter that can leave an intent
	intent    string          // the token of the intent, the same in every look; "" before the first look
	residue   *quorum.Residue // where the intent may have been left; nil: nowhere

	nudge  chan struct{} // waiter.nudge
	denied bool          // the waiter asks once, and was denied
}

func (a *attempts) run(ctx context.Context, w *waiter) (*Lock, error) {
	t, lock, err := a.await(ctx, w)
	switch {
	case lock != nil || err != nil:
		return lock, err
	case t.err != nil:
		return nil, t.err
	case t.from != nil:
		lock, err := a.take(ctx, w, t.from.lease, t.from.claim, t.from.tenure.next())
		t.from.handedOver(lock)
		return lock, err
	}
	if err := a.letOthers(ctx, t.after); err != nil {
		return nil, err
	}
	a.scout = t.after > 0 // other processes may be asking for the name
	for going := t.tenure; ; going = (tenure{}) {
		lock, err := a.ask(ctx, w, going)
		switch {
		case lock != nil, a.over(ctx, err), w.try:
			return lock, err
		case w.once:
			a.last, a.denied = err, true
			return nil, err
		}
		a.last = err
		a.locker.lines.refused(a.line, err)
		if err := a.pause(ctx); err != nil {
			return nil, err
		}
	}
}

// await waits for the waiter's turn. A waiter that is nudged asks the masters in the meantime, and may get the lock.
func (a *attempts) await(ctx context.Context, w *waiter) (turn, *Lock, error) {
	for {
		select {
		case t := <-w.turn:
			return t, nil, nil
		case <-w.nudge:
			lock, err := a.ask(ctx, w, tenure{})
			if lock != nil || a.over(ctx, err) {
				return turn{}, lock, err
			}
			a.last = err
		case <-ctx.Done():
			return turn{}, nil, a.gaveUp(ctx)
		case <-a.locker.ending:
			return turn{}, nil, ErrClosed
		}
	}
}

// ask asks the masters once. If they grant, it returns the Lock.
func (a *attempts) ask(ctx context.Context, w *waiter, going tenure) (*Lock, error) {
	if a.locker.isEnding() {
		return nil, ErrClosed
	}
	claim := a.claim(kind.NewToken(a.owner()))
	asked := a.cfg.clock.Now()
	lease, err := a.attempt(ctx, claim)
	switch {
	case err == nil:
		return a.take(ctx, w, lease, claim, going.granted(asked, a.cfg.clock.Now()))
	case a.locker.isEnding():
		return nil, ErrClosed
	case ctx.Err() != nil:
		if !errors.Is(err, ctx.Err()) {
			a.last = err // the masters answered just as ctx ended
		}
		return nil, a.gaveUp(ctx)
	}
	return nil, err
}

// over reports whether the call must return an attempt's error instead of trying again.
func (a *attempts) over(ctx context.Context, err error) bool {
	var stuck *quorum.PermanentError
	return ctx.Err() != nil || errors.Is(err, ErrClosed) || errors.As(err, &stuck)
}

// attempt asks the masters once, with a fresh token. All are asked at once, unless the name is known to be contended:
// then one first, the same one for everybody, so that the contenders do not split the vote.
func (a *attempts) attempt(ctx context.Context, c *kind.Claim) (*quorum.Lease, error) {
	scout := quorum.NoFirst
	if a.scout {
		scout = a.locker.quorum.FirstNode(hash(a.target.Names[0]))
	}
	a.count++
	lease, err := a.locker.quorum.Acquire(ctx, c.Ops(), a.cfg.terms(), scout, a.faults)
	if err != nil {
		var denied *quorum.DeniedError
		a.scoutDenied = errors.As(err, &denied) && denied.Alone
		return nil, refusalOf(a.target, err)
	}
	return lease, nil
}

// refusalOf makes the error of an attempt on a target out of what the quorum said.
func refusalOf(t kind.Target, err error) error {
	var denied *quorum.DeniedError
	if !errors.As(err, &denied) {
		return err
	}
	blocker, _ := denied.By.(kind.Blocker)
	return &HeldError{Name: t.Names[min(blocker.Name, len(t.Names)-1)], Kind: blocker.Kind, Retry: denied.Wait}
}

// claim is what the masters are asked with a token.
func (a *attempts) claim(token string) *kind.Claim {
	return a.locker.claim(a.target, token, a.intent, a.cfg)
}

func (l *Locker) claim(t kind.Target, token, intent string, cfg *config) *kind.Claim {
	return &kind.Claim{
		Target: t, Token: token, Intent: intent, TTL: cfg.ttl, Fencing: cfg.fencing,
		Hint: l.cfg.clock.Now().UnixMicro(), Scripts: l.cfg.scripts,
	}
}

// owner is whose the lock is to be.
func (a *attempts) owner() string { return cmp.Or(a.target.Owner, a.cfg.owner) }

// take makes a Lock of a lease, and schedules its extensions.
func (a *attempts) take(ctx context.Context, w *waiter, lease *quorum.Lease, c *kind.Claim, t tenure) (*Lock, error) {
	lock := newLock(ctx, a.locker, c, a.line, a.cfg, lease)
	lock.tenure = t
	// First the line: a lock that is scheduled may end at any moment, and its end must find the line held.
	a.locker.lines.won(a.line, w, lock)
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

// gaveUp makes the error of a caller whose context ended while it waited.
func (a *attempts) gaveUp(ctx context.Context) error {
	waited := a.cfg.clock.Now().Sub(a.began).Round(time.Millisecond)
	if a.last == nil { // this caller never asked the masters, but others in its line may have
		a.last = a.locker.lines.reasonOf(a.line)
	}
	why := []error{fmt.Errorf("gave up after %v: %w", waited, ctx.Err())}
	if a.last != nil {
		why = append(why, a.last)
	}
	return failed("lock", a.target.Names, why...)
}

func (l *Locker) isEnding() bool {
	select {
	case <-l.ending:
		return true
	default:
		return false
	}
}

// terms are a lease's durations.
func (c *config) terms() quorum.Terms {
	return quorum.Terms{TTL: c.ttl, Drift: c.driftOf(), Timeout: c.timeout(), Window: c.window(), MaxHold: c.maxHold, Fencing: c.fencing}
}

func hash(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return h.Sum64()
}
