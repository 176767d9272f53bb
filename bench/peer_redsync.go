package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	redsyncredis "github.com/go-redsync/redsync/v4/redis"
)

type redsyncPairer struct {
	sync    *redsync.Redsync
	options []redsync.Option
	clients []*redis.Client
}

// openRedsync configures redsync as its README does, one pool for each master. A second try would sleep 50 to 250 ms
// and hide a failure, so there is none where nobody waits for another; where they do, it tries as often as by default.
func openRedsync(failFast bool) func([]string, openOptions) (pairer, error) {
	return func(urls []string, o openOptions) (pairer, error) {
		p := &redsyncPairer{options: []redsync.Option{redsync.WithExpiry(o.ttl)}}
		if !o.waits {
			p.options = append(p.options, redsync.WithTries(1))
		}
		if failFast {
			p.options = append(p.options, redsync.WithFailFast(true))
		}
		var pools []redsyncredis.Pool
		for _, url := range urls {
			client, err := dial(url, o)
			if err != nil {
				return nil, errors.Join(err, p.Close())
			}
			p.clients = append(p.clients, client)
			pools = append(pools, goredis.NewPool(client))
		}
		p.sync = redsync.New(pools...)
		return p, nil
	}
}

func (p *redsyncPairer) Pair(ctx context.Context, name string) (marks, error) {
	mutex := p.sync.NewMutex(name, p.options...)
	err := mutex.LockContext(ctx)
	locked := marks{locked: time.Now()}
	if err != nil {
		return locked, fmt.Errorf("lock: %w", err)
	}
	return locked, redsyncGrip{mutex}.Unlock(ctx)
}

// Take tries on when redsync has given up after its 32 tries, until ctx ends.
func (p *redsyncPairer) Take(ctx context.Context, name string) (grip, error) {
	for {
		mutex := p.sync.NewMutex(name, p.options...)
		err := mutex.LockContext(ctx)
		if err == nil {
			return redsyncGrip{mutex}, nil
		}
		var taken *redsync.ErrTaken
		if ctx.Err() != nil || !(errors.As(err, &taken) || errors.Is(err, redsync.ErrFailed)) {
			return nil, fmt.Errorf("lock: %w", err)
		}
	}
}

func (p *redsyncPairer) Close() error {
	var all []error
	for _, c := range p.clients {
		all = append(all, c.Close())
	}
	return errors.Join(all...)
}

type redsyncGrip struct{ mutex *redsync.Mutex }

func (g redsyncGrip) Extend(ctx context.Context) error {
	if ok, err := g.mutex.ExtendContext(ctx); !ok || err != nil {
		return fmt.Errorf("extend: %v, %w", ok, err)
	}
	return nil
}

func (g redsyncGrip) Unlock(ctx context.Context) error {
	if ok, err := g.mutex.UnlockContext(ctx); !ok || err != nil {
		return fmt.Errorf("unlock: %v, %w", ok, err)
	}
	return nil
}
