package testnet

import (
	"context"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// ClientOptions are those of a client over connections of dial, which repeats nothing and asks a server for nothing by
// itself.
func ClientOptions(addr string, dial func(ctx context.Context, network, addr string) (net.Conn, error)) *redis.Options {
	return &redis.Options{
		Addr: addr, Dialer: dial, MaxRetries: -1, DialerRetries: 1, PoolSize: 3, PipelinePoolSize: -1,
		DialTimeout: 500 * time.Millisecond, ReadTimeout: time.Second, WriteTimeout: time.Second,
		DisableIdentity: true, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}
