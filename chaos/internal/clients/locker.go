package clients

import (
	"errors"
	"fmt"
	"net"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/chaos/internal/broken"
	"github.com/redlock-go/redlock/chaos/internal/locker"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// openLocker opens the lock that the configuration names.
func openLocker(c traffic.Config, s locker.Settings, v *traffic.Votes) (locker.Locker, error) {
	if c.Lock == traffic.Quorum {
		return openQuorum(s, v)
	}
	if b, ok := broken.Find(c.Lock); ok {
		return openBroken(b, s, v)
	}
	return nil, fmt.Errorf("no lock is called %q", c.Lock)
}

// openBroken opens the lock under test, broken from outside.
func openBroken(b broken.Lock, s locker.Settings, v *traffic.Votes) (locker.Locker, error) {
	w := b.Wrap()
	l, err := openQuorum(s, v, w.Options()...)
	l.Ask, l.Hold = w.Ask, w.Hold
	switch {
	case err != nil:
		return nil, err
	case b.Unclosed:
		return unclosed{l}, nil
	case b.Connected:
		return &connected{Locker: l, url: s.URLs[0]}, nil
	default:
		return l, nil
	}
}

// unclosed is a lock whose Close does nothing.
type unclosed struct{ locker.Locker }

func (unclosed) Close() error { return nil }

// connected is a lock whose Close leaves a connection to a master, and no goroutine.
type connected struct {
	locker.Locker
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
