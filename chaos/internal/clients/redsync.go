package clients

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/chaos/internal/locker"
	"github.com/redlock-go/redlock/clock"
)

// The pauses of a waiting redsync are its own defaults.
const (
	redsyncLeast = 50 * time.Millisecond
	redsyncMost  = 250 * time.Millisecond
)

// foreign is redsync, whose mutexes share keys and rules with ours. It has no restart guard, does not repeat releases,
// and goes by the machine's clock, so that it cannot be given a wrong one.
type foreign struct {
	sync    *redsync.Redsync
	clients []*redis.Client
}

func openRedsync(s locker.Settings) (locker.Locker, error) {
	f := &foreign{}
	var pools []redsyncredis.Pool
	for _, u := range s.URLs {
		o, err := redis.ParseURL(u)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		o.MaxRetries, o.DialerRetries = -1, 1
		o.DisableIdentity, o.ContextTimeoutEnabled = true, true
		c := redis.NewClient(o)
		f.clients = append(f.clients, c)
		pools = append(pools, goredis.NewPool(c))
	}
	f.sync = redsync.New(pools...)
	return f, nil
}

// Lock asks round by round instead of leaving the rounds to redsync: when the context ends in the middle of one,
// redsync has no time left to take back what it placed.
func (f *foreign) Lock(ctx context.Context, r locker.Request) (locker.Lock, error) {
	m := f.sync.NewMutex(r.Name(), redsync.WithExpiry(r.TTL),
		redsync.WithTimeoutFactor(float64(NodeTimeout)/float64(r.TTL)))
	for {
		err := m.TryLockContext(context.WithoutCancel(ctx))
		if err == nil {
			return foreignLock{m}, nil
		}
		if r.Try {
			return nil, err
		}
		_ = clock.Sleep(ctx, clock.System, redsyncLeast+rand.N(redsyncMost-redsyncLeast))
		if ctx.Err() != nil {
			return nil, errors.Join(err, ctx.Err())
		}
	}
}

func (f *foreign) Close() error {
	var errs []error
	for _, c := range f.clients {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

type foreignLock struct{ m *redsync.Mutex }

func (l foreignLock) Token() string            { return l.m.Value() }
func (l foreignLock) Fence() uint64            { return 0 }
func (l foreignLock) Until() time.Time         { return l.m.Until() }
func (l foreignLock) Context() context.Context { return context.Background() }

func (l foreignLock) Err() error {
	if time.Now().After(l.m.Until()) {
		return errors.New("redsync: past the deadline")
	}
	return nil
}

func (l foreignLock) Unlock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, NodeTimeout)
	defer cancel()
	ok, err := l.m.UnlockContext(ctx)
	if !ok && err == nil {
		err = errors.New("no majority held it any more")
	}
	if ok {
		return nil
	}
	return fmt.Errorf("redsync: %w", err)
}
