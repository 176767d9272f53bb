package simulation

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/chaos/internal/broken"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/node"
)

// Product opens this module's lock, broken from outside as lock says. The zero Lock breaks nothing.
func Product(lock broken.Lock) Open {
	return func(w *simnet.Net, h *simnet.Host, s Schedule, c Client) (kinds.Locker, error) {
		nodes := make([]*node.Node, s.Masters)
		for i := range nodes {
			var err error
			nodes[i], err = node.Open(address(w, s, c, i), node.WithDialer(h.Dial), node.WithClock(h.Clock()))
			if err != nil {
				return nil, fmt.Errorf("open master %d: %w", i, err)
			}
		}
		all := []redlock.Option{
			redlock.WithTTL(c.TTL), redlock.WithRetry(c.RetryMin, c.RetryMax), redlock.WithMaxTTL(s.MaxTTL()),
			redlock.WithNodeTimeout(c.Timeout), redlock.WithOwner(c.Name), redlock.WithClock(h.Clock()),
			redlock.WithLogger(slog.New(slog.DiscardHandler)),
		}
		if !c.Keepalive {
			all = append(all, redlock.WithoutKeepalive())
		}
		wrapping := lock.Wrap()
		l, err := redlock.New(nodes, slices.Concat(all, wrapping.Options)...)
		return kinds.Product{Locker: l, Ask: wrapping.Ask, Hold: wrapping.Hold}, err
	}
}

// address returns the URL at which the client reaches a master.
func address(w *simnet.Net, s Schedule, c Client, master int) string {
	if c.Twin && master == s.Masters-1 {
		const other = "10.0.1.1:6379"
		w.Alias(other, 0)
		return "redis://" + other
	}
	return w.Master(master).URL()
}
