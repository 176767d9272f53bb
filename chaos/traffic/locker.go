package traffic

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/redlock-go/redlock"
)

// locker is what workers need of a lock, whichever it is.
type locker interface {
	// Lock waits until ctx ends; with try it asks once.
	Lock(ctx context.Context, name string, ttl time.Duration, keepalive, try bool) (lock, error)
	Close() error
}

// lock is a held one.
type lock interface {
	Token() string
	Until() time.Time
	Context() context.Context
	Unlock(ctx context.Context) error
}

func openLocker(c Config) (locker, error) {
	switch c.Lock {
	case Quorum:
		return openQuorum(c)
	case Naive:
		return openNaive(c)
	default:
		return nil, fmt.Errorf("no lock is called %q", c.Lock)
	}
}

// nodeTimeout is generous: the machine is shared by everything in the run.
const nodeTimeout = 100 * time.Millisecond

// quorum is the lock under test, used as a stranger would.
type quorum struct{ *redlock.Locker }

func openQuorum(c Config) (locker, error) {
	l, err := redlock.Open(c.URLs,
		redlock.WithTTL(TTL), redlock.WithRestartWindow(c.Window), redlock.WithNodeTimeout(nodeTimeout),
		redlock.WithOwner(fmt.Sprintf("%s.%d", c.Client, c.Life)),
		redlock.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, nil))))
	if err != nil {
		return nil, err
	}
	return quorum{l}, nil
}

func (q quorum) Lock(ctx context.Context, name string, ttl time.Duration, keepalive, try bool) (lock, error) {
	opts := []redlock.LockOption{redlock.WithTTL(ttl)}
	if !keepalive {
		opts = append(opts, redlock.WithoutKeepalive())
	}
	call := q.Locker.Lock
	if try {
		call = q.TryLock
	}
	l, err := call(ctx, name, opts...)
	if err != nil { // a nil *Lock in a non-nil interface would hide
		return nil, err
	}
	return l, nil
}
