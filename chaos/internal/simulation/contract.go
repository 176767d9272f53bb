package simulation

import (
	"context"
	"errors"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

// contract is a Locker that reports calls that do not do what their documentation says, or that take too long.
type contract struct {
	kinds.Locker
	life *life
}

func (c contract) Lock(ctx context.Context, want kinds.Request) (kinds.Lock, error) {
	op := "Lock"
	if want.Try {
		op = "TryLock"
	}
	done := c.life.timed(ctx, op)
	l, err := c.Locker.Lock(ctx, want)
	done()
	switch {
	case err == nil && l == nil:
		c.life.problem(ByContract, "%s returned neither lock nor error", op)
		return nil, errors.New("no error")
	case err != nil && l != nil:
		c.life.problem(ByContract, "%s returned both a lock and an error: %v", op, err)
	}
	if err != nil {
		return nil, err
	}
	if (l.Fence() != 0) != want.Fencing {
		c.life.problem(ByContract, "fencing was asked for: %v, and the fencing token is %d", want.Fencing, l.Fence())
	}
	return contractLock{l, c.life}, nil
}

// contractLock is a lock of such a Locker.
type contractLock struct {
	kinds.Lock
	life *life
}

func (l contractLock) Extend(ctx context.Context) error {
	defer l.life.timed(ctx, "Extend")()
	return l.Lock.Extend(ctx)
}

func (l contractLock) Unlock(ctx context.Context) error {
	done := l.life.timed(ctx, "Unlock")
	err := l.Lock.Unlock(ctx)
	done()
	if l.Context().Err() == nil {
		l.life.problem(ByContract, "the context of a lock outlives its Unlock")
	}
	return err
}

// timed returns a function that the caller must call when op has ended. It reports a problem if op ended too long after
// its context, not counting the time for which the host was frozen. A TryLock ends sooner, and an Unlock does not end
// with its context: both take as long as the masters may.
func (l *life) timed(ctx context.Context, op string) func() {
	start, most := l.Now(), patience
	if deadline, ok := ctx.Deadline(); ok && ctx.Err() == nil {
		most += time.Until(deadline)
	}
	switch op {
	case "TryLock":
		most = min(most, 3*l.settings.Timeout+patience)
	case "Unlock":
		most = l.settings.Timeout + patience
	}
	return func() {
		if l.host.Frozen() {
			return
		}
		if took := l.Now() - max(start, time.Duration(l.thawed.Load())); took > most {
			l.problem(check.ByLiveness, "%s took %v, %v at most were expected", op, took, most)
		}
	}
}
