package clients

import (
	"log/slog"
	"os"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/chaos/internal/locker"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// NodeTimeout is what one master may take: generous, as the machine is shared by everything in the run.
const NodeTimeout = 200 * time.Millisecond

// openQuorum opens the lock under test, as a stranger would, with opts on top.
func openQuorum(s locker.Settings, v *traffic.Votes, opts ...redlock.Option) (locker.Product, error) {
	l, err := redlock.Open(s.URLs, append([]redlock.Option{
		redlock.WithTTL(traffic.TTL), redlock.WithMaxTTL(s.MaxTTL), redlock.WithNodeTimeout(NodeTimeout),
		redlock.WithOwner(s.Owner), redlock.WithClock(s.Clock), redlock.WithTrace(v.Trace()),
		redlock.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, nil))),
	}, opts...)...)
	return locker.Product{Locker: l}, err
}
