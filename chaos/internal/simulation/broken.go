package simulation

import (
	"context"
	"slices"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/chaos/internal/broken"
	"github.com/redlock-go/redlock/chaos/internal/locker"
	"github.com/redlock-go/redlock/internal/simnet"
)

// Broken opens this module's lock and breaks it from outside.
func Broken(lock broken.Lock) Open {
	return func(w *simnet.Net, h *simnet.Host, s Schedule, c Client) (Locker, error) {
		wrapping := lock.Wrap()
		opts := wrapping.Options()
		if lock.Clock != nil {
			opts = append(slices.Clone(opts), redlock.WithClock(lock.Clock(h.Clock())))
		}
		inner, err := open(w, h, s, c, opts)
		if err != nil {
			return nil, err
		}
		return brokenProduct{inner, wrapping}, nil
	}
}

// brokenProduct is a product whose locks are broken from outside.
type brokenProduct struct {
	*product
	wrapping *broken.Wrapping
}

func (p brokenProduct) Lock(ctx context.Context, want locker.Request) (Lock, error) {
	l, err := want.Acquire(ctx, p.Locker)
	if l == nil {
		return nil, err
	}
	return p.wrapping.Hold(p.Locker, l), err
}
