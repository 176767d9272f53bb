package redlock

import "context"

// WithContext returns a copy of ctx that also ends when the lock does, for work that is bound to both: a request and
// the lock it runs under. It keeps ctx's values and deadline. [context.Cause] reports which of the two ended it: ctx's
// cause, or an error that matches [ErrLost], [ErrReleased] or [ErrClosed]. [FromContext] returns the lock.
//
// If either has ended already, so has the returned context; if both have, the cause is ctx's. The returned context may
// end a moment after [Lock.Context], in a goroutine of its own; [Lock.Err] is exact.
//
// Calling the cancel function ends the returned context, with the cause [context.Canceled], and frees what it holds.
// It neither unlocks nor loses the lock. Call it as soon as the work is done, and before Unlock: until then the lock
// refers to the context.
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
