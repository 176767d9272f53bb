package simulation_test

import (
	"context"
	"sync"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/locker"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

// wrapper is a Locker that replaces each lock it acquires.
type wrapper struct {
	simulation.Locker
	lock func(simulation.Lock) simulation.Lock
}

func (w wrapper) Lock(ctx context.Context, want locker.Request) (locker.Lock, error) {
	l, err := w.Locker.Lock(ctx, want)
	if err != nil {
		return nil, err
	}
	wrapped := w.lock(l.(simulation.Lock))
	if wrapped == nil {
		_ = l.Unlock(context.Background())
	}
	return wrapped, nil
}

// changer is a Locker that changes each request.
type changer struct {
	simulation.Locker
	instead func(*locker.Request)
}

func (c changer) Lock(ctx context.Context, want locker.Request) (locker.Lock, error) {
	c.instead(&want)
	return c.Locker.Lock(ctx, want)
}

// forgetful is a lock whose Unlock does nothing.
type forgetful struct{ simulation.Lock }

func (forgetful) Unlock(context.Context) error { return nil }

// untidy is a lock whose Unlock ends its context but leaves its keys.
type untidy struct {
	simulation.Lock
	mu     sync.Mutex
	ctx    context.Context
	cancel context.CancelFunc
}

func (u *untidy) Context() context.Context {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ctx == nil {
		u.ctx, u.cancel = context.WithCancel(u.Lock.Context())
	}
	return u.ctx
}

func (u *untidy) Unlock(context.Context) error {
	u.Context()
	u.cancel()
	return nil
}

type slow struct{ simulation.Lock }

func (s slow) Unlock(ctx context.Context) error {
	time.Sleep(4 * time.Second)
	return s.Lock.Unlock(ctx)
}

// tardy is a lock that reports its loss late.
type tardy struct {
	simulation.Lock
	ctx context.Context
}

func late(l simulation.Lock) simulation.Lock {
	ctx, cancel := context.WithCancelCause(context.Background())
	context.AfterFunc(l.Context(), func() {
		time.Sleep(100 * time.Millisecond)
		cancel(context.Cause(l.Context()))
	})
	return tardy{l, ctx}
}

func (t tardy) Context() context.Context { return t.ctx }
