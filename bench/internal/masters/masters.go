// Package masters starts the masters of a run, or connects to the user's.
package masters

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// A Set is the masters of a run, with a connection to each that no contestant shares.
type Set struct {
	Hosts   []Host // none where the masters are the user's
	Clients []*redis.Client
	URLs    []string
	Version string
}

// A Host runs one master and can harm it.
type Host interface {
	URL() string
	Addr() string
	Freeze(ctx context.Context) error
	Thaw(ctx context.Context) error
	Kill() error
	Start(ctx context.Context) error // empty, at the same address
	Close() error
}

// Start starts n masters in containers or as processes, or connects to the given ones if there are any. The caller
// must close them.
func Start(ctx context.Context, given []string, containers bool, n int) (*Set, error) {
	m := &Set{URLs: given}
	var err error
	switch {
	case len(given) > 0:
	case containers:
		m.Hosts, err = startContainers(ctx, n)
	default:
		m.Hosts, err = startProcesses(ctx, n)
	}
	if err != nil {
		return nil, err
	}
	for _, h := range m.Hosts {
		m.URLs = append(m.URLs, h.URL())
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
	for _, h := range m.Hosts {
		all = append(all, h.Close())
	}
	return errors.Join(all...)
}

// Flush empties every master that the run has started. It does not empty the user's masters.
func (m *Set) Flush(ctx context.Context) error {
	for i := range m.Hosts {
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

// Commands returns the number of commands that all masters have executed, one for each of them by Commands itself.
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

// ScriptCalls returns the number of scripts that the first master has run.
func (m *Set) ScriptCalls(ctx context.Context) (n int64, err error) {
	info, err := m.Clients[0].Info(ctx, "commandstats").Result()
	if err != nil {
		return 0, fmt.Errorf("master 1: %w", err)
	}
	return callsIn(info), nil
}

// callsIn adds up the calls of EVALSHA and EVAL in INFO commandstats.
func callsIn(info string) (n int64) {
	for line := range strings.Lines(info) {
		rest, found := strings.CutPrefix(line, "cmdstat_evalsha:calls=")
		if !found {
			if rest, found = strings.CutPrefix(line, "cmdstat_eval:calls="); !found {
				continue
			}
		}
		calls, _, _ := strings.Cut(rest, ",")
		if c, err := strconv.ParseInt(calls, 10, 64); err == nil {
			n += c
		}
	}
	return n
}
