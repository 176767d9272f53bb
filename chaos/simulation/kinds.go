package simulation

import (
	"context"
	"time"
)

// Kind is a kind of lock.
type Kind string

// The kinds of locks.
const (
	Mutex     Kind = "mutex"
	Reader    Kind = "reader"
	Writer    Kind = "writer"
	Reentrant Kind = "reentrant"
	Several   Kind = "mutex of several"
)

// Want is what somebody asks a Locker for.
type Want struct {
	Kind    Kind
	Names   []string // one, but for Several
	Owner   string   // of a Reentrant lock
	Fencing bool
	Try     bool // in one round, or not at all
}

// Locker is the lock under test, on one host.
type Locker interface {
	Lock(ctx context.Context, want Want) (Lock, error)
	Close() error
}

// Lock is what it hands out.
type Lock interface {
	Token() string
	Fence() uint64
	Until() time.Time
	Context() context.Context
	Extend(ctx context.Context) error
	Downgrade(ctx context.Context) error
	Unlock(ctx context.Context) error
}
