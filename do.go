package redlock

import (
	"context"
	"errors"

	"github.com/redlock-go/redlock/internal/kind"
)

// Do acquires the lock as [Locker.Lock] does, calls fn, and unlocks, even if fn panics or calls runtime.Goexit.
//
// The context passed to fn keeps ctx's values and deadline. It ends with ctx, with the lock, or when fn returns,
// whichever comes first; [context.Cause] reports which, and matches [ErrLost], [ErrClosed] or [ErrReleased] if it was
// not ctx. [FromContext] returns the lock, whose [Lock.Fence] is the fencing token. fn must not unlock it.
//
// Do returns the errors of fn and of [Lock.Unlock], joined. A lock that was lost under fn is an error that matches
// [ErrLost], even if fn returned nil: another holder may have run at the same time. If fn returns its context's cause,
// the loss is reported once. If the lock cannot be acquired, or fn is nil, Do returns an error and has not called fn.
// An [ErrNoQuorum] that fn did not return is of the acquisition or of Unlock. In the second case fn has run, and the
// lock was held until it returned. So let fn record that it ran.
func (l *Locker) Do(ctx context.Context, name string, fn func(context.Context) error, opts ...LockOption) error {
	return l.do(ctx, mutexOf(name), fn, opts)
}

// DoAll acquires the lock on all names as [Locker.LockAll] does, calls fn, and unlocks. See [Locker.Do] for fn's
// context and for the error.
func (l *Locker) DoAll(ctx context.Context, names []string, fn func(context.Context) error, opts ...LockOption) error {
	return l.do(ctx, allOf(names), fn, opts)
}

// Do acquires the lock for writing as [RW.Lock] does, calls fn, and unlocks. See [Locker.Do] for fn's context and for
// the error.
func (rw *RW) Do(ctx context.Context, fn func(context.Context) error, opts ...LockOption) error {
	return rw.locker.do(ctx, rw.target(kind.Writer), fn, opts)
}

// RDo acquires the lock for reading as [RW.RLock] does, calls fn, and unlocks. See [Locker.Do] for fn's context and for
// the error.
func (rw *RW) RDo(ctx context.Context, fn func(context.Context) error, opts ...LockOption) error {
	return rw.locker.do(ctx, rw.target(kind.Reader), fn, opts)
}

// Do acquires a hold as [Reentrant.Lock] does, calls fn, and unlocks that hold. See [Locker.Do] for fn's context and
// for the error. fn may call Do of the same owner again; [FromContext] then returns the inner hold.
func (r *Reentrant) Do(ctx context.Context, fn func(context.Context) error, opts ...LockOption) error {
	return r.locker.do(ctx, r.target(), fn, opts)
}

// Do acquires a permit as [Semaphore.Acquire] does, calls fn, and releases the permit. See [Locker.Do] for fn's context
// and for the error.
func (s *Semaphore) Do(ctx context.Context, fn func(context.Context) error, opts ...LockOption) error {
	return s.locker.do(ctx, s.target(), fn, opts)
}

// do is Do for every kind of lock.
func (l *Locker) do(ctx context.Context, t kind.Target, fn func(context.Context) error, opts []LockOption) (err error) {
	if fn == nil {
		if _, err := l.settings(t, opts); err != nil {
			return failed("lock", t.Names, err)
		}
		return failed("do", t.Names, errors.New("fn is nil: pass the function to call under the lock"))
	}
	lock, err := l.lock(ctx, t, false, opts)
	if err != nil {
		return err
	}
	work, end := lock.workContext(ctx)
	defer func() {
		over := lock.Err() // a loss that has not ended fn's context yet
		if over == nil {
			over = releasedError{lock.claim}
		}
		end(over) // before the release: goroutines that fn started must stop before another client gets the lock
		unlocked := lock.Unlock(ctx)
		if errors.Is(over, ErrLost) && !errors.Is(unlocked, ErrLost) {
			unlocked = over // a loss is reported even if the Locker was closed since
		}
		if unlocked != nil && !errors.Is(err, over) { // unless fn has returned the loss
			err = errors.Join(err, unlocked)
		}
	}()
	return fn(work)
}

// WithContext returns a copy of ctx that also ends when the lock does, for work that is bound to both: a request and
// the lock it runs under. It keeps ctx's values and deadline. [context.Cause] reports which of the two ended it: ctx's
// cause, or an error that matches [ErrLost], [ErrReleased] or [ErrClosed]. [FromContext] returns the lock.
//
// If either has ended already, so has the returned context; if both have, the cause is ctx's. The returned context may
// end a moment after [Lock.Context], in a goroutine of its own; [Lock.Err] is exact.
//
// Calling the cancel function ends the returned context, with the cause [context.Canceled], and frees what it holds. It
// neither unlocks nor loses the lock. Call it as soon as the work is done: until then, or until the lock ends, the lock
// refers to the context. Unlock ends the returned context, too, but perhaps a moment later. So if goroutines of the
// work may still run, call the cancel function before Unlock.
func (l *Lock) WithContext(ctx context.Context) (context.Context, context.CancelFunc) {
	work, end := l.workContext(ctx)
	return work, func() { end(nil) }
}

// workContext is WithContext with a cancel function that takes the cause.
func (l *Lock) workContext(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	work, cancel := context.WithCancelCause(context.WithValue(ctx, lockKey{}, l))
	if err := l.Err(); err != nil {
		cancel(err)
		return work, cancel
	}
	held := l.Context()
	stop := context.AfterFunc(held, func() { cancel(context.Cause(held)) })
	return work, func(cause error) {
		stop()
		cancel(cause)
	}
}

// FromContext returns the lock that ctx is bound to, and reports whether there is one. Contexts that the Do methods
// pass to their function, those that [Lock.WithContext] and [Lock.Context] return, and all derived from these are
// bound to one; where locks are nested, it is the innermost. The lock may have ended; see [Lock.Err].
//
// It is how a function that runs under Do reads the fencing token. Such a function must not unlock the lock.
func FromContext(ctx context.Context) (*Lock, bool) {
	l, ok := ctx.Value(lockKey{}).(*Lock)
	return l, ok
}

// lockKey is the key under which a context carries its Lock.
type lockKey struct{}
