package simulation

import (
	"github.com/redlock-go/redlock/chaos/internal/broken"
	"github.com/redlock-go/redlock/internal/simnet"
)

// Broken opens this module's lock and breaks it from outside.
func Broken(lock broken.Lock) Open {
	return func(w *simnet.Net, h *simnet.Host, s Schedule, c Client) (Locker, error) {
		wrapping := lock.Wrap()
		p, err := open(w, h, s, c, wrapping.Options())
		if err != nil {
			return nil, err
		}
		p.Ask, p.Hold = wrapping.Ask, wrapping.Hold
		return p, nil
	}
}
