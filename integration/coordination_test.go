package integration_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/election"
	"github.com/redlock-go/redlock/internal/redisbox"
)

// Three Lockers share a semaphore while two of five masters are frozen, thawed and killed. There are never more holders
// than slots, every slot is used, and nothing is left.
func TestASemaphoreWithTwoOfFiveFailing(t *testing.T) {
	masters := masters(t)
	const slots = 2
	var inside, most, acquired atomic.Int64
	done := make(chan struct{})
	var callers sync.WaitGroup
	for i := range 3 {
		sem := open(t, masters, redlock.WithOwner(fmt.Sprint("process-", i))).Semaphore("renderers", slots)
		for range 3 {
			callers.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
					}
					permit, err := sem.Acquire(t.Context())
					if !assert.NoError(t, err) {
						return
					}
					now := inside.Add(1)
					for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
					}
					acquired.Add(1)
					time.Sleep(5 * time.Millisecond)
					inside.Add(-1)
					if err := permit.Unlock(t.Context()); !errors.Is(err, redlock.ErrNoQuorum) { // masters may be slow
						assert.NoError(t, err)
					}
				}
			})
		}
	}
	progress := func(during string) {
		t.Helper()
		before := acquired.Load()
		eventually(t, patience, func() error {
			if n := acquired.Load() - before; n < 20 {
				return fmt.Errorf("%s: only %d permits", during, n)
			}
			return nil
		})
	}
	progress("healthy")
	all(t, (*redisbox.Master).Freeze, masters[:2]...)
	progress("two frozen")
	all(t, (*redisbox.Master).Thaw, masters[:2]...)
	progress("thawed")
	all(t, (*redisbox.Master).Kill, masters[3:]...)
	progress("two killed")
	close(done)
	callers.Wait()
	assert.EqualValues(t, slots, most.Load(), "of %d permits", acquired.Load())
	requireEmpty(t, settled, masters[:3]...)
}

func TestASemaphoreNamesBothNumbersOfSlots(t *testing.T) {
	masters := masters(t)
	ours, others := open(t, masters), open(t, masters)
	permit, err := ours.Semaphore("renderers", 3).Acquire(within(t, patience))
	require.NoError(t, err)
	_, err = others.Semaphore("renderers", 5).Acquire(within(t, patience))
	var slots *redlock.SlotsError
	require.ErrorAs(t, err, &slots)
	assert.Equal(t, redlock.SlotsError{Name: "renderers", Want: 5, Have: 3}, *slots)
	unlock(t, permit)
	requireEmpty(t, settled, masters...)
}

// The process ends after Unlock, and two masters were frozen during it. Nobody gets the name before the minimum hold is
// over, and no master keeps it for longer.
func TestAMinHoldOutlivesItsProcessAndFrozenMasters(t *testing.T) {
	masters := masters(t)
	const d = largest // so that Unlock and Close, which wait for the frozen ones, return well before it is over
	ours := open(t, masters, redlock.WithNodeTimeout(nodeTimeout/2))
	others := open(t, masters, redlock.WithRetry(10*time.Millisecond, 50*time.Millisecond))
	warm := lock(t, ours, "warm", redlock.WithMinHold(100*time.Millisecond))
	unlock(t, warm)
	requireEmpty(t, patience, masters...)

	job := lock(t, ours, "nightly", redlock.WithMinHold(d))
	acquired := time.Now()
	for _, m := range masters {
		requireValue(t, settled, m, "nightly", job.Token())
	}
	all(t, (*redisbox.Master).Freeze, masters[:2]...)
	unlock(t, job)
	require.NoError(t, ours.Close())
	_, err := others.TryLock(within(t, patience), "nightly")
	require.ErrorIs(t, err, redlock.ErrHeld)
	for _, m := range masters[2:] {
		assert.True(t, strings.HasPrefix(value(m, "nightly"), "min-hold:"), value(m, "nightly"))
	}
	all(t, (*redisbox.Master).Thaw, masters[:2]...)

	next, err := others.Lock(within(t, patience), "nightly")
	require.NoError(t, err)
	assert.GreaterOrEqual(t, time.Since(acquired), d-100*time.Millisecond, "measured by another clock, and from later")
	unlock(t, next)
	left := time.Until(acquired.Add(d + nodeTimeout))
	requireEmpty(t, max(left, settled), masters...)
}

// Three candidates on five masters: the leader resigns, its Locker is closed, and its masters are silent. Terms grow,
// and every earlier leadership has ended when the next one begins.
func TestAnElectionOnFiveMasters(t *testing.T) {
	masters := masters(t)
	type elected struct {
		*election.Leadership
		candidate int
	}
	wins := make(chan elected, 100)
	var mu sync.Mutex
	var earlier []*election.Leadership
	var candidates sync.WaitGroup
	var lockers [3]*redlock.Locker
	var resign [3]chan struct{}
	ctx, cancel := context.WithCancel(t.Context())
	defer candidates.Wait()
	defer cancel()
	for i := range lockers {
		lockers[i], resign[i] = open(t, masters, redlock.WithOwner(fmt.Sprint("candidate-", i))), make(chan struct{}, 1)
		e := election.New(lockers[i], "scheduler")
		candidates.Go(func() {
			for {
				l, err := e.Campaign(ctx)
				if err != nil {
					return // ctx has ended, or the Locker is closed
				}
				mu.Lock()
				for _, old := range earlier {
					assert.Error(t, old.Err(), "two leaders")
				}
				earlier = append(earlier, l)
				mu.Unlock()
				wins <- elected{l, i}
				select {
				case <-l.Context().Done():
				case <-resign[i]:
				case <-ctx.Done():
				}
				_ = l.Resign(t.Context())
			}
		})
	}
	last := uint64(0)
	next := func(why string) elected {
		t.Helper()
		select {
		case now := <-wins:
			assert.Greater(t, now.Term(), last, why)
			last = now.Term()
			return now
		case <-time.After(patience):
			t.Fatalf("%s: nobody leads", why)
			return elected{}
		}
	}
	l := next("first")
	observer := election.New(open(t, masters), "scheduler")
	var leader election.Leader
	require.Eventually(t, func() bool { // a busy machine may answer later than the node timeout
		var err error
		leader, err = observer.Leader(within(t, patience))
		return err == nil
	}, patience, 50*time.Millisecond)
	assert.Equal(t, fmt.Sprint("candidate-", l.candidate), leader.Owner)
	assert.Equal(t, l.Term(), leader.Term)

	resign[l.candidate] <- struct{}{}
	l = next("after a resignation")
	all(t, (*redisbox.Master).Kill, masters[:2]...)
	require.NoError(t, lockers[l.candidate].Close())
	l = next("after a close, with two masters killed")
	all(t, (*redisbox.Master).Freeze, masters[2])
	select {
	case <-l.Context().Done():
	case <-time.After(ttl + nodeTimeout):
		assert.Fail(t, "it leads without a majority")
	}
	require.ErrorIs(t, l.Err(), redlock.ErrLost)
	_, err := observer.Leader(within(t, patience))
	require.ErrorIs(t, err, redlock.ErrNoQuorum)
	all(t, (*redisbox.Master).Thaw, masters[2])
	next("after a majority was silent")
}
