package gocronlock_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/contrib/gocron"
	"github.com/redlock-go/redlock/election"
	"github.com/redlock-go/redlock/redlocktest"
)

// open opens a Locker of its own, as every machine has one.
func open(t *testing.T, masters []*redlocktest.Master) *redlock.Locker {
	t.Helper()
	l, err := redlock.Open(redlocktest.URLs(masters), redlock.WithNodeTimeout(2*time.Second)) // a busy machine
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.Close()) })
	return l
}

// schedule starts a scheduler with one job, every second.
func schedule(
	t *testing.T, fn func(context.Context) error, job string, opts ...gocron.SchedulerOption,
) gocron.Scheduler {
	t.Helper()
	s, err := gocron.NewScheduler(opts...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Shutdown() })
	_, err = s.NewJob(gocron.DurationJob(time.Second), gocron.NewTask(fn), gocron.WithName(job))
	require.NoError(t, err)
	s.Start()
	return s
}

func TestOneMachineRunsAJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		masters := redlocktest.StartVirtual(t, 5)
		var running, runs atomic.Int32
		for range 3 {
			locks := gocronlock.NewLocker(open(t, masters))
			schedule(t, locks.Job("report", func(ctx context.Context) error {
				assert.EqualValues(t, 1, running.Add(1))
				runs.Add(1)
				time.Sleep(500 * time.Millisecond)
				running.Add(-1)
				return ctx.Err()
			}), "report", gocron.WithDistributedLocker(locks))
		}
		time.Sleep(10*time.Second + 900*time.Millisecond)
		assert.LessOrEqual(t, runs.Load(), int32(10))
		assert.GreaterOrEqual(t, runs.Load(), int32(8), "contenders may split a vote, and then none runs")
	})
}

func TestTheContextOfAJobEndsWithItsLock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		masters := redlocktest.StartVirtual(t, 3)
		locks := gocronlock.NewLocker(open(t, masters), redlock.WithTTL(3*time.Second), redlock.WithFencing())
		causes := make(chan error, 100)
		schedule(t, locks.Job("report", func(ctx context.Context) error {
			lock, ok := redlock.FromContext(ctx)
			assert.True(t, ok)
			assert.NotZero(t, lock.Fence())
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return ctx.Err()
		}), "report", gocron.WithDistributedLocker(locks))
		time.Sleep(1500 * time.Millisecond)
		require.Empty(t, causes)
		for _, m := range masters {
			m.Hold("report", time.Hour)
		}
		require.ErrorIs(t, <-causes, redlock.ErrLost)
	})
}

func TestAJobThatIsNotLockedDoesNotRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		locks := gocronlock.NewLocker(open(t, redlocktest.StartVirtual(t, 3)))
		err := locks.Job("report", func(context.Context) error { panic("not locked") })(t.Context())
		require.ErrorContains(t, err, `name the job "report"`)
	})
}

// A run that lost its lock before it began must not run under the lock of the next run.
func TestALockIsForOneRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		masters := redlocktest.StartVirtual(t, 3)
		locks := gocronlock.NewLocker(open(t, masters))
		runs := 0
		run := locks.Job("report", func(context.Context) error { runs++; return nil })
		lock := func() gocron.Lock {
			l, err := locks.Lock(t.Context(), "report")
			require.NoError(t, err)
			return l
		}
		lose := func() {
			for _, m := range masters {
				m.Hold("report", time.Second)
			}
			time.Sleep(15 * time.Second)
		}
		first := lock()
		lose()
		require.ErrorIs(t, run(t.Context()), redlock.ErrLost)
		second := lock()
		lose()
		third := lock()
		require.NoError(t, run(t.Context()))
		require.ErrorContains(t, run(t.Context()), "not locked", "the second run, which is late")
		assert.Equal(t, 1, runs)
		for l, want := range map[gocron.Lock]error{first: redlock.ErrLost, second: redlock.ErrLost, third: nil} {
			require.ErrorIs(t, l.Unlock(t.Context()), want)
		}
		require.NoError(t, lock().Unlock(t.Context()))
		require.ErrorContains(t, run(t.Context()), "not locked", "it was unlocked")
	})
}

func TestTheLeaderRunsAllJobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		masters := redlocktest.StartVirtual(t, 5)
		var mu sync.Mutex
		var ran []int // by which machine
		stop := make([]context.CancelFunc, 3)
		var machines sync.WaitGroup
		for i := range stop {
			elector := gocronlock.NewElector(election.New(open(t, masters), "scheduler"))
			var ctx context.Context
			ctx, stop[i] = context.WithCancel(t.Context())
			machines.Go(func() { assert.ErrorIs(t, elector.Run(ctx), context.Canceled) })
			synctest.Wait()
			schedule(t, elector.Job(func(ctx context.Context) error {
				lock, _ := redlock.FromContext(ctx)
				assert.NotZero(t, lock.Fence())
				mu.Lock()
				defer mu.Unlock()
				ran = append(ran, i)
				return nil
			}), "report", gocron.WithDistributedElector(elector))
		}
		time.Sleep(3500 * time.Millisecond)
		stop[0]()
		time.Sleep(3 * time.Second)
		stop[1]()
		stop[2]()
		machines.Wait()
		mu.Lock()
		defer mu.Unlock()
		require.Len(t, ran, 6)
		next := ran[3]
		assert.NotZero(t, next)
		assert.Equal(t, []int{0, 0, 0, next, next, next}, ran)
	})
}

func TestTheContextOfAJobEndsWithTheLeadership(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		masters := redlocktest.StartVirtual(t, 3)
		elector := gocronlock.NewElector(election.New(open(t, masters), "scheduler", redlock.WithTTL(3*time.Second)))
		job := elector.Job(func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
		require.ErrorIs(t, job(t.Context()), election.ErrNotLeader)
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() { over <- elector.Run(ctx) }()
		synctest.Wait()
		time.AfterFunc(time.Second, func() {
			for _, m := range masters {
				m.Hold("scheduler", time.Second)
			}
		})
		require.ErrorIs(t, job(t.Context()), redlock.ErrLost)
		require.ErrorIs(t, job(t.Context()), election.ErrNotLeader)
		time.Sleep(5 * time.Second)
		own := errors.New("own")
		ended, end := context.WithCancelCause(t.Context())
		end(own)
		require.ErrorIs(t, job(ended), own, "it leads again")
		cancel()
		require.ErrorIs(t, <-over, context.Canceled)
	})
}

// When the next term has begun, and Run has not yet called its function, the lock at hand is that of the last term.
func TestAJobNeverHasTheContextOfAnEarlierTerm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		elector := gocronlock.NewElector(election.New(open(t, redlocktest.StartVirtual(t, 3)), "scheduler"))
		var terms []uint64
		job := elector.Job(func(ctx context.Context) error {
			lock, _ := redlock.FromContext(ctx)
			terms = append(terms, lock.Fence())
			return ctx.Err()
		})
		term := func() {
			ctx, cancel := context.WithCancel(t.Context())
			over := make(chan error, 1)
			go func() { over <- elector.Run(ctx) }()
			synctest.Wait()
			assert.NoError(t, elector.IsLeader(t.Context()))
			assert.NoError(t, job(t.Context()))
			cancel()
			assert.ErrorIs(t, <-over, context.Canceled)
		}
		term()
		next, err := elector.Campaign(t.Context())
		require.NoError(t, err)
		require.ErrorIs(t, elector.IsLeader(t.Context()), election.ErrNotLeader, "Run does not lead")
		require.ErrorIs(t, job(t.Context()), election.ErrNotLeader)
		require.NoError(t, next.Resign(t.Context()))
		term()
		require.Len(t, terms, 2)
		assert.Less(t, terms[0], terms[1])
	})
}
