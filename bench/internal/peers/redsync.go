package peers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/bench/internal/load"
)

type redsyncPairer struct {
	sync    *redsync.Redsync
	options []redsync.Option
	clients []*redis.Client
}

// OpenRedsync configures redsync as its README does, one pool for each master. A second try would sleep 50 to 250 ms
// and hide a failure, so there are none without contention; with contention it tries as often as by default.
func OpenRedsync(failFast bool) func([]string, Options) (load.Pairer, error) {
	return func(urls []string, o Options) (load.Pairer, error) {
		p := &redsyncPairer{options: []redsync.Option{redsync.WithExpiry(o.TTL)}}
		if !o.Waits {
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

func (p *redsyncPairer) Pair(ctx context.Context, name string) (load.Timestamps, error) {
	mutex := p.sync.NewMutex(name, p.options...)
	err := mutex.LockContext(ctx)
	locked := load.Timestamps{Locked: time.Now()}
	if err != nil {
		return locked, fmt.Errorf("lock: %w", err)
	}
	return locked, redsyncLock{mutex}.Unlock(ctx)
}

// Acquire tries again when redsync has given up after its 32 tries, until ctx ends.
func (p *redsyncPairer) Acquire(ctx context.Context, name string) (load.HeldLock, error) {
	for {
		mutex := p.sync.NewMutex(name, p.options...)
		err := mutex.LockContext(ctx)
		if err == nil {
			return redsyncLock{mutex}, nil
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

type redsyncLock struct{ mutex *redsync.Mutex }

func (g redsyncLock) Extend(ctx context.Context) error {
	if ok, err := g.mutex.ExtendContext(ctx); !ok || err != nil {
		return fmt.Errorf("extend: %v, %w", ok, err)
	}
	return nil
}

func (g redsyncLock) Unlock(ctx context.Context) error {
	if ok, err := g.mutex.UnlockContext(ctx); !ok || err != nil {
		return fmt.Errorf("unlock: %v, %w", ok, err)
	}
	return nil
}
