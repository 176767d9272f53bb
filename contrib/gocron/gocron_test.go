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
	"github.com/redlock-go/redlock/internal/testmain"
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
			time.Sleep(10 * time.Millisecond) // machines that ask at once may split a vote, and then none runs
		}
		time.Sleep(10*time.Second + 900*time.Millisecond)
		assert.EqualValues(t, 10, runs.Load())
	})
}

// What Lock, Job and Unlock do, run after run, however the last one ended.
func TestEveryRunHasItsOwnLock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		masters := redlocktest.StartVirtual(t, 3)
		locks := gocronlock.NewLocker(open(t, masters), redlock.WithTTL(3*time.Second), redlock.WithFencing())
		own, stops := errors.New("own"), errors.New("the scheduler stops")
		stopped, stop := context.WithCancelCause(t.Context())
		stop(stops)
		var last uint64
		for range 3 {
			for _, tt := range []struct {
				ctx   context.Context
				cause error // of the end of the job's context
				end   func()
				want  error // of Unlock
			}{
				{t.Context(), nil, func() {}, nil},
				{stopped, stops, func() {}, nil},
				{t.Context(), redlock.ErrLost, func() {
					for _, m := range masters {
						m.Wipe()
					}
					time.Sleep(4 * time.Second) // the next extension finds it, and then the lock expires
				}, redlock.ErrLost},
				{t.Context(), nil, func() { masters[0].Freeze(); masters[1].Freeze() }, redlock.ErrNoQuorum},
			} {
				lock, err := locks.Lock(t.Context(), "report")
				require.NoError(t, err)
				began := time.Now()
				_, err = locks.Lock(t.Context(), "report")
				require.ErrorIs(t, err, redlock.ErrHeld)
				require.Less(t, time.Since(began), time.Second, "it does not wait")
				err = locks.Job("report", func(ctx context.Context) error {
					lock, ok := redlock.FromContext(ctx)
					require.True(t, ok)
					require.Greater(t, lock.Fence(), last)
					last = lock.Fence()
					tt.end()
					require.ErrorIs(t, context.Cause(ctx), tt.cause)
					return own
				})(tt.ctx)
				require.Equal(t, own, err)
				require.ErrorIs(t, lock.Unlock(t.Context()), tt.want)
				require.ErrorIs(t, lock.Unlock(t.Context()), redlock.ErrReleased)
				masters[0].Thaw()
				masters[1].Thaw()
				time.Sleep(10 * time.Second)
			}
		}
	})
}

// A run that lost its lock before it began must not run under the lock of the next run. Its late Unlock must not take
// that lock away.
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
		require.ErrorContains(t, run(t.Context()), `name the job "report"`)
		first := lock()
		lose()
		require.ErrorIs(t, run(t.Context()), redlock.ErrLost)
		second := lock()
		lose()
		third := lock()
		for _, late := range []gocron.Lock{first, second} {
			require.ErrorIs(t, late.Unlock(t.Context()), redlock.ErrLost)
		}
		require.NoError(t, run(t.Context()))
		require.ErrorContains(t, run(t.Context()), "not locked", "the second run, which is late")
		assert.Equal(t, 1, runs)
		require.NoError(t, third.Unlock(t.Context()))
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

// The context of a job is that of the present leadership, leadership after leadership, and ends with it.
func TestEveryTermHasItsOwnContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		masters := redlocktest.StartVirtual(t, 3)
		elector := gocronlock.NewElector(election.New(open(t, masters), "scheduler", redlock.WithTTL(3*time.Second)))
		own := errors.New("own")
		var term uint64
		job := elector.Job(func(ctx context.Context) error {
			lock, ok := redlock.FromContext(ctx)
			require.True(t, ok)
			term = lock.Fence()
			return errors.Join(own, context.Cause(ctx))
		})
		untilTheEnd := elector.Job(func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
		notLeader := func(why error) {
			for _, err := range []error{elector.IsLeader(t.Context()), job(t.Context())} {
				require.ErrorIs(t, err, election.ErrNotLeader)
				require.NotErrorIs(t, err, own, "the job did not run")
				if why != nil {
					require.ErrorIs(t, err, why)
				}
			}
		}
		notLeader(nil)
		leads := func(after uint64) uint64 {
			require.NoError(t, elector.IsLeader(t.Context()))
			require.Equal(t, errors.Join(own), job(t.Context()), "its context has not ended")
			require.Greater(t, term, after)
			return term
		}
		var last uint64
		for range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			over := make(chan error, 1)
			go func() { over <- elector.Run(ctx) }()
			synctest.Wait()
			first := leads(last)
			ended, end := context.WithCancelCause(t.Context())
			cause := errors.New("the scheduler stops")
			end(cause)
			require.ErrorIs(t, job(ended), cause)
			running := make(chan error, 1)
			go func() { running <- untilTheEnd(t.Context()) }()
			synctest.Wait()

			for _, m := range masters {
				m.Hold("scheduler", 2*time.Second)
			}
			time.Sleep(1100 * time.Millisecond) // the next extension finds it
			synctest.Wait()
			require.Len(t, running, 1, "the context of the job has ended")
			require.ErrorIs(t, <-running, redlock.ErrLost)
			notLeader(redlock.ErrLost)
			time.Sleep(5 * time.Second)
			last = leads(first)
			cancel()
			require.ErrorIs(t, <-over, context.Canceled)
			notLeader(redlock.ErrReleased)

			// The machine leads by another way than Run: no job runs, with whatever context.
			l, err := elector.Campaign(t.Context())
			require.NoError(t, err)
			notLeader(redlock.ErrReleased)
			require.NoError(t, l.Resign(t.Context()))
		}
	})
}

func TestMain(m *testing.M) { testmain.Run(m) }
