package gocronlock

import (
	"context"
	"fmt"
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

// IsLeader returns nil while [Elector.Run] leads, and otherwise an error that matches [election.ErrNotLeader].
func (e *Elector) IsLeader(context.Context) error {
	_, err := e.leads()
	return err
}

// leads returns the mutex of the present leadership.
func (e *Elector) leads() (*redlock.Lock, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.leader == nil {
		return nil, election.ErrNotLeader
	}
	if err := e.leader.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", election.ErrNotLeader, err)
	}
	return e.leader, nil
}

// Job wraps the function fn of a job for gocron.NewTask. The context passed to fn ends with gocron's, or with the term
// in which the job began; [redlock.FromContext] returns the leader's mutex, whose Fence is the term. If this machine
// does not lead, the function returns an error and does not call fn.
func (e *Elector) Job(fn func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		leader, err := e.leads()
		if err != nil {
			return err
		}
		ctx, cancel := leader.WithContext(ctx)
		defer cancel()
		return fn(ctx)
	}
}
