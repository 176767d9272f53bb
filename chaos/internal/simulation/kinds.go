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

// Want is a request for a lock.
type Want struct {
	Kind    Kind
	Names   []string // one name, unless Kind is Several
	Owner   string   // the owner of a Reentrant lock
	Fencing bool
	Try     bool // one round, without waiting
	// MaxHold is the longest time that the lock may be held. 0 means no limit.
	MaxHold time.Duration
	// TTL is the TTL of the lock, and Keepalive reports whether it is extended automatically. If TTL is 0, the client's
	// settings apply to both.
	TTL       time.Duration
	Keepalive bool
}

// Locker is the lock under test, on one host.
type Locker interface {
	Lock(ctx context.Context, want Want) (Lock, error)
	// Attach returns a handle on a mutex that was acquired elsewhere.
	Attach(ctx context.Context, name, token string) (Lock, error)
	Close() error
}

// Lock is a lock that a Locker returned.
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
