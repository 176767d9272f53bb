package peers

import (
	"context"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/bench/internal/load"
)

// redlockPairer is the product.
type redlockPairer struct{ locker *redlock.Locker }

// OpenRedlock opens this library over the masters at urls.
func OpenRedlock(urls []string, o Options) (load.Pairer, error) { return openOurs(urls, o) }

func openNoHandOver(urls []string, o Options) (load.Pairer, error) {
	return openOurs(urls, o, redlock.WithoutHandOver())
}

func openOurs(urls []string, o Options, opts ...redlock.Option) (load.Pairer, error) {
	opts = append(opts, redlock.WithTTL(o.TTL))
	if o.NoGuard {
		opts = append(opts, redlock.WithoutRestartGuard())
	}
	locker, err := redlock.Open(urls, opts...)
	if err != nil {
		return nil, err
	}
	return &redlockPairer{locker}, nil
}

func (p *redlockPairer) Pair(ctx context.Context, name string) (load.Timestamps, error) {
	lock, err := p.locker.Lock(ctx, name)
	locked := load.Timestamps{Locked: time.Now()}
	if err != nil {
		return locked, err
	}
	return locked, lock.Unlock(ctx)
}

func (p *redlockPairer) Acquire(ctx context.Context, name string) (load.HeldLock, error) {
	lock, err := p.locker.Lock(ctx, name)
	if err != nil {
		return nil, err
	}
	return lock, nil
}

func (p *redlockPairer) Close() error { return p.locker.Close() }

func (p *redlockPairer) Nodes(ctx context.Context) ([]redlock.NodeStatus, error) {
	return p.locker.Nodes(ctx)
}
