package stacktest_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
)

// call is one way to wait for the name x. i tells the callers apart.
type call func(ctx context.Context, l *redlock.Locker, i int) (*redlock.Lock, error)

// queued are the ways to wait for x, and for each what another process holds meanwhile.
var queued = map[string]struct {
	wait  call
	holds call
	all   bool // when the holder releases, all waiters get in
}{
	"mutex":          {wait: byMutex, holds: byMutex},
	"mutex, readers": {wait: byMutex, holds: byReader},
	"reader":         {wait: byReader, holds: byWriter, all: true},
	"reader, mutex":  {wait: byReader, holds: byMutex, all: true},
	"writer":         {wait: byWriter, holds: byReader},
	"one owner": {wait: func(ctx context.Context, l *redlock.Locker, _ int) (*redlock.Lock, error) {
		return l.Reentrant("x", "me").Lock(ctx)
	}, holds: byMutex, all: true},
	"many owners":      {wait: byOwner, holds: byMutex},
	"owners":           {wait: byOwner, holds: byOwner},
	"permits":          {wait: byPermit, holds: byMutex, all: true},
	"permits, one out": {wait: byOnlyPermit, holds: byOnlyPermit},
	"several": {wait: func(ctx context.Context, l *redlock.Locker, _ int) (*redlock.Lock, error) {
		return l.LockAll(ctx, []string{"w", "x", "y"})
	}, holds: byMutex},
}

func byMutex(ctx context.Context, l *redlock.Locker, _ int) (*redlock.Lock, error) {
	return l.Lock(ctx, "x")
}

func byReader(ctx context.Context, l *redlock.Locker, _ int) (*redlock.Lock, error) {
	return l.RW("x").RLock(ctx)
}

func byWriter(ctx context.Context, l *redlock.Locker, _ int) (*redlock.Lock, error) {
	return l.RW("x").Lock(ctx)
}

func byOwner(ctx context.Context, l *redlock.Locker, i int) (*redlock.Lock, error) {
	return l.Reentrant("x", strconv.Itoa(i)).Lock(ctx)
}

func byPermit(ctx context.Context, l *redlock.Locker, _ int) (*redlock.Lock, error) {
	return l.Semaphore("x", 500).Acquire(ctx)
}

func byOnlyPermit(ctx context.Context, l *redlock.Locker, _ int) (*redlock.Lock, error) {
	return l.Semaphore("x", 1).Acquire(ctx)
}

// waiters lets n callers wait. The returned function waits until they have returned and returns their locks.
func (c call) waiters(ctx context.Context, t *testing.T, l *redlock.Locker, n int) (locks func() []*redlock.Lock) {
	t.Helper()
	var wg sync.WaitGroup
	got := make([]*redlock.Lock, n)
	for i := range n {
		wg.Go(func() { got[i], _ = c(ctx, l, i) })
	}
	return func() []*redlock.Lock {
		wg.Wait()
		return got
	}
}

// While a holder does nothing, the number of commands does not depend on how many callers of a Locker wait.
func TestManyWaitersAskNoMoreThanOne(t *testing.T) {
	t.Parallel()
	const counted = 20 * time.Second
	for name, tt := range queued {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rates := make(map[int]int)
			for _, n := range []int{1, 300} {
				bubble(t, 3, func(t *testing.T, w *world) {
					holder, waiter := w.locker(t, "a"), w.locker(t, "b")
					held, err := tt.holds(t.Context(), holder, -1)
					require.NoError(t, err)
					ctx, cancel := context.WithCancel(t.Context())
					locks := tt.wait.waiters(ctx, t, waiter, n)
					time.Sleep(5 * time.Second)
					w.forget()
					time.Sleep(counted)
					rates[n] = len(w.asked()) / int(counted/time.Second)
					cancel()
					locks()
					unlock(t, held)
				})
			}
			t.Logf("commands a second of 3 masters by the number of waiters: %v", rates)
			for n, rate := range rates {
				assert.LessOrEqual(t, rate, 60, "%d waiters", n)
			}
		})
	}
}

// When the holder releases, the waiters that can hold the name together do so soon.
func TestManyWaitersGetInTogether(t *testing.T) {
	t.Parallel()
	const delay, n = 5 * time.Millisecond, 80
	for name, tt := range queued {
		if !tt.all {
			continue
		}
		subWorld(t, name, 3, func(t *testing.T, w *world) {
			holder, waiter := w.locker(t, "a"), w.locker(t, "b")
			w.distance("b", delay)
			held, err := tt.holds(t.Context(), holder, -1)
			require.NoError(t, err)
			locks := tt.wait.waiters(t.Context(), t, waiter, n)
			time.Sleep(20 * time.Second)
			synctest.Wait()
			began := time.Now()
			unlock(t, held)
			all := locks()
			took := time.Since(began)
			t.Logf("%d waiters have the name after %v; a round trip takes %v", n, took, 2*delay)
			assert.Less(t, took, 300*time.Millisecond)
			for _, lk := range all {
				require.NotNil(t, lk)
			}
		})
	}
}

// Whatever the bounds of its retries are, an intent lives from one look to the next, and ends soon after a waiter that
// died.
func TestAnIntentFitsTheBoundsOfTheRetries(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		retry redlock.LockOption
		looks int           // they outlast every pause between two probes
		life  time.Duration // of what a dead waiter leaves
	}{
		"rarely":     {redlock.WithRetry(time.Hour, time.Hour), 30, time.Second + 3*timeout},
		"very often": {redlock.WithRetry(time.Millisecond, 5*time.Millisecond), 5, 5*time.Millisecond + 3*timeout},
	} {
		for _, k := range exclusive {
			kind, call := k.name, k.lock
			subWorld(t, name+", "+kind, 5, func(t *testing.T, w *world) {
				a, b := w.locker(t, "a"), w.locker(t, "b")
				in := rlock(t, a, "x")
				synctest.Wait()
				waiter := inBackground(func() (*redlock.Lock, error) { return call(context.Background(), b, tt.retry) })
				for range tt.looks {
					time.Sleep(97 * time.Millisecond)
					require.Len(t, w.intents(), 5)
				}
				w.Host("b").Freeze()
				died := time.Now()
				got, err := a.RW("x").RLock(within(t, time.Minute), redlock.WithRetry(10*time.Millisecond, 10*time.Millisecond))
				require.NoError(t, err)
				assert.LessOrEqual(t, time.Since(died), tt.life+20*time.Millisecond)
				unlock(t, got)
				unlock(t, in)
				w.Host("b").Thaw()
				unlock(t, granted(t, waiter, time.Minute))
			})
		}
	}
}

// A TryRLock that is refused does not join the queue of its name, and changes nothing there.
func TestARefusedTryRLockDisturbsNoQueue(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a"), w.locker(t, "b", patient)
		for _, holder := range []*redlock.Locker{a, b} { // in another process, and in this one
			held := lock(t, holder, "x")
			first := locking(t.Context(), b, "x")
			second := locking(t.Context(), b, "x")
			third := inBackground(func() (*redlock.Lock, error) { return b.RW("x").Lock(t.Context()) })
			for range 5 {
				_, err := b.RW("x").TryRLock(t.Context())
				require.ErrorIs(t, err, redlock.ErrHeld)
				_, err = b.TryLock(t.Context(), "x")
				require.ErrorIs(t, err, redlock.ErrHeld)
				time.Sleep(time.Second)
			}
			unlock(t, held)
			for _, out := range []<-chan attempt{first, second, third} {
				got := granted(t, out, 100*time.Millisecond)
				_, err := b.RW("x").TryRLock(t.Context())
				require.ErrorIs(t, err, redlock.ErrHeld)
				unlock(t, got)
			}
			unlock(t, rlock(t, b, "x"))
			time.Sleep(time.Second)
			assert.Empty(t, w.leftovers("x"))
		}
	})
}

// The keepalive schedule may be about to release a lost lock while its holder unlocks it. A TryLock that follows waits
// for that release, and does not report that the name is held.
func TestATryLockRightAfterTheUnlockOfALostLockWaitsForTheRelease(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		releasing, goOn := make(chan struct{}), make(chan struct{})
		var once sync.Once
		l := w.locker(t, "a", redlock.WithoutKeepalive(), redlock.WithTrace(&redlock.Trace{
			Vote: func(_ context.Context, e redlock.VoteEvent) {
				if e.Name == "x" && e.Op == "release" && e.Err != nil {
					once.Do(func() {
						close(releasing)
						<-goOn
					})
				}
			},
		}))
		w.warm(t, l) // the masters know the scripts
		lk := lock(t, l, "x")
		synctest.Wait()
		w.Master(0).Set("x", "another's", time.Hour)
		require.NoError(t, lk.Extend(t.Context()))
		synctest.Wait() // its release on the first master is not durable, so a suspect refuses it at once
		w.Master(0).Stop()
		until := lk.Until()
		for time.Until(until) > 0 { // keeps it suspect
			_, _ = l.Inspect(t.Context(), "another")
			time.Sleep(min(5*time.Millisecond, max(time.Until(until), 0)))
		}
		<-lk.Context().Done()
		<-releasing // the schedule is releasing it
		require.ErrorIs(t, lk.Unlock(t.Context()), redlock.ErrLost)
		next := inBackground(func() (*redlock.Lock, error) { return l.TryLock(t.Context(), "x") })
		close(goOn)
		unlock(t, granted(t, next, time.Second))
	})
}
