package redlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/quorum"
)

// Lock is a lock that was taken. It is safe for concurrent use.
type Lock struct {
	locker *Locker
	name   string
	token  string
	line   *line // nil: attached
	cfg    *config
	lease  *quorum.Lease
	values context.Context // the values of the context given to Lock, nothing else of it
	kept                   // the keeper's
	tenure tenure
	heir   atomic.Pointer[Lock] // to which the lease was handed over

	unlocked bool // Unlock was called; guarded by mu, as all below
	mu       sync.Mutex
	shown    bool      // Token returned the token while the lock was not released; somebody may still use it
	spent    string    // what Token returns of a released lock whose token was never shown; "" until it is asked for
	claim    *claim    // a downgrade makes another of it
	err      error     // nil while held
	remains  bool      // it was lost, and its keys have not been cleared
	until    time.Time // when it would have ended; zero until it was unlocked
	ctx      context.Context
	cancel   context.CancelCauseFunc
}

func newLock(ctx context.Context, l *Locker, c *claim, ln *line, cfg *config, lease *quorum.Lease) *Lock {
	return &Lock{
		locker: l, name: c.title(), token: c.token, claim: c, line: ln, cfg: cfg, lease: lease,
		values: context.WithoutCancel(ctx),
	}
}

// Name is what was locked; of a LockAll, the sorted names joined by ",".
func (l *Lock) Name() string { return l.name }

// Token is the lock's value on every master: the owner, a colon, and 32 random hexadecimal digits. It is new for every
// lock that is taken from the masters; one that was handed over inside this Locker (see [WithoutHandOver]) has that of
// the lock before, of which nobody had asked for it. A lock whose token was asked for is not handed over.
//
// Ask for the token before Unlock. The first call after Unlock makes up a token that no master has ever held, and
// later calls return the same: the lock's own value may belong to the next holder by then.
func (l *Lock) Token() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shown || !errors.Is(l.err, ErrReleased) {
		l.shown = true
		return l.token
	}
	if l.spent == "" {
		l.spent = newToken(ownerOf(l.token))
	}
	return l.spent
}

func (l *Lock) kind() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.claim.kind
}

// Fence is the lock's fencing token: for one name it is larger than that of every exclusive holder before. A reader's
// is not smaller than the writer's before it, and smaller than the next one's; readers in between may have the same. A
// hold of a reentrant lock's owner has that of the hold which the owner had already, if that one was taken alone, with
// no other call of the owner's for the name under way, and if a majority of the masters tells it; else it may have a
// larger one, beside which the other is stale. It is 0 without [WithFencing].
func (l *Lock) Fence() uint64 { return uint64(l.lease.Fence()) }

// Until is when the lock ends unless it is extended. It carries the monotonic clock; after it the lock is nobody's. On Linux,
// where that clock stands still while the machine is suspended, Until comes earlier by what the machine was suspended: ask for it
// again after anything that may have taken long. See [Lock.Err] for what is not noticed.
func (l *Lock) Until() time.Time {
	l.mu.Lock()
	until := l.until
	l.mu.Unlock()
	if !until.IsZero() {
		return until
	}
	l.lease.Wake()
	return l.lease.Until()
}

// Context returns a context that ends when the lock is lost (its cause matches [ErrLost]), released ([ErrReleased]),
// or its Locker closed ([ErrClosed]). It ends no later than Until, as far as the scheduler of this process allows. After
// a suspension of the machine that outlasted the lock, it ends within a second of the resumption. It inherits the values
// of the context passed to Lock but not its cancellation or deadline, which bound only the wait. For work that has to
// end with a request as well, use [Lock.WithContext].
func (l *Lock) Context() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx == nil {
		l.ctx, l.cancel = context.WithCancelCause(context.WithValue(l.values, lockKey{}, l))
		if l.err != nil {
			l.cancel(l.err)
		}
	}
	return l.ctx
}

// Err is nil while the lock is held; then it says why it is not: it matches [ErrLost], [ErrReleased] or [ErrClosed].
// It looks at the clock, so a process that was paused past Until finds out here at the latest. So does one whose machine
// was suspended, on Linux (which counts that time in CLOCK_BOOTTIME) and on Windows (where Go's clock goes on).
//
// Two suspensions are not noticed. A Mac's clock stands still while it sleeps, and the system does not report for how
// long. A virtual machine that its host suspends, takes a snapshot of or migrates has no clock that knows. There only a
// fencing token helps; see [WithFencing].
func (l *Lock) Err() error {
	err := l.ended()
	if err == nil {
		l.lease.Wake()
		l.expire()
		err = l.ended()
	}
	return err
}

// expire has the lock lost if its deadline has passed.
func (l *Lock) expire() {
	if l.ended() == nil && l.lease.End(0) {
		l.lose(l.expired())
	}
}

// ended is what the lock has ended with; nil while it is held.
func (l *Lock) ended() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Extend gives the lock another TTL from now. On [ErrNoQuorum] the lock is held as before, until Until. It is lost
// ([ErrLost]) if a majority of the masters no longer knows its token, or if Until has passed. If ctx ends first,
// Extend returns ctx's error, and the extension may still take effect. With keepalive, the default, there is no need
// to call it.
func (l *Lock) Extend(ctx context.Context) error { return during("extend", l.name, l.extend(ctx)) }

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
		if ended := l.Err(); ended != nil { // whatever the masters said: it is not held as before
			return ended
		}
		if err == nil {
			return nil
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// extended takes note of an extension's end, whoever asked for it.
func (l *Lock) extended(err error) {
	if heir := l.heir.Load(); heir != nil {
		heir.extended(err) // it was asked before the hand-over
		return
	}
	defer l.locker.keeper.extended(l, err) // also if a callback panics
	if t := l.cfg.trace; t != nil && t.Extended != nil {
		t.Extended(l.name, l.Until(), err)
	}
	switch {
	case errors.Is(err, quorum.ErrGone):
		l.lose(failed("lock", l.name, ErrLost, err))
	case errors.Is(err, quorum.ErrOver):
		l.Err() // its deadline has passed, unless it was released
	case err != nil:
		l.cfg.logger.Warn("redlock: a lock could not be extended yet", "name", l.name, "until", l.Until(), "error", err)
	}
}

// expired says why a lock whose deadline has come is lost.
func (l *Lock) expired() error {
	if l.lease.Capped() {
		why := fmt.Errorf("it was held for its maximum of %v (WithMaxHold)", l.cfg.maxHold)
		return failed("lock", l.name, ErrLost, why)
	}
	return failed("lock", l.name, ErrLost, fmt.Errorf("its TTL of %v ended and it was not extended", l.cfg.ttl))
}

// Unlock releases the lock on every master and returns when a majority has confirmed it. It works on a context that is
// cancelled already, since that is when one unlocks: ctx is not looked at, and the wait is bounded by the node
// timeout.
//
// [ErrLost]: it had been lost before; what is left of it is released now, and not waited for. Without Unlock that
// stays on the masters until Until, and nobody else gets the lock before. [ErrNoQuorum]: too few masters confirmed;
// the handle is spent, and the release is pursued in the background until they have. A second Unlock returns
// [ErrReleased], and after the Locker was closed every Unlock returns [ErrClosed].
func (l *Lock) Unlock(ctx context.Context) error {
	err := during("unlock", l.name, l.unlock())
	if t := l.cfg.trace; t != nil && t.Released != nil {
		t.Released(l.name, err)
	}
	return err
}

func (l *Lock) unlock() error {
	if l.locker.begin() != nil {
		return ErrClosed
	}
	defer l.locker.end() // Close waits until the release has been submitted
	l.expire()           // a deadline that has passed is a loss, noticed or not
	l.mu.Lock()
	again, was := l.unlocked, l.err
	l.unlocked = true
	l.mu.Unlock()
	switch {
	case errors.Is(was, ErrClosed):
		return was
	case again:
		return fmt.Errorf("%w: Unlock was called before", ErrReleased)
	case was != nil:
		l.clear()
		return was
	case !l.setErr(releasedError(l.name)):
		l.clear()
		return l.Err() // lost, or closed, this very moment
	case l.handOver():
		if l.cfg.rules.broken.HandedBack {
			l.lease.Release(false, nil)
		}
		return nil
	}
	done := make(chan error, 1)
	l.giveBack(l.goesOn(), func(err error) { done <- err })
	err := <-done // comes at the nodes' deadline at the latest
	switch {
	case err == nil:
		return nil
	case errors.Is(err, quorum.ErrGone):
		return fmt.Errorf("%w: %w", ErrLost, err)
	case errors.Is(err, ErrNoQuorum):
		return failed("unlock", l.name, errors.New("the release goes on in the background"), err)
	default:
		return err
	}
}

// lose ends the lock for its holder. Its keys stay until Until, or until Unlock is called: the holder may rely on
// Until, for the news take a goroutine that may not be running. The keeper has them cleared then.
func (l *Lock) lose(why error) {
	if !l.setErr(why) {
		return
	}
	defer func() { // also if a callback panics
		if l.cfg.rules.broken.EndedEarly || !l.locker.keeper.leave(l) {
			l.clear()
		}
	}()
	l.cfg.logger.Warn("redlock: a lock was lost", "name", l.name, "error", why)
	if t := l.cfg.trace; t != nil && t.Lost != nil {
		t.Lost(l.name, why)
	}
}

// clear releases what is left of a lost lock, once. It goes behind everything sent before, so that no late extension
// brings the lock back.
func (l *Lock) clear() {
	l.mu.Lock()
	ln := l.line
	l.mu.Unlock()
	if ln != nil {
		l.locker.lines.endingOf(ln, l)
	}
	l.mu.Lock()
	remains := l.remains
	l.remains = false
	l.mu.Unlock()
	if remains {
		l.locker.keeper.remove(l)
		l.release(nil)
	}
}

// endWith ends the lock with the Locker.
func (l *Lock) endWith(why error) {
	if l.setErr(why) {
		l.release(nil)
		return
	}
	l.clear()
}

// setErr ends the lock for its holder. It reports whether this call did.
func (l *Lock) setErr(err error) bool {
	l.mu.Lock()
	if l.err != nil {
		l.mu.Unlock()
		return false
	}
	l.err, l.remains = err, errors.Is(err, ErrLost)
	if l.cancel != nil {
		l.cancel(err) // before anybody can see err: an Unlock that finds a loss must not return while the context lives
	}
	l.mu.Unlock()
	l.locker.keeper.remove(l)
	return true
}

func (l *Lock) release(done func(error)) { l.giveBack(false, done) }

// giveBack gives the keys back, and only then the turn to the next in line: it asks behind the release.
func (l *Lock) giveBack(silently bool, done func(error)) {
	l.mu.Lock()
	ln := l.line
	l.mu.Unlock()
	now := l.cfg.clock.Now()
	gap := l.tenure.gap(now)
	if ln != nil {
		next := turn{after: gap}
		if silently {
			next = turn{tenure: l.tenure.next()}
		}
		defer l.locker.lines.ended(ln, next) // also if a callback panics
	}
	l.lease.Release(silently, func(heard int64, err error) {
		if ln != nil && !silently {
			l.locker.lines.heard(ln, int(heard), now.Add(gap), now)
		}
		if done != nil {
			done(err)
		}
	})
}
