package main

import (
	"context"
	"time"

	"github.com/redlock-go/redlock"
)

// redlockPairer is the product.
type redlockPairer struct{ locker *redlock.Locker }

func openRedlock(urls []string, o openOptions) (pairer, error) { return openOurs(urls, o) }

func openReleased(urls []string, o openOptions) (pairer, error) {
	return openOurs(urls, o, redlock.WithoutHandOver())
}

func openOurs(urls []string, o openOptions, opts ...redlock.Option) (pairer, error) {
	opts = append(opts, redlock.WithTTL(o.ttl), redlock.WithRestartWindow(o.ttl))
	if o.noGuard {
		opts = append(opts, redlock.WithoutRestartGuard())
	}
	locker, err := redlock.Open(urls, opts...)
	if err != nil {
		return nil, err
	}
	return &redlockPairer{locker}, nil
}

func (p *redlockPairer) Pair(ctx context.Context, name string) (marks, error) {
	lock, err := p.locker.Lock(ctx, name)
	locked := marks{locked: time.Now()}
	if err != nil {
		return locked, err
	}
	return locked, lock.Unlock(ctx)
}

func (p *redlockPairer) Take(ctx context.Context, name string) (grip, error) {
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
