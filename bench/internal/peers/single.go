package peers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/redlock-go/redlock/bench/internal/load"
)

// dial makes the client of a peer with go-redis' defaults, all but the size of its pool: the default is ten for each
// CPU, and callers beyond it wait for a connection.
func dial(url string, o Options) (*redis.Client, error) {
	opts, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	opts.PoolSize = o.Pool
	return redis.NewClient(opts), nil
}

type redislockPairer struct {
	locker *redislock.Client
	client *redis.Client
	ttl    time.Duration
}

func openRedislock(urls []string, o Options) (load.Pairer, error) {
	client, err := dial(urls[0], o)
	if err != nil {
		return nil, err
	}
	return &redislockPairer{locker: redislock.New(client), client: client, ttl: o.TTL}, nil
}

func (p *redislockPairer) Pair(ctx context.Context, name string) (load.Timestamps, error) {
	lock, err := p.locker.Obtain(ctx, name, p.ttl, nil)
	locked := load.Timestamps{Locked: time.Now()}
	if err != nil {
		return locked, fmt.Errorf("obtain: %w", err)
	}
	return locked, lock.Release(ctx)
}

func (p *redislockPairer) Close() error { return p.client.Close() }

// rueidisPairer is rueidislock. It sends what callers ask at one time in one pipeline, and waits by client-side
// caching.
type rueidisPairer struct{ locker rueidislock.Locker }

// rueidisTriesPerTTL is the part of the TTL that a master may take over an answer, as with redlock and redsync. The
// default is 20 ms, after which an attempt has failed: with 512 callers on a busy machine that is most of them.
const rueidisTriesPerTTL = 20

func openRueidis(urls []string, o Options) (load.Pairer, error) {
	opts, err := rueidis.ParseURL(urls[0])
	if err != nil {
		return nil, err
	}
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption:   opts,
		KeyValidity:    o.TTL,
		KeyMajority:    1,
		NoLoopTracking: true,
		TryNextAfter:   o.TTL / rueidisTriesPerTTL,
	})
	if err != nil {
		return nil, err
	}
	return &rueidisPairer{locker}, nil
}

func (p *rueidisPairer) Pair(ctx context.Context, name string) (load.Timestamps, error) {
	_, unlock, err := p.locker.TryWithContext(ctx, name)
	locked := load.Timestamps{Locked: time.Now()}
	if err != nil {
		return locked, fmt.Errorf("lock: %w", err)
	}
	unlock()
	return locked, nil
}

func (p *rueidisPairer) Acquire(ctx context.Context, name string) (load.HeldLock, error) {
	_, unlock, err := p.locker.WithContext(ctx, name)
	if err != nil {
		return nil, err
	}
	return rueidisLock(unlock), nil
}

func (p *rueidisPairer) Close() error {
	p.locker.Close()
	return nil
}

// rueidisLock unlocks. Unlock returns when the master has answered.
type rueidisLock context.CancelFunc

func (g rueidisLock) Unlock(context.Context) error {
	g()
	return nil
}

// Extend is rueidislock's own business: it does it in the background.
func (rueidisLock) Extend(context.Context) error { return errors.ErrUnsupported }
