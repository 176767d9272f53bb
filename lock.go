package redlock

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/keepalive"
	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/waitqueue"
	"github.com/redlock-go/redlock/quorum"
)

// Lock is a lock that was acquired. It is safe for concurrent use.
type Lock struct {
	locker *Locker
	id     uint64 // identifies the acquisition and the hold in trace events
	cfg    *config
	claim  *kind.Claim
	lease  *quorum.Lease
	base   context.Context // the context given to Lock without its cancellation and deadline
	hold   waitqueue.Hold  // the lock in its wait queue

	renewal   keepalive.Entry // for locker.schedule, which guards it
	heldSince time.Duration   // end of the acquisition, counted from locker.opened; 0: the caller has not got the lock yet

	mu         sync.Mutex
	phase      phase
	successor  *Lock         // to which the lease was handed over
	err        error         // nil while held
	endedUntil time.Duration // what Until returns after the end, counted from locker.opened; 0 while held
	rare       *rareState    // nil until something of it is needed
}

// rareState is what few holders ask for. It is not a part of Lock, so that many locks take less memory.
type rareState struct {
	ctx    context.Context         // of Lock.Context; nil until then
	cancel context.CancelCauseFunc // ends ctx
	failed []*NodeError            // of the last extension, if it ended in ErrNoQuorum
}

// rareOrNew returns l.rare, and makes it on first use. It must be called with mu held.
func (l *Lock) rareOrNew() *rareState {
	if l.rare == nil {
		l.rare = new(rareState)
	}
	return l.rare
}

// Name returns the name that was locked. For a LockAll it returns the sorted names, joined by ",".
func (l *Lock) Name() string { return l.claim.Target.Title() }

// Token returns the lock's value on every master: the owner, a colon, and 32 random hexadecimal digits. Every lock that
// the masters grant has a new token. A lock that was handed over inside this Locker keeps the token of the lock before
// it, so after Unlock the next holder may have the same token. If the token leaves the process, for example for
// [Locker.Release], use [WithoutHandOver].
func (l *Lock) Token() string { return l.claim.Token }

func (l *Lock) kind() *kind.Kind { return l.claim.Target.Kind }

func (l *Lock) names() []string { return l.claim.Target.Names }

// Fence returns the lock's fencing token, or 0 without [WithFencing]. For one name, an exclusive holder's token is
// larger than that of every earlier holder. A reader's token is at least the last writer's, and smaller than the next
// writer's. Readers between two writers may share a token.
//
// Nested holds of one reentrant owner share one token, and so does a hold that the owner acquires during its minimum
// hold ([WithMinHold]). In two cases a later hold may get a larger one, which makes the first token stale: other calls
// of the owner for the name overlapped the acquisition of the first hold, or no majority of the masters still returns
// the first token. See docs/fencing.md.
func (l *Lock) Fence() uint64 { return uint64(l.lease.Fence()) }

// Until returns when the lock ends unless it is extended. After that time the caller no longer holds the lock. The time
// has a monotonic clock reading. On Linux the monotonic clock stands still while the machine is suspended, and Until
// moves earlier by the length of each suspension. So call Until again after an operation that may have taken long. See
// [Lock.Err] for the suspensions that the library cannot detect.
func (l *Lock) Until() time.Time {
	l.mu.Lock()
	ended := l.endedUntil
	l.mu.Unlock()
	if ended == 0 {
		return clock.Outside(l.cfg.clock, l.lease.Until())
	}
	now := l.cfg.clock.Now() // the result is opened plus ended, with a current reading of the wall clock
	return clock.Outside(l.cfg.clock, now.Add(ended-now.Sub(l.locker.opened)))
}

// Context returns a context that ends when the lock is lost (its cause matches [ErrLost]), released ([ErrReleased]),
// or its Locker closed ([ErrClosed]). It ends no later than Until, as far as the scheduler of this process allows. If
// the machine was suspended until after the end of the lock, it ends within a second of the resumption. It inherits the
// values of the context passed to Lock but not its cancellation or deadline, which bound only the wait. For work that
// must also end with a request, use [Lock.WithContext].
func (l *Lock) Context() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.rareOrNew()
	if r.ctx == nil {
		r.ctx, r.cancel = context.WithCancelCause(context.WithValue(l.base, lockKey{}, l))
		if l.err != nil {
			r.cancel(l.err)
		}
	}
	return r.ctx
}

// Err returns nil while the lock is held, and then an error that matches [ErrLost], [ErrReleased] or [ErrClosed]. It
// reads the clock, so it reports a loss even if the process was paused past Until. It also counts the time for which
// the machine was suspended on Linux (from CLOCK_BOOTTIME) and on Windows (where Go's clock keeps running).
//
// Err does not detect two kinds of suspension. On macOS Go's clock stands still while the machine sleeps, and the
// standard library does not report for how long. And no clock of a virtual machine counts the time for which its host
// suspended it, took a snapshot of it or migrated it. In these cases only a fencing token helps; see [WithFencing].
func (l *Lock) Err() error {
	l.expireIfDue()
	return l.endError()
}

// endError returns the error that the lock has ended with; nil while it is held.
func (l *Lock) endError() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Extend gives the lock another TTL from now, with [WithMaxHold] at most up to the maximum hold. On [ErrNoQuorum] the
// lock is held as before, until Until. The lock is lost ([ErrLost]) if a majority of the masters no longer has its
// token, or if Until has passed. If ctx ends first, Extend returns ctx's error, and the extension may still take
// effect. With keepalive, the default, there is no need to call Extend.
func (l *Lock) Extend(ctx context.Context) error { return during("extend", l.names(), l.extend(ctx)) }

func (l *Lock) extend(ctx context.Context) error {
	if l.locker.isEnding() {
		return ErrClosed
	}
	if err := l.Err(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("not asked: %w", err)
	}
	done := make(chan error, 1)
	l.lease.Extend(func(err error) {
		l.extended(err)
		done <- err
	})
	select {
	case err := <-done:
		if ended := l.Err(); ended != nil { // the lock ended meanwhile, so ErrNoQuorum would be wrong
			return ended
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// expiryError returns the error for a lock whose deadline has passed.
func (l *Lock) expiryError() error {
	if l.lease.Capped() {
		why := fmt.Errorf("it was held for its maximum of %v (WithMaxHold)", l.cfg.terms.MaxHold)
		return failed("lock", l.names(), ErrLost, why)
	}
	why := []error{ErrLost, fmt.Errorf("its TTL of %v ended and it was not extended", l.cfg.terms.TTL)}
	if err := l.extensionFailure(); err != nil {
		why = append(why, err)
	}
	return failed("lock", l.names(), why...)
}

// extensionFailure returns the errors of the masters if the last extension ended in ErrNoQuorum; otherwise nil.
func (l *Lock) extensionFailure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rare == nil {
		return nil
	}
	return quorum.JoinNodeErrors(l.rare.failed)
}

// Unlock releases the lock on every master and returns when a majority has confirmed the release. It ignores ctx, so
// that it also works after ctx was canceled. It waits for a node timeout at most, and for another one where a master
// must be connected to first. Two cases differ:
//
//   - If the next caller of this Locker takes the lock over, Unlock sends nothing. See [WithoutHandOver].
//   - During a minimum hold the masters keep the name under another token, and Unlock returns when a majority has
//     confirmed that. See [WithMinHold].
//
// Unlock returns [ErrLost] if the lock was lost before. It then releases the remaining keys without waiting for the
// masters. Call Unlock on a lost lock, too: otherwise what is left of its keys may keep other clients out until Until.
// Unlock also returns ErrLost if a majority of the masters answers that it no longer has the token.
//
// Unlock returns [ErrNoQuorum] if too few masters confirmed in time. The Lock has ended nevertheless, and its release
// is repeated in the background until the masters confirm it. With a minimum hold, the answer of a master without a
// vote, such as one that has restarted, does not count, and the request to it is not repeated. A second Unlock returns
// [ErrReleased]. After the Locker was closed, every Unlock returns [ErrClosed].
func (l *Lock) Unlock(ctx context.Context) error {
	t := l.cfg.trace
	if t == nil || t.Unlocked == nil {
		return during("unlock", l.names(), l.unlock())
	}
	began := l.cfg.clock.Now()
	err := during("unlock", l.names(), l.unlock())
	took := l.cfg.clock.Now().Sub(began)
	t.Unlocked(ctx, UnlockedEvent{Event: l.event(), Took: took, Err: err})
	return err
}

func (l *Lock) unlock() error {
	if l.locker.begin() != nil {
		return ErrClosed
	}
	defer l.locker.end() // Close waits for this Unlock
	l.expireIfDue()      // a deadline that has passed is a loss, noticed or not
	before := l.transition(change{event: eventUnlock, cause: releasedError{l.claim}})
	switch before {
	case phaseHeld:
		return l.handOverOrRelease()
	case phaseLingering, phaseCleared, phaseClosed:
		return l.endError()
	default: // phaseUnlocked, phaseHandedOver, phaseReleased
		return fmt.Errorf("%w: Unlock was called before", ErrReleased)
	}
}
