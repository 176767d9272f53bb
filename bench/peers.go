package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	redsyncredis "github.com/go-redsync/redsync/v4/redis"
)

// dial makes the client of a peer with go-redis' defaults, all but the size of its pool: the default is ten for each CPU,
// and callers beyond it wait for a connection.
func dial(url string, o openOptions) (*redis.Client, error) {
	opts, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	opts.PoolSize = o.pool
	return redis.NewClient(opts), nil
}

type redsyncPairer struct {
	sync    *redsync.Redsync
	options []redsync.Option
	clients []*redis.Client
}

// openRedsync configures redsync as its README does, one pool for each master. A second try would sleep 50 to 250 ms
// and hide a failure, so there is none.
func openRedsync(failFast bool) func([]string, openOptions) (pairer, error) {
	return func(urls []string, o openOptions) (pairer, error) {
		p := &redsyncPairer{options: []redsync.Option{redsync.WithExpiry(o.ttl), redsync.WithTries(1)}}
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

func (p *redsyncPairer) Pair(ctx context.Context, name string) (time.Time, error) {
	mutex := p.sync.NewMutex(name, p.options...)
	err := mutex.LockContext(ctx)
	locked := time.Now()
	if err != nil {
		return locked, fmt.Errorf("lock: %w", err)
	}
	if ok, err := mutex.UnlockContext(ctx); !ok || err != nil {
		return locked, fmt.Errorf("unlock: %v, %w", ok, err)
	}
	return locked, nil
}

func (p *redsyncPairer) Close() error {
	var all []error
	for _, c := range p.clients {
		all = append(all, c.Close())
	}
	return errors.Join(all...)
}

type redislockPairer struct {
	locker *redislock.Client
	client *redis.Client
	ttl    time.Duration
}

func openRedislock(urls []string, o openOptions) (pairer, error) {
	client, err := dial(urls[0], o)
	if err != nil {
		return nil, err
	}
	return &redislockPairer{locker: redislock.New(client), client: client, ttl: o.ttl}, nil
}

func (p *redislockPairer) Pair(ctx context.Context, name string) (time.Time, error) {
	lock, err := p.locker.Obtain(ctx, name, p.ttl, nil)
	locked := time.Now()
	if err != nil {
		return locked, fmt.Errorf("obtain: %w", err)
	}
	return locked, lock.Release(ctx)
}

func (p *redislockPairer) Close() error { return p.client.Close() }
