package redlock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/histogram"
	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

// activity counts the acquisitions and holds of a Locker, by kind. One mutex guards all counters, so that a snapshot
// adds up. It is held for a few assignments.
type activity struct {
	mu     sync.Mutex
	lastID uint64
	kinds  []kindActivity // in the order of kind.All
}

// kindActivity counts the acquisitions and holds of one kind.
type kindActivity struct {
	counts       LockStats // without the histograms
	waits, holds histogram.Histogram
}

func newActivity() activity { return activity{kinds: make([]kindActivity, len(kind.All))} }

// of returns the counters of a kind. a.mu must be held.
func (a *activity) of(k *kind.Kind) *kindActivity {
	for i := range kind.All {
		if kind.All[i].Name == k.Name {
			return &a.kinds[i]
		}
	}
	panic("redlock: the kind " + k.Name + " is not in the table of kinds")
}

// start counts an acquisition and returns its id.
func (a *activity) start(k *kind.Kind) (id uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := &a.of(k).counts
	c.Started++
	c.Waiting++
	a.lastID++
	return a.lastID
}

// end counts the end of an acquisition, and the hold that it leads to.
func (a *activity) end(k *kind.Kind, o Outcome, took time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.of(k)
	c.counts.Waiting--
	*c.counts.acquisitions(o)++
	if o == OutcomeAcquired {
		c.counts.Held++
		c.waits.Observe(took)
	}
}

// holdEnd counts the end of a hold.
func (a *activity) holdEnd(k *kind.Kind, o Outcome, held time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.of(k)
	c.counts.Held--
	*c.counts.holds(o)++
	c.holds.Observe(held)
}

// downgrade counts a hold as one of another kind.
func (a *activity) downgrade(from, to *kind.Kind) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.of(from).counts.Held--
	a.of(to).counts.Held++
}

// extension counts an extension that ended with err. One that the end of the lock overtook is not counted.
func (a *activity) extension(k *kind.Kind, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err == nil:
		a.of(k).counts.Extended++
	case !errors.Is(err, quorum.ErrEnded):
		a.of(k).counts.ExtensionFailures++
	}
}

// acquisition is one call that acquires a lock, as it is counted and traced.
type acquisition struct {
	locker *Locker
	cfg    *config
	target kind.Target
	call   string // one of those of AcquireStartEvent.Call
	ctx    context.Context
	id     uint64
	began  time.Time
	ended  bool
	lock   *Lock // that was acquired; nil: none was
}

// The values of AcquireStartEvent.Call.
const (
	callLock    = "lock"
	callTryLock = "trylock"
	callAttach  = "attach"
)

// start counts and traces the start of the acquisition.
func (q *acquisition) start() {
	q.id, q.began = q.locker.activity.start(q.target.Kind), q.cfg.clock.Now()
	if t := q.cfg.trace; t != nil && t.AcquireStart != nil {
		t.AcquireStart(q.ctx, AcquireStartEvent{ID: q.id, Kind: q.target.Kind.Name, Name: q.target.Title(), Call: q.call})
	}
}

// newLock makes the Lock of a lease that was acquired.
func (q *acquisition) newLock(c *kind.Claim, lease *quorum.Lease) *Lock {
	q.lock = &Lock{
		locker: q.locker, id: q.id, claim: c, cfg: q.cfg, lease: lease,
		base: context.WithoutCancel(q.ctx),
	}
	return q.lock
}

// acquired ends the acquisition with a lock. Nothing else may use the lock yet.
func (q *acquisition) acquired(lock *Lock, attempts int) {
	now := q.cfg.clock.Now()
	lock.heldSince = max(1, now.Sub(q.locker.opened))
	q.end(OutcomeAcquired, now, AcquireEndEvent{Attempts: attempts, Fence: lock.Fence()})
}

// failed ends the acquisition without a lock. If a hook panicked, err is nil, and the lock may have been acquired. Then
// failed releases it, since the caller never gets it.
func (q *acquisition) failed(err error, attempts int) {
	if q.lock != nil {
		defer q.lock.abandon()
	}
	if !q.ended {
		q.end(q.outcomeOf(err), q.cfg.clock.Now(), AcquireEndEvent{Attempts: attempts, Err: err})
	}
}

func (q *acquisition) end(o Outcome, now time.Time, e AcquireEndEvent) {
	q.ended = true
	took := now.Sub(q.began)
	q.locker.activity.end(q.target.Kind, o, took)
	if t := q.cfg.trace; t != nil && t.AcquireEnd != nil {
		e.ID, e.Kind, e.Name, e.Call = q.id, q.target.Kind.Name, q.target.Title(), q.call
		e.Outcome, e.Took = o, took
		t.AcquireEnd(q.ctx, e)
	}
}

// outcomeOf returns the outcome of an acquisition that ended with err. An error may match several reasons: that of a
// caller whose context ended while another holder had the lock matches the context's error and ErrHeld.
func (q *acquisition) outcomeOf(err error) Outcome {
	over := q.ctx.Err()
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

// origin returns what marks the requests of an acquisition or a hold for the Vote hook; nil if there is no such hook.
func (c *config) origin(ctx context.Context, id uint64, k *kind.Kind) *node.Origin {
	if !c.trace.votes() {
		return nil
	}
	o := &node.Origin{Context: context.WithoutCancel(ctx), ID: id}
	if k != nil {
		o.Kind = k.Name
	}
	return o
}

// origin returns what marks the requests of the hold for the Vote hook; nil if there is none.
func (l *Lock) origin() *node.Origin { return l.cfg.origin(l.base, l.id, l.kind()) }

// endHold counts and traces the end of a lock, if its caller has got it.
func (l *Lock) endHold(o Outcome) {
	if l.heldSince == 0 {
		return
	}
	k, held := l.kind(), l.heldFor()
	l.locker.activity.holdEnd(k, o, held)
	if t := l.cfg.trace; t != nil && t.HoldEnd != nil {
		e := HoldEndEvent{ID: l.id, Kind: k.Name, Name: l.Name(), Outcome: o, Held: held}
		if o == OutcomeLost || o == OutcomeClosed {
			e.Err = l.ended()
		}
		t.HoldEnd(l.base, e)
	}
}

// heldFor returns the time since the acquisition ended.
func (l *Lock) heldFor() time.Duration { return l.cfg.clock.Now().Sub(l.locker.opened) - l.heldSince }

// tracedOps are the operations of a lock, marked for the Vote hook.
type tracedOps struct {
	quorum.Ops
	origin *node.Origin
}

// traced returns ops, marked with their origin unless it is nil.
func traced(ops quorum.Ops, origin *node.Origin) quorum.Ops {
	if origin == nil {
		return ops
	}
	return tracedOps{ops, origin}
}

func (t tracedOps) Acquire() *node.Op              { return mark(t.Ops.Acquire(), t.origin) }
func (t tracedOps) Raise(fence int64) *node.Op     { return mark(t.Ops.Raise(fence), t.origin) }
func (t tracedOps) Extend(fence int64) *node.Op    { return mark(t.Ops.Extend(fence), t.origin) }
func (t tracedOps) Release(announce bool) *node.Op { return mark(t.Ops.Release(announce), t.origin) }

func (t tracedOps) Keep(rest time.Duration) *node.Op { return mark(t.Ops.Keep(rest), t.origin) }

// mark sets the origin of a new operation, and returns the operation.
func mark(op *node.Op, origin *node.Origin) *node.Op {
	op.Origin = origin
	return op
}
