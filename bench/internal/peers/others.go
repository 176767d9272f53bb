package peers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
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

type redsyncLocker struct {
	sync    *redsync.Redsync
	options []redsync.Option
	clients []*redis.Client
	waits   bool
}

// openRedsync configures redsync as its README does, one pool for each master. A second try would sleep 50 to 250 ms
// and hide a failure, so there are none without contention; with contention it tries as often as by default.
func openRedsync(failFast bool) func([]string, Options) (load.Locker, error) {
	return func(urls []string, o Options) (load.Locker, error) {
		r := &redsyncLocker{options: []redsync.Option{redsync.WithExpiry(o.TTL)}, waits: o.Waits}
		if !o.Waits {
			r.options = append(r.options, redsync.WithTries(1))
		}
		if failFast {
			r.options = append(r.options, redsync.WithFailFast(true))
		}
		var pools []redsyncredis.Pool
		for _, url := range urls {
			client, err := dial(url, o)
			if err != nil {
				return nil, errors.Join(err, r.Close())
			}
			r.clients = append(r.clients, client)
			pools = append(pools, goredis.NewPool(client))
		}
		r.sync = redsync.New(pools...)
		return r, nil
	}
}

// Acquire, if it waits, tries again when redsync has given up after its 32 tries, until ctx ends.
func (r *redsyncLocker) Acquire(ctx context.Context, name string) (load.HeldLock, error) {
	for {
		mutex := r.sync.NewMutex(name, r.options...)
		err := mutex.LockContext(ctx)
		if err == nil {
			return redsyncLock{mutex}, nil
		}
		var taken *redsync.ErrTaken
		if !r.waits || ctx.Err() != nil || !(errors.As(err, &taken) || errors.Is(err, redsync.ErrFailed)) {
			return nil, fmt.Errorf("lock: %w", err)
		}
	}
}

func (r *redsyncLocker) Close() error {
	var all []error
	for _, c := range r.clients {
		all = append(all, c.Close())
	}
	return errors.Join(all...)
}

type redsyncLock struct{ mutex *redsync.Mutex }

func (l redsyncLock) Extend(ctx context.Context) error {
	if ok, err := l.mutex.ExtendContext(ctx); !ok || err != nil {
		return fmt.Errorf("extend: %v, %w", ok, err)
	}
	return nil
}

func (l redsyncLock) Unlock(ctx context.Context) error {
	if ok, err := l.mutex.UnlockContext(ctx); !ok || err != nil {
		return fmt.Errorf("unlock: %v, %w", ok, err)
	}
	return nil
}

type redislockLocker struct {
	locker *redislock.Client
	client *redis.Client
	ttl    time.Duration
}

func openRedislock(urls []string, o Options) (load.Locker, error) {
	client, err := dial(urls[0], o)
	if err != nil {
		return nil, err
	}
	return &redislockLocker{locker: redislock.New(client), client: client, ttl: o.TTL}, nil
}

func (r *redislockLocker) Acquire(ctx context.Context, name string) (load.HeldLock, error) {
	lock, err := r.locker.Obtain(ctx, name, r.ttl, nil)
	if err != nil {
		return nil, fmt.Errorf("obtain: %w", err)
	}
	return redislockLock{lock, r.ttl}, nil
}

func (r *redislockLocker) Close() error { return r.client.Close() }

type redislockLock struct {
	lock *redislock.Lock
	ttl  time.Duration
}

func (l redislockLock) Extend(ctx context.Context) error { return l.lock.Refresh(ctx, l.ttl, nil) }

func (l redislockLock) Unlock(ctx context.Context) error { return l.lock.Release(ctx) }

// rueidisLocker is rueidislock. It sends what callers ask at one time in one pipeline, and waits by client-side
// caching.
type rueidisLocker struct {
	rueidislock.Locker
	waits bool
}

// rueidisTriesPerTTL is the part of the TTL that a master may take over an answer, as with redlock and redsync. The
// default is 20 ms, after which an attempt has failed: with 512 callers on a busy machine that is most of them.
const rueidisTriesPerTTL = 20

func openRueidis(urls []string, o Options) (load.Locker, error) {
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
	return &rueidisLocker{locker, o.Waits}, nil
}

func (r *rueidisLocker) Acquire(ctx context.Context, name string) (load.HeldLock, error) {
	lock := r.TryWithContext
	if r.waits {
		lock = r.WithContext
	}
	_, unlock, err := lock(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	return rueidisLock(unlock), nil
}

func (r *rueidisLocker) Close() error {
	r.Locker.Close()
	return nil
}

// rueidisLock unlocks. Unlock returns when the master has answered.
type rueidisLock context.CancelFunc

func (l rueidisLock) Unlock(context.Context) error {
	l()
	return nil
}

// Extend is rueidislock's own business: it does it in the background.
func (rueidisLock) Extend(context.Context) error { return errors.ErrUnsupported }
