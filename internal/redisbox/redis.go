package redisbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/resp"
)

// go-redis logs every failed dial to standard error, and here dials fail on purpose.
func init() { logging.Disable() }

const (
	pollEvery    = 25 * time.Millisecond
	readyTimeout = time.Minute
)

// Do sends one command to the server on a separate connection, and returns the decoded reply. It waits 5 s for the
// connection and 3 s for the reply, as go-redis does.
func (m *Master) Do(ctx context.Context, args ...any) (any, error) {
	// Keep the pool's size: after that many failed dials go-redis starts a goroutine that probes, and that outlives Close.
	c := redis.NewClient(&redis.Options{
		Addr: m.Addr(), Protocol: 2, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true, ContextTimeoutEnabled: true,
	})
	defer c.Close()
	return c.Do(ctx, args...).Result()
}

// ready returns when the server answers at its published port.
func (m *Master) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for {
		_, err := m.Do(ctx, "PING")
		if err == nil {
			return nil
		}
		if clock.Sleep(ctx, clock.System, pollEvery) != nil {
			return fmt.Errorf("no answer yet: %w", err)
		}
	}
}

// Wipe removes all keys and scripts.
func (m *Master) Wipe(ctx context.Context) error {
	_, keys := m.Do(ctx, "FLUSHALL")
	_, scripts := m.Do(ctx, "SCRIPT", "FLUSH")
	return m.fault("wipe", errors.Join(keys, scripts))
}

// Uptime returns the uptime that the server reports, in whole seconds.
func (m *Master) Uptime(ctx context.Context) (time.Duration, error) {
	reply, err := m.Do(ctx, "INFO", "server")
	if err != nil {
		return 0, m.fault("ask for the uptime of", err)
	}
	seconds, err := strconv.Atoi(resp.ParseInfo(fmt.Sprint(reply))["uptime_in_seconds"])
	return time.Duration(seconds) * time.Second, m.fault("read the uptime of", err)
}

// WaitUptime returns when every master reports an uptime longer than window, with a margin for the rounding. From then
// on the restart guard of a Locker with that window counts its votes.
func WaitUptime(ctx context.Context, window time.Duration, masters ...*Master) error {
	const rounding = 2 * time.Second
	return each(masters, func(m *Master) error {
		for {
			up, err := m.Uptime(ctx)
			if err != nil {
				return err
			}
			if up >= window+rounding {
				return nil
			}
			if err := clock.Sleep(ctx, clock.System, 100*time.Millisecond); err != nil {
				return fmt.Errorf("wait until %s is up for %v (it is %v): %w", m, window+rounding, up, err)
			}
		}
	})
}

// Logs returns the server's log since its container was created.
func (m *Master) Logs(ctx context.Context) (string, error) {
	defer m.docker.Close()
	stream, err := m.docker.ContainerLogs(ctx, m.id, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true})
	if err != nil {
		return "", m.fault("read the log of", err)
	}
	defer stream.Close()
	var text bytes.Buffer
	_, err = stdcopy.StdCopy(&text, &text, stream)
	return text.String(), m.fault("read the log of", err)
}
