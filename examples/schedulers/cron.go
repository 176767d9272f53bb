// Package schedulers runs the jobs of well-known schedulers on one of many machines: robfig/cron under a lock, and
// asynq's scheduler under an election. Tests run both.
package schedulers

import (
	"context"
	"errors"
	"log"

	"github.com/robfig/cron/v3"

	"github.com/redlock-go/redlock"
)

// Once returns a job for robfig/cron that one machine runs at a time. The machines that find the name held skip the
// run. The context that fn gets ends with ctx, or when the lock is lost.
func Once(ctx context.Context, locker *redlock.Locker, name string, fn func(context.Context) error) cron.Job {
	return cron.FuncJob(func() {
		lock, err := locker.TryLock(ctx, name)
		if errors.Is(err, redlock.ErrHeld) {
			return // another machine runs it
		}
		if err != nil {
			log.Printf("%s is skipped: %v", name, err)
			return
		}
		work, cancel := lock.WithContext(ctx)
		defer cancel()
		defer func() { _ = lock.Unlock(ctx) }() // if fn panics, which cron may recover
		if err := errors.Join(fn(work), lock.Unlock(ctx)); err != nil {
			log.Printf("%s: %v", name, err)
		}
	})
}
