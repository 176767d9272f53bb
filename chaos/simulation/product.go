package simulation

import (
	"context"
	"fmt"
	"slices"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/node"
)

// Product opens the lock of this module, with opts on top of what the schedule says.
func Product(opts ...redlock.Option) Open {
	return func(w *simnet.Net, h *simnet.Host, s Schedule, c Client) (Locker, error) {
		nodes := make([]*node.Node, s.Masters)
		for i := range nodes {
			var err error
			nodes[i], err = node.Open(w.Master(i).URL(), node.WithDialer(h.Dial), node.WithClock(h.Clock()))
			if err != nil {
				return nil, fmt.Errorf("open master %d: %w", i, err)
			}
		}
		all := []redlock.Option{
			redlock.WithTTL(c.TTL), redlock.WithRetry(c.RetryMin, c.RetryMax), redlock.WithRestartWindow(s.Window),
			redlock.WithOwner(c.Name), redlock.WithClock(h.Clock()),
		}
		if !c.Keepalive {
			all = append(all, redlock.WithoutKeepalive())
		}
		l, err := redlock.New(nodes, slices.Concat(all, opts)...)
		if err != nil {
			return nil, err
		}
		return product{l}, nil
	}
}

type product struct{ *redlock.Locker }

func (p product) Lock(ctx context.Context, name string) (Lock, error) {
	return taken(p.Locker.Lock(ctx, name))
}

func (p product) TryLock(ctx context.Context, name string) (Lock, error) {
	return taken(p.Locker.TryLock(ctx, name))
}

// taken keeps a nil *redlock.Lock from becoming a Lock that is not nil.
func taken(l *redlock.Lock, err error) (Lock, error) {
	if l == nil {
		return nil, err
	}
	return l, err
}
