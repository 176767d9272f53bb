package traffic

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// naive is the lock of a thousand tutorials, on one master: SETNX takes it, EXPIRE bounds it, DEL gives it back. Two
// things are wrong with it. DEL does not look whose lock it removes, so a holder that comes back after its TTL lets a
// third one in beside the second. And a holder that dies between SETNX and EXPIRE has locked the name for ever.
type naive struct {
	client *redis.Client
	owner  string
	locks  atomic.Int64
	// die ends the process between SETNX and EXPIRE.
	die bool
}

const naivePoll = 10 * time.Millisecond

var errHeld = errors.New("held by another")

func openNaive(c Config) (locker, error) {
	o, err := redis.ParseURL(c.URLs[0])
	if err != nil {
		return nil, err
	}
	o.MaxRetries = -1
	o.DisableIdentity = true
	return &naive{client: redis.NewClient(o), owner: fmt.Sprintf("%s.%d", c.Client, c.Life), die: c.HalfLock != ""}, nil
}

func (n *naive) Lock(ctx context.Context, name string, ttl time.Duration, _, try bool) (lock, error) {
	// A wait that ends between SETNX and EXPIRE would do what the death of the client does. That is shown once, on
	// purpose; elsewhere what was begun is finished.
	ask := context.WithoutCancel(ctx)
	for {
		begin := time.Now()
		won, err := n.client.SetNX(ask, name, n.owner, 0).Result()
		if err != nil {
			return nil, err
		}
		if won {
			if n.die {
				return nil, dieNow()
			}
			if err := n.client.Expire(ask, name, ttl).Err(); err != nil {
				return nil, err
			}
			// As modest as can be: the key cannot expire before.
			return &naiveLock{
				naive: n, name: name, until: begin.Add(ttl),
				token: fmt.Sprintf("%s:%d", n.owner, n.locks.Add(1)),
			}, nil
		}
		if try {
			return nil, errHeld
		}
		select {
		case <-time.After(naivePoll):
		case <-ctx.Done():
			return nil, errors.Join(errHeld, ctx.Err())
		}
	}
}

// dieNow does not return, unless the system refuses.
func dieNow() error {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		return err
	}
	select {}
}

func (n *naive) Close() error { return n.client.Close() }

type naiveLock struct {
	*naive
	name, token string
	until       time.Time
}

func (l *naiveLock) Token() string            { return l.token }
func (l *naiveLock) Until() time.Time         { return l.until }
func (l *naiveLock) Context() context.Context { return context.Background() }

func (l *naiveLock) Unlock(ctx context.Context) error { return l.client.Del(ctx, l.name).Err() }
