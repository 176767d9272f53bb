package election

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlock-go/redlock"
)

// Run campaigns, calls fn while this process leads, and campaigns again when a leadership is lost before fn returns. So
// fn may be called several times, one call after the other.
//
// The context passed to fn keeps ctx's values and deadline, and ends with ctx or with the leadership, whichever comes
// first. [redlock.FromContext] returns the leader's mutex, whose Fence is the term. Run waits for fn: if fn ignores
// its context after a loss, this process does not campaign until fn returns. When fn returns or panics, Run resigns.
//
// Run returns nil when fn returns nil, and fn's error when fn fails. If the leadership was lost by then, Run ignores
// what fn returned and campaigns again. When ctx ends, Run returns an error that matches ctx's, joined with fn's. If
// Campaign fails with another error, such as [redlock.ErrClosed], Run returns it.
func (e *Election) Run(ctx context.Context, fn func(context.Context) error) error {
	if fn == nil {
		return fmt.Errorf("election: run %q: fn is nil: pass the function to call while this process leads", e.name)
	}
	for {
		l, err := e.Campaign(ctx)
		if err != nil {
			return err
		}
		lost, err := l.call(ctx, fn)
		switch ended := ctx.Err(); {
		case ended != nil && errors.Is(err, ended):
			return err
		case ended != nil:
			return errors.Join(ended, err)
		case !lost:
			return err
		}
	}
}

// call calls fn and resigns. lost reports whether the leadership ended before fn returned.
func (l *Leadership) call(ctx context.Context, fn func(context.Context) error) (lost bool, err error) {
	work, cancel := l.lock.WithContext(ctx)
	defer func() {
		cancel() // before the release: goroutines that fn started must stop before another process leads
		resigned := l.Resign(ctx)
		lost = errors.Is(resigned, redlock.ErrLost) || errors.Is(resigned, redlock.ErrClosed)
	}()
	return false, fn(work)
}
