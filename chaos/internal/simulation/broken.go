package simulation

import (
	"context"

	"github.com/redlock-go/redlock/chaos/internal/broken"
	"github.com/redlock-go/redlock/internal/simnet"
)

// Broken opens the lock of this module, broken from outside.
func Broken(lock broken.Lock) Open {
	return func(w *simnet.Net, h *simnet.Host, s Schedule, c Client) (Locker, error) {
		wrapping := lock.Wrap()
		inner, err := open(w, h, s, c, wrapping.Options())
		if err != nil {
			return nil, err
		}
		return brokenProduct{inner, wrapping}, nil
	}
}

// brokenProduct is a product that is broken from outside.
type brokenProduct struct {
	*product
	wrapping *broken.Wrapping
}

func (p brokenProduct) Lock(ctx context.Context, want Want) (Lock, error) {
	l, err := p.lock(ctx, want)
	if l == nil {
		return nil, err
	}
	return p.wrapping.Hold(p.Locker, l), err
}
