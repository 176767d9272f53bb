package testnet

import (
	"context"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Client returns a client over connections of dial, which repeats nothing and asks a server for nothing by itself.
// adjust changes its options, unless it is nil. The client ends with the test.
func Client(
	t TB, addr string, dial func(ctx context.Context, network, addr string) (net.Conn, error),
	adjust func(*redis.Options),
) *redis.Client {
	t.Helper()
	o := &redis.Options{
		Addr: addr, Dialer: dial, MaxRetries: -1, DialerRetries: 1, PoolSize: 3, PipelinePoolSize: -1,
		DialTimeout: 500 * time.Millisecond, ReadTimeout: time.Second, WriteTimeout: time.Second,
		DisableIdentity: true, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	if adjust != nil {
		adjust(o)
	}
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}
