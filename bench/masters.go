package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// masters are the servers of a run, with a connection to each that no contestant shares.
type masters struct {
	hosts   []host // none where the masters are the user's
	clients []*redis.Client
	urls    []string
	version string
}

// A host is where a master runs, and what can be done to it there.
type host interface {
	URL() string
	Addr() string
	Freeze(ctx context.Context) error
	Thaw(ctx context.Context) error
	Kill() error
	Restart(ctx context.Context) error // empty, at the same address
	Close() error
}

// startMasters starts n, as the settings say where, or connects to the user's. The caller must close them.
func startMasters(ctx context.Context, s *settings, n int) (*masters, error) {
	m := &masters{urls: s.masters}
	var err error
	switch {
	case len(s.masters) > 0:
	case s.containers:
		m.hosts, err = startContainers(ctx, n)
	default:
		m.hosts, err = startProcesses(ctx, n)
	}
	if err != nil {
		return nil, err
	}
	for _, h := range m.hosts {
		m.urls = append(m.urls, h.URL())
	}
	if err := m.connect(ctx); err != nil {
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

func (m *masters) connect(ctx context.Context) error {
	for i, url := range m.urls {
		opts, err := redis.ParseURL(url)
		if err != nil {
			return fmt.Errorf("master %d: %w", i+1, err)
		}
		opts.PoolSize = 1
		m.clients = append(m.clients, redis.NewClient(opts))
	}
	info, err := m.clients[0].InfoMap(ctx, "server").Result()
	if err != nil {
		return fmt.Errorf("master 1: %w", err)
	}
	m.version = info["Server"]["redis_version"]
	return nil
}

func (m *masters) close() error {
	var all []error
	for _, c := range m.clients {
		all = append(all, c.Close())
	}
	for _, h := range m.hosts {
		all = append(all, h.Close())
	}
	return errors.Join(all...)
}

// where says where the masters run.
func (s *settings) where() string {
	switch {
	case len(s.masters) > 0:
		return "the user's"
	case s.containers:
		return "containers, by their own address"
	}
	return "redis-server processes"
}

// flush empties every master that the run has started; a user's is not emptied.
func (m *masters) flush(ctx context.Context) error {
	for i := range m.hosts {
		if err := m.clients[i].FlushAll(ctx).Err(); err != nil {
			return fmt.Errorf("master %d: %w", i+1, err)
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
		return 0, nil, fmt.Errorf("master %d: %w", i+1, err)
	}
	return n, few, nil
}
