package broken

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/internal/seam"
)

// countFromAnswer has the holder count its validity from the answer of the masters, not from the request.
func countFromAnswer(w *Wrapping) {
	w.Hold = func(_ *redlock.Locker, l *redlock.Lock) kinds.Lock {
		took := func() time.Duration { return w.requests.took(l.Name()) }
		return fromAnswer{later(l, took), took}
	}
}

type fromAnswer struct {
	*laterHandle
	took func() time.Duration
}

func (h fromAnswer) Until() time.Time { return h.Lock.Until().Add(h.took()) }

// notifyLate has the holder's context end only [late] after the lock was lost.
func notifyLate(_ *redlock.Locker, l *redlock.Lock) kinds.Lock {
	return later(l, func() time.Duration { return late })
}

// neverNotify has the holder's context end only with its unlock.
func neverNotify(_ *redlock.Locker, l *redlock.Lock) kinds.Lock {
	h := &laterHandle{Lock: l}
	h.ctx, h.end = context.WithCancelCause(context.WithoutCancel(l.Context()))
	return h
}

// laterHandle is a handle whose context ends later if the lock is lost.
type laterHandle struct {
	*redlock.Lock
	ctx context.Context
	end context.CancelCauseFunc
}

// later returns a handle whose context ends later, by the result of by, if the lock is lost.
func later(l *redlock.Lock, by func() time.Duration) *laterHandle {
	h := &laterHandle{Lock: l}
	inner := l.Context()
	h.ctx, h.end = context.WithCancelCause(context.WithoutCancel(inner))
	context.AfterFunc(inner, func() {
		if errors.Is(context.Cause(inner), redlock.ErrLost) {
			time.Sleep(by())
		}
		h.end(context.Cause(inner))
	})
	return h
}

func (h *laterHandle) Context() context.Context { return h.ctx }

func (h *laterHandle) Unlock(ctx context.Context) error {
	err := h.Lock.Unlock(ctx)
	h.end(context.Cause(h.Lock.Context()))
	return err
}

// releaseLost releases the keys of a lost lock at once, and not at its Until or when its holder calls Unlock.
func releaseLost(_ *redlock.Locker, l *redlock.Lock) kinds.Lock {
	h := &releasedOnce{Lock: l}
	onLoss(l, func() { _ = h.Unlock(context.Background()) })
	return h
}

// moveUntil releases the keys of a lost lock at once, as releaseLost does, and moves its Until back to the moment of
// the loss. So a checker that reads the new Until finds that the holder no longer relied on the lock.
func moveUntil(locker *redlock.Locker, l *redlock.Lock) kinds.Lock {
	deployment, err := seam.DeploymentOf(locker)
	if err != nil {
		return l // the Locker is closed
	}
	h := &movedUntil{releasedOnce: &releasedOnce{Lock: l}}
	onLoss(l, func() {
		now := deployment.Clock.Now()
		h.lostAt.Store(&now)
		_ = h.Unlock(context.Background())
	})
	return h
}

// movedUntil is a handle whose Until is no later than the loss.
type movedUntil struct {
	*releasedOnce
	lostAt atomic.Pointer[time.Time] // nil: not lost
}

func (h *movedUntil) Until() time.Time {
	until := h.Lock.Until()
	if at := h.lostAt.Load(); at != nil && at.Before(until) {
		return *at
	}
	return until
}

// onLoss calls f in a goroutine of its own when the lock is lost.
func onLoss(l *redlock.Lock, f func()) {
	context.AfterFunc(l.Context(), func() {
		if errors.Is(context.Cause(l.Context()), redlock.ErrLost) {
			f()
		}
	})
}

// releasedOnce is a handle whose Unlock returns the same each time.
type releasedOnce struct {
	*redlock.Lock
	once sync.Once
	err  error
}

func (h *releasedOnce) Unlock(ctx context.Context) error {
	h.once.Do(func() { h.err = h.Lock.Unlock(ctx) })
	return h.err
}

// releaseHandedOver releases the keys of a lock that was handed over, while its new holder has it.
func releaseHandedOver(w *Wrapping) {
	w.Hold = func(locker *redlock.Locker, l *redlock.Lock) kinds.Lock {
		if w.requests.handedOver(l.Name()) {
			token := l.Token()
			go func() {
				_ = locker.Release(context.Background(), l.Name(), token)
			}()
		}
		return l
	}
}

// fenceRequests has a holder present a new fencing token with each request to a register.
func fenceRequests(_ *redlock.Locker, l *redlock.Lock) kinds.Lock {
	return fenced{l, func() uint64 { return uint64(time.Now().UnixNano()) }}
}

// fenced is a handle with other fencing tokens.
type fenced struct {
	*redlock.Lock
	fence func() uint64
}

func (h fenced) Fence() uint64 { return h.fence() }

// keepContext has the context of a lock never end.
func keepContext(_ *redlock.Locker, l *redlock.Lock) kinds.Lock { return endless{l} }

type endless struct{ *redlock.Lock }

func (h endless) Context() context.Context { return context.WithoutCancel(h.Lock.Context()) }

// hideFence has a lock with a fencing token not return it.
func hideFence(_ *redlock.Locker, l *redlock.Lock) kinds.Lock {
	return fenced{l, func() uint64 { return 0 }}
}

// returnNothing has a caller who gets a lock get neither the lock nor an error.
func returnNothing(_ *redlock.Locker, l *redlock.Lock) kinds.Lock {
	_ = l.Unlock(context.Background())
	return nil
}

// unlockSlowly has Unlock wait before it begins.
func unlockSlowly(_ *redlock.Locker, l *redlock.Lock) kinds.Lock { return slow{l} }

type slow struct{ *redlock.Lock }

func (s slow) Unlock(ctx context.Context) error {
	time.Sleep(veryLate)
	return s.Lock.Unlock(ctx)
}

// lookUpTerm has a leader present the newest term of its election with each write, in place of its own term. The first
// fencing token that the handle returns is its own.
func lookUpTerm(locker *redlock.Locker, l *redlock.Lock) kinds.Lock {
	var told atomic.Bool
	return fenced{l, func() uint64 {
		if !told.Swap(true) {
			return l.Fence()
		}
		seen, err := locker.Inspect(context.Background(), l.Name())
		if err != nil {
			return l.Fence()
		}
		return max(seen.Fence, l.Fence())
	}}
}
