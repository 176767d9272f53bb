package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redlock-go/redlock/internal/redisproc"
)

// masters are the servers that a run starts for itself, with a connection to each that no contestant shares.
type masters struct {
	servers []*redisproc.Server
	clients []*redis.Client
	urls    []string
	version string
}

// startMasters starts n. The caller must close them.
func startMasters(ctx context.Context, n int) (*masters, error) {
	servers, err := redisproc.StartN(ctx, n)
	if err != nil {
		return nil, err
	}
	m := &masters{servers: servers}
	for _, s := range servers {
		m.urls = append(m.urls, s.URL())
		m.clients = append(m.clients, redis.NewClient(&redis.Options{Addr: s.Addr(), PoolSize: 1}))
	}
	info, err := m.clients[0].InfoMap(ctx, "server").Result()
	if err != nil {
		return nil, errors.Join(err, m.close())
	}
	m.version = info["Server"]["redis_version"]
	return m, nil
}

func (m *masters) close() error {
	var all []error
	for _, c := range m.clients {
		all = append(all, c.Close())
	}
	return errors.Join(append(all, redisproc.CloseAll(m.servers))...)
}

// flush empties every master.
func (m *masters) flush(ctx context.Context) error {
	for i, c := range m.clients {
		if err := c.FlushAll(ctx).Err(); err != nil {
			return fmt.Errorf("master %s: %w", m.servers[i].Addr(), err)
		}
	}
	return nil
}

const fewKeys = 5

// left is how many keys master i holds, and the names of a few of them.
func (m *masters) left(ctx context.Context, i int) (n int64, few []string, err error) {
	if n, err = m.clients[i].DBSize(ctx).Result(); err == nil && n > 0 {
		few, _, err = m.clients[i].Scan(ctx, 0, "", fewKeys).Result()
	}
	if err != nil {
		return 0, nil, fmt.Errorf("master %s: %w", strings.TrimPrefix(m.urls[i], "redis://"), err)
	}
	return n, few, nil
}
