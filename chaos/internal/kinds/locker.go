package kinds

import (
	"context"
	"fmt"
	"time"

	"github.com/redlock-go/redlock"
)

// Request describes the lock that a caller wants.
type Request struct {
	// Mode is the name of the kind of lock. "" means a mutex.
	Mode string
	// Names are the names to lock. There is only one unless the mode is several.
	Names []string
	// Owner is the owner of a reentrant lock, Slots the number of slots of a semaphore.
	Owner string
	Slots int
	TTL   time.Duration
	// Keepalive asks for automatic extension while the lock is held.
	Keepalive bool
	Fencing   bool
	// Try asks for a single attempt instead of waiting until the context ends.
	Try bool
	// MinHold is how long the names stay taken after the acquisition. 0 means not at all.
	MinHold time.Duration
}

// Reads reports whether the request is for a reader's lock.
func (r Request) Reads() bool { return Of(r.Mode).Reads() }

// acquire acquires a lock of this module. With a TTL of 0 the settings of the Locker apply.
func (r Request) acquire(ctx context.Context, l *redlock.Locker) (*redlock.Lock, error) {
	kind := Of(r.Mode)
	if kind.methods == nil {
		return nil, fmt.Errorf("there is no kind of lock %q: there are %q", r.Mode, Names())
	}
	var opts []redlock.LockOption
	if r.TTL > 0 {
		opts = append(opts, redlock.WithTTL(r.TTL))
		if !r.Keepalive {
			opts = append(opts, redlock.WithoutKeepalive())
		}
	}
	if r.Fencing {
		opts = append(opts, redlock.WithFencing())
	}
	if r.MinHold > 0 {
		opts = append(opts, redlock.WithMinHold(r.MinHold))
	}
	lock, try := kind.methods(l, r)
	if r.Try {
		lock = try
	}
	return lock(ctx, opts...)
}

// Locker acquires locks.
type Locker interface {
	// Lock returns either a held lock or an error.
	Lock(ctx context.Context, r Request) (Lock, error)
	Close() error
}

// Lock is a held lock. Its methods mean the same as those of [github.com/redlock-go/redlock.Lock].
type Lock interface {
	Token() string
	Fence() uint64
	// Until returns a time of the clock of the lock.
	Until() time.Time
	Context() context.Context
	Err() error
	Extend(ctx context.Context) error
	Unlock(ctx context.Context) error
}

var _ Lock = (*redlock.Lock)(nil)

// Product acquires locks of this module.
type Product struct {
	*redlock.Locker
	// Ask, if not nil, changes each request.
	Ask func(*Request)
	// Hold, if not nil, returns what the holder gets in place of a lock that was acquired.
	Hold func(*redlock.Locker, *redlock.Lock) Lock
}

// Lock acquires a lock.
func (p Product) Lock(ctx context.Context, r Request) (Lock, error) {
	if p.Ask != nil {
		p.Ask(&r)
	}
	l, err := r.acquire(ctx, p.Locker)
	switch {
	case l == nil: // a nil *redlock.Lock would be a Lock that is not nil
		return nil, err
	case p.Hold != nil:
		return p.Hold(p.Locker, l), err
	default:
		return l, err
	}
}
