package traffic

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/chaos/internal/broken"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/locker"
)

// NodeTimeout is what one master may take: generous, as the machine is shared by everything in the run.
const NodeTimeout = 200 * time.Millisecond

// quorum is the lock under test, used as a stranger would.
type quorum struct {
	*redlock.Locker
	wrapping *broken.Wrapping // breaks it; nil: nothing does
}

// openQuorum opens it, with opts on top.
func openQuorum(s locker.Settings, v *votes, opts ...redlock.Option) (quorum, error) {
	l, err := redlock.Open(s.URLs, append([]redlock.Option{
		redlock.WithTTL(TTL), redlock.WithRestartWindow(s.Window), redlock.WithNodeTimeout(NodeTimeout),
		redlock.WithOwner(s.Owner), redlock.WithClock(s.Clock), redlock.WithTrace(v.trace()),
		redlock.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, nil))),
	}, opts...)...)
	return quorum{Locker: l}, err
}

func (q quorum) Lock(ctx context.Context, r locker.Request) (locker.Lock, error) {
	opts := []redlock.LockOption{redlock.WithTTL(r.TTL)}
	if !r.Keepalive {
		opts = append(opts, redlock.WithoutKeepalive())
	}
	if r.Fencing {
		opts = append(opts, redlock.WithFencing())
	}
	l, err := q.way(r)(ctx, opts...)
	if err != nil { // a nil *Lock in a non-nil interface would hide
		return nil, err
	}
	if q.wrapping != nil {
		return q.wrapping.Hold(q.Locker, l), nil
	}
	return l, nil
}

type method = func(context.Context, ...redlock.LockOption) (*redlock.Lock, error)

// way is the method that takes what is wanted.
func (q quorum) way(r locker.Request) method {
	choose := func(lock, try method) method {
		if r.Try {
			return try
		}
		return lock
	}
	switch r.Mode {
	case history.ModeReader:
		rw := q.RW(r.Name())
		return choose(rw.RLock, rw.TryRLock)
	case history.ModeWriter:
		rw := q.RW(r.Name())
		return choose(rw.Lock, rw.TryLock)
	case history.ModeReentrant:
		re := q.Reentrant(r.Name(), r.Owner)
		return choose(re.Lock, re.TryLock)
	case history.ModeSeveral:
		return choose(bind(q.LockAll, r.Names), bind(q.TryLockAll, r.Names))
	default:
		return choose(bind(q.Locker.Lock, r.Name()), bind(q.TryLock, r.Name()))
	}
}

// bind makes a method of one that wants to know what to lock.
func bind[T any](lock func(context.Context, T, ...redlock.LockOption) (*redlock.Lock, error), what T) method {
	return func(ctx context.Context, opts ...redlock.LockOption) (*redlock.Lock, error) {
		return lock(ctx, what, opts...)
	}
}
