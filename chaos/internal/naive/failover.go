package naive

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/chaos/internal/locker"
)

// failover is the correct lock on one master (SET NX PX with a random value that is compared before the key is
// deleted), with a replica that takes over when the master does not answer.
//
// Replication is asynchronous: the master answers before the replica knows. The replica does not have a lock that the
// master granted just before it failed, and grants it a second time. A master that only seemed dead continues to grant
// locks while the replica does so too. The fix was a majority of independent masters.
var failover = Control{
	Name:    "failover",
	Doc:     "SET NX PX and compared release, on a master with an asynchronous replica (the second URL)",
	Modes:   mutex,
	Checker: exclusion,
	How:     "the master fails before its replica knows of the lock",
	open: func(s locker.Settings) (locker.Locker, error) {
		if len(s.URLs) < 2 {
			return nil, errors.New("failover takes two URLs: the master's and its replica's")
		}
		s.Timeout = cmp.Or(s.Timeout, downAfter)
		l := &failoverLocker{one: one{Settings: complete(s)}}
		for i := range l.servers {
			var err error
			if l.servers[i], err = dial(s.URLs[i]); err != nil {
				return nil, err
			}
		}
		return l, nil
	},
}

// downAfter is the default for how long a master must be silent to count as failed. A master whose process has ended
// refuses connections and counts as failed at once.
const downAfter = time.Second

type failoverLocker struct {
	one
	servers [2]*redis.Client
	turned  atomic.Bool
}

var removeOwn = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`)

func (l *failoverLocker) Lock(ctx context.Context, r locker.Request) (locker.Lock, error) {
	token := l.token()
	begin := l.Clock.Now()
	err := wait(ctx, r, func(ctx context.Context) (won bool, err error) {
		begin = l.Clock.Now()
		return won, l.ask(ctx, func(ctx context.Context, c *redis.Client) error {
			won, err = c.SetNX(ctx, r.Name(), token, r.TTL).Result()
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return &hold{token, begin.Add(r.TTL), func(ctx context.Context) error {
		return l.ask(ctx, func(ctx context.Context, c *redis.Client) error {
			return removeOwn.Run(ctx, c, []string{r.Name()}, token).Err()
		})
	}}, nil
}

// ask asks the master, or the replica once the master has failed to answer.
func (l *failoverLocker) ask(ctx context.Context, do func(context.Context, *redis.Client) error) error {
	if !l.turned.Load() {
		one, cancel := context.WithTimeout(ctx, l.Timeout)
		defer cancel()
		err := do(one, l.servers[0])
		if err == nil || ctx.Err() != nil { // it answers, or the caller has given up
			return err
		}
		l.turned.Store(true)
		l.servers[1].Do(ctx, "REPLICAOF", "NO", "ONE") // as a sentinel would; a server that is no replica needs none of it
	}
	return do(ctx, l.servers[1])
}

func (l *failoverLocker) Close() error {
	return errors.Join(l.servers[0].Close(), l.servers[1].Close())
}
