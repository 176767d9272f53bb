package schedulers

import (
	"context"

	"github.com/hibiken/asynq"

	"github.com/redlock-go/redlock/election"
)

// Schedule runs an asynq scheduler on the machine that leads, until ctx ends. asynq itself does not elect: two
// schedulers enqueue every task twice. A scheduler cannot be started again after its shutdown, so each term makes one
// with create.
func Schedule(ctx context.Context, e *election.Election, create func() (*asynq.Scheduler, error)) error {
	return e.Run(ctx, func(ctx context.Context) error {
		s, err := create()
		if err != nil {
			return err
		}
		if err := s.Start(); err != nil {
			return err
		}
		<-ctx.Done() // the leadership is lost, or the program ends
		s.Shutdown()
		return ctx.Err()
	})
}
