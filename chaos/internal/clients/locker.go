package clients

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/chaos/internal/broken"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// NodeTimeout is what one master may take: generous, as the machine is shared by everything in the run.
const NodeTimeout = 200 * time.Millisecond

// openLocker opens the lock that the configuration names: the lock under test, as a stranger would, or the same broken
// from outside.
func (c *client) openLocker() (kinds.Locker, error) {
	b, err := broken.Find(c.Lock)
	if err != nil {
		return nil, err
	}
	w := b.Wrap()
	l, err := redlock.Open(c.URLs, append([]redlock.Option{
		redlock.WithTTL(traffic.TTL), redlock.WithMaxTTL(c.MaxTTL), redlock.WithNodeTimeout(NodeTimeout),
		redlock.WithOwner(fmt.Sprintf("%s.%d", c.Client, c.Config.Life)), redlock.WithClock(c.lockClock),
		redlock.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, nil))),
	}, w.Options...)...)
	product := kinds.Product{Locker: l, Ask: w.Ask, Hold: w.Hold}
	switch {
	case err != nil:
		return nil, err
	case b.Unclosed:
		return unclosed{product}, nil
	case b.Connected:
		return &connected{Locker: product, url: c.URLs[0]}, nil
	default:
		return product, nil
	}
}

// unclosed is a lock whose Close does nothing.
type unclosed struct{ kinds.Locker }

func (unclosed) Close() error { return nil }

// connected is a lock whose Close leaves a connection to a master, and no goroutine.
type connected struct {
	kinds.Locker
	url  string
	left net.Conn
}

func (c *connected) Close() error {
	master, err := redis.ParseURL(c.url)
	if err == nil {
		c.left, err = net.Dial("tcp", master.Addr)
	}
	return errors.Join(err, c.Locker.Close())
}
