package schedulers_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/hibiken/asynq"
	"github.com/robfig/cron/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/election"
	"github.com/redlock-go/redlock/examples/schedulers"
	"github.com/redlock-go/redlock/redlocktest"
)

func open(t *testing.T, masters []*redlocktest.Master, opts ...redlock.Option) *redlock.Locker {
	t.Helper()
	l, err := redlock.Open(redlocktest.URLs(masters), opts...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.Close()) })
	return l
}

func TestOneMachineRunsACronJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		masters := redlocktest.StartVirtual(t, 5)
		var running, runs atomic.Int32
		for range 3 {
			locker := open(t, masters)
			c := cron.New()
			_, err := c.AddJob("@every 1m", schedulers.Once(t.Context(), locker, "report", func(ctx context.Context) error {
				assert.EqualValues(t, 1, running.Add(1))
				runs.Add(1)
				time.Sleep(10 * time.Second)
				running.Add(-1)
				return ctx.Err()
			}))
			require.NoError(t, err)
			c.Start()
			t.Cleanup(func() { <-c.Stop().Done() })
		}
		time.Sleep(10*time.Minute + 30*time.Second)
		assert.LessOrEqual(t, runs.Load(), int32(10))
		assert.GreaterOrEqual(t, runs.Load(), int32(5), "contenders may split some votes, and then none runs")
	})
}

// Every second the leader's scheduler enqueues a task. The next leader's goes on when it is lost.
func TestOneSchedulerEnqueues(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	queue := miniredis.RunT(t)
	ctx, cancel := context.WithCancel(t.Context())
	var machines sync.WaitGroup
	var schedulersRunning atomic.Int32
	for range 3 {
		e := election.New(open(t, masters), "scheduler")
		machines.Go(func() {
			err := schedulers.Schedule(ctx, e, func() (*asynq.Scheduler, error) {
				schedulersRunning.Add(1)
				s := asynq.NewScheduler(asynq.RedisClientOpt{Addr: queue.Addr()}, &asynq.SchedulerOpts{LogLevel: asynq.FatalLevel})
				_, err := s.Register("@every 1s", asynq.NewTask("report", nil))
				return s, err
			})
			assert.ErrorIs(t, err, context.Canceled)
		})
	}
	enqueued := func() int {
		all, err := queue.List("asynq:{default}:pending")
		if err != nil {
			return 0 // no such key yet
		}
		return len(all)
	}
	require.Eventually(t, func() bool { return enqueued() >= 2 }, 20*time.Second, 10*time.Millisecond)
	require.EqualValues(t, 1, schedulersRunning.Load())
	for _, m := range masters {
		m.Hold("scheduler", 5*time.Second) // the leadership is lost at its next extension
	}
	require.Eventually(t, func() bool { return schedulersRunning.Load() == 2 }, 20*time.Second, 10*time.Millisecond)
	before := enqueued()
	require.Eventually(t, func() bool { return enqueued() > before }, 20*time.Second, 10*time.Millisecond)
	cancel()
	machines.Wait()
}
