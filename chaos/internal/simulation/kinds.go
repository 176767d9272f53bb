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
	// MaxHold is how long it is held at most, 0: no such bound.
	MaxHold time.Duration
	// TTL is what it is locked with, and Keepalive whether it is extended; 0: both are the client's.
	TTL       time.Duration
	Keepalive bool
}

// Locker is the lock under test, on one host.
type Locker interface {
	Lock(ctx context.Context, want Want) (Lock, error)
	// Attach makes a handle on a mutex that was taken elsewhere.
	Attach(ctx context.Context, name, token string) (Lock, error)
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
	Depth() int
	Unlock(ctx context.Context) error
}
