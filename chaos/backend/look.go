package backend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock/chaos/history"
)

// lookTimeout is how long a master may take over one question of the harness.
const lookTimeout = 2 * time.Second

// Eyes look at masters beside the clients under test, each through a connection of its own.
type Eyes []*redis.Client

// Look opens eyes on the masters at urls. The caller closes them.
func Look(urls []string) (Eyes, error) {
	redis.SetLogger(silence{})
	eyes := make(Eyes, len(urls))
	for i, u := range urls {
		o, err := redis.ParseURL(u)
		if err != nil {
			return nil, errors.Join(err, eyes[:i].Close())
		}
		o.MaxRetries, o.DialerRetries, o.PoolSize = -1, 1, 1
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout = lookTimeout, lookTimeout, lookTimeout
		o.ContextTimeoutEnabled, o.DisableIdentity = true, true
		eyes[i] = redis.NewClient(o)
	}
	return eyes, nil
}

// silence: go-redis tells standard error of every dial that fails, and here they are meant to.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// Ping returns nil if the master answers a command.
func (e Eyes) Ping(ctx context.Context, master int) error { return e[master].Ping(ctx).Err() }

// PingAll returns nil if all of them do.
func (e Eyes) PingAll(ctx context.Context) error {
	errs := make([]error, len(e))
	var all errgroup.Group
	for i := range e {
		all.Go(func() error {
			if err := e.Ping(ctx, i); err != nil {
				errs[i] = fmt.Errorf("master %d does not answer: %w", i, err)
			}
			return nil
		})
	}
	_ = all.Wait() // the errors are gathered one by one
	return errors.Join(errs...)
}

// Uptime returns how long the master says that it has been up, in whole seconds.
func (e Eyes) Uptime(ctx context.Context, master int) (time.Duration, error) {
	info, err := e[master].Info(ctx, "server").Result()
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(info) {
		if s, ok := strings.CutPrefix(strings.TrimSpace(line), "uptime_in_seconds:"); ok {
			n, err := strconv.Atoi(s)
			return time.Duration(n) * time.Second, err
		}
	}
	return 0, errors.New("INFO names no uptime_in_seconds")
}

// Wipe removes every key of the master.
func (e Eyes) Wipe(ctx context.Context, master int) error { return e[master].FlushAll(ctx).Err() }

// Keys returns every key of the master, sorted by name. Keys that end while it looks are left out.
func (e Eyes) Keys(ctx context.Context, master int) ([]history.Key, error) {
	var keys []history.Key
	scan := e[master].Scan(ctx, 0, "*", 1000).Iterator()
	for scan.Next(ctx) {
		name := scan.Val()
		left, err := e[master].PTTL(ctx, name).Result()
		switch {
		case err != nil:
			return nil, err
		case left == -2: // gone
			continue
		}
		token, err := e[master].Get(ctx, name).Result()
		if err != nil && !errors.Is(err, redis.Nil) && !strings.HasPrefix(err.Error(), "WRONGTYPE") {
			return nil, err
		}
		keys = append(keys, history.Key{Name: name, Token: token, Left: left})
	}
	slices.SortFunc(keys, func(a, b history.Key) int { return strings.Compare(a.Name, b.Name) })
	return slices.Compact(keys), scan.Err()
}

// Close closes the connections.
func (e Eyes) Close() error {
	var errs []error
	for _, c := range e {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
