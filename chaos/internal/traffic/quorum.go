package traffic

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/chaos/internal/broken"
	"github.com/redlock-go/redlock/chaos/internal/locker"
)

// NodeTimeout is what one master may take: generous, as the machine is shared by everything in the run.
const NodeTimeout = 200 * time.Millisecond

// quorum is the lock under test, used as a stranger would.
type quorum struct {
	*redlock.Locker
	wrapping *broken.Wrapping // breaks it; nil: nothing does
}

// openQuorum opens it, with opts on top.
func openQuorum(s locker.Settings, v *Votes, opts ...redlock.Option) (quorum, error) {
	l, err := redlock.Open(s.URLs, append([]redlock.Option{
		redlock.WithTTL(TTL), redlock.WithRestartWindow(s.Window), redlock.WithNodeTimeout(NodeTimeout),
		redlock.WithOwner(s.Owner), redlock.WithClock(s.Clock), redlock.WithTrace(v.Trace()),
		redlock.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, nil))),
	}, opts...)...)
	return quorum{Locker: l}, err
}

func (q quorum) Lock(ctx context.Context, r locker.Request) (locker.Lock, error) {
	l, err := r.Acquire(ctx, q.Locker)
	if err != nil { // a nil *Lock in a non-nil interface would hide
		return nil, err
	}
	if q.wrapping != nil {
		return q.wrapping.Hold(q.Locker, l), nil
	}
	return l, nil
}
