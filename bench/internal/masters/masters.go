// Package masters starts the masters of a run, or connects to the user's.
package masters

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/redisproc"
)

// A Set is the masters of a run, with a connection to each that no contestant shares.
type Set struct {
	Servers []*redisproc.Server // none where the masters are the user's
	Clients []*redis.Client
	URLs    []string
	Version string
}

// Start starts n masters, or connects to the given ones if there are any. The caller must close them.
func Start(ctx context.Context, given []string, n int) (*Set, error) {
	m := &Set{URLs: given}
	if len(given) == 0 {
		var err error
		if m.Servers, err = redisproc.StartN(ctx, n); err != nil {
			return nil, err
		}
	}
	for _, s := range m.Servers {
		m.URLs = append(m.URLs, s.URL())
	}
	if err := m.connect(ctx); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

func (m *Set) connect(ctx context.Context) error {
	for i, url := range m.URLs {
		opts, err := redis.ParseURL(url)
		if err != nil {
			return fmt.Errorf("master %d: %w", i+1, err)
		}
		opts.PoolSize = 1
		m.Clients = append(m.Clients, redis.NewClient(opts))
	}
	info, err := m.Clients[0].InfoMap(ctx, "server").Result()
	if err != nil {
		return fmt.Errorf("master 1: %w", err)
	}
	m.Version = info["Server"]["redis_version"]
	return nil
}

// Close closes the clients and ends the masters.
func (m *Set) Close() error {
	var all []error
	for _, c := range m.Clients {
		all = append(all, c.Close())
	}
	return errors.Join(append(all, redisproc.CloseAll(m.Servers))...)
}

// Flush empties every master that the run has started. It does not empty the user's masters.
func (m *Set) Flush(ctx context.Context) error {
	for i := range m.Servers {
		if err := m.Clients[i].FlushAll(ctx).Err(); err != nil {
			return fmt.Errorf("master %d: %w", i+1, err)
		}
	}
	return nil
}

const shownKeys = 5

// KeysLeft returns the number of keys on master i, and the names of a few of them.
func (m *Set) KeysLeft(ctx context.Context, i int) (n int64, few []string, err error) {
	if n, err = m.Clients[i].DBSize(ctx).Result(); err == nil && n > 0 {
		few, _, err = m.Clients[i].Scan(ctx, 0, "", shownKeys).Result()
	}
	if err != nil {
		return 0, nil, fmt.Errorf("master %d: %w", i+1, err)
	}
	return n, few, nil
}

// Commands returns the number of commands that all masters have executed, those of scripts included. Commands itself
// is one for each of them.
func (m *Set) Commands(ctx context.Context) (n int64, err error) {
	for i, c := range m.Clients {
		info, err := c.InfoMap(ctx, "stats").Result()
		if err != nil {
			return 0, fmt.Errorf("master %d: %w", i+1, err)
		}
		all, err := strconv.ParseInt(info["Stats"]["total_commands_processed"], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("master %d: %w", i+1, err)
		}
		n += all
	}
	return n, nil
}
