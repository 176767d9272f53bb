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
			redlock.WithNodeTimeout(c.Timeout), redlock.WithOwner(c.Name), redlock.WithClock(h.Clock()),
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

func (p product) Lock(ctx context.Context, want Want) (Lock, error) {
	var opts []redlock.LockOption
	if want.Fencing {
		opts = append(opts, redlock.WithFencing())
	}
	l, err := p.way(want)(ctx, opts...)
	if l == nil { // a nil *redlock.Lock would be a Lock that is not nil
		return nil, err
	}
	return l, err
}

// way is the method that takes what is wanted.
func (p product) way(want Want) func(context.Context, ...redlock.LockOption) (*redlock.Lock, error) {
	type method = func(context.Context, ...redlock.LockOption) (*redlock.Lock, error)
	choose := func(lock, try method) method {
		if want.Try {
			return try
		}
		return lock
	}
	name := want.Names[0]
	switch want.Kind {
	case Reader:
		return choose(p.RW(name).RLock, p.RW(name).TryRLock)
	case Writer:
		return choose(p.RW(name).Lock, p.RW(name).TryLock)
	case Reentrant:
		return choose(p.Reentrant(name, want.Owner).Lock, p.Reentrant(name, want.Owner).TryLock)
	case Several:
		return func(ctx context.Context, opts ...redlock.LockOption) (*redlock.Lock, error) {
			if want.Try {
				return p.TryLockAll(ctx, want.Names, opts...)
			}
			return p.LockAll(ctx, want.Names, opts...)
		}
	default:
		return func(ctx context.Context, opts ...redlock.LockOption) (*redlock.Lock, error) {
			if want.Try {
				return p.TryLock(ctx, name, opts...)
			}
			return p.Locker.Lock(ctx, name, opts...)
		}
	}
}
