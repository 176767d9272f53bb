package gocronlock

import (
	"context"
	"sync"

	"github.com/go-co-op/gocron/v2"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/election"
)

// Elector is a gocron.Elector: only the scheduler on the leading machine runs jobs. It is safe for concurrent use.
type Elector struct {
	*election.Election

	mu     sync.Mutex
	leader *redlock.Lock // the mutex of the last leadership; nil before the first
}

var _ gocron.Elector = (*Elector)(nil)

// NewElector returns an Elector for an election. The machine leads only while [Elector.Run] runs.
func NewElector(e *election.Election) *Elector { return &Elector{Election: e} }

// Run campaigns, leads, and campaigns again after a loss, until ctx ends. Then it resigns and returns an error that
// matches ctx's. It returns other errors as [election.Election.Run] does. Shut the scheduler down before ctx ends:
// another machine may lead as soon as Run has returned.
func (e *Elector) Run(ctx context.Context) error {
	return e.Election.Run(ctx, func(ctx context.Context) error {
		e.mu.Lock()
		e.leader, _ = redlock.FromContext(ctx)
		e.mu.Unlock()
		<-ctx.Done()
		return ctx.Err()
	})
}

// Job wraps the function fn of a job for gocron.NewTask. The context passed to fn ends with gocron's, or with the
// leadership; [redlock.FromContext] returns the leader's mutex, whose Fence is the term. If this machine no longer
// leads, the function returns an error and does not call fn.
func (e *Elector) Job(fn func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := e.IsLeader(ctx); err != nil {
			return err
		}
		e.mu.Lock()
		leader := e.leader
		e.mu.Unlock()
		if leader == nil {
			return election.ErrNotLeader
		}
		ctx, cancel := leader.WithContext(ctx)
		defer cancel()
		return fn(ctx)
	}
}
