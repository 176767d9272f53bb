package simulation

import (
	"github.com/redlock-go/redlock/chaos/internal/broken"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/internal/simnet"
)

// Broken opens this module's lock and breaks it from outside.
func Broken(lock broken.Lock) Open {
	return func(w *simnet.Net, h *simnet.Host, s Schedule, c Client) (kinds.Locker, error) {
		wrapping := lock.Wrap()
		l, err := open(w, h, s, c, wrapping.Options())
		return kinds.Product{Locker: l, Ask: wrapping.Ask, Hold: wrapping.Hold}, err
	}
}
