package simulation

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/node"
)

// Product opens this module's lock, with opts in addition to what the schedule says.
func Product(opts ...redlock.Option) Open {
	return func(w *simnet.Net, h *simnet.Host, s Schedule, c Client) (Locker, error) {
		p, err := open(w, h, s, c, opts)
		if err != nil { // a nil *product would be a Locker that is not nil
			return nil, err
		}
		return p, nil
	}
}

func open(w *simnet.Net, h *simnet.Host, s Schedule, c Client, opts []redlock.Option) (*product, error) {
	nodes := make([]*node.Node, s.Masters)
	for i := range nodes {
		var err error
		nodes[i], err = node.Open(address(w, s, c, i), node.WithDialer(h.Dial), node.WithClock(h.Clock()))
		if err != nil {
			return nil, fmt.Errorf("open master %d: %w", i, err)
		}
	}
	all := []redlock.Option{
		redlock.WithTTL(c.TTL), redlock.WithRetry(c.RetryMin, c.RetryMax), redlock.WithMaxTTL(s.Longest),
		redlock.WithNodeTimeout(c.Timeout), redlock.WithOwner(c.Name), redlock.WithClock(h.Clock()),
		redlock.WithLogger(slog.New(slog.DiscardHandler)),
	}
	if !c.Keepalive {
		all = append(all, redlock.WithoutKeepalive())
	}
	p := &product{}
	all = append(all, redlock.WithTrace(&redlock.Trace{AcquireEnd: p.acquired}))
	var err error
	p.Locker, err = redlock.New(nodes, slices.Concat(all, opts)...)
	if err != nil {
		return nil, err
	}
	return p, nil
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

type product struct {
	kinds.Product
	handed atomic.Int64
}

// acquired counts the locks that were acquired without asking any master.
func (p *product) acquired(_ context.Context, e redlock.AcquireEndEvent) {
	if e.Outcome == redlock.OutcomeAcquired && e.Attempts == 0 {
		p.handed.Add(1)
	}
}

// HandedOver returns the number of locks that one holder passed to the next.
func (p *product) HandedOver() int { return int(p.handed.Load()) }

// Locker is the lock under test, on one host. Each lock that it returns is a [Lock].
type Locker interface {
	kinds.Locker
}

// Lock is a lock that a Locker returned.
type Lock = kinds.Handle
