package stacktest_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
)

// intents are the keys of waiters' intents on all masters.
func (w *world) intents() (keys []string) {
	synctest.Wait()
	for _, m := range w.Masters() {
		for _, key := range m.Keys() {
			if strings.HasPrefix(key, "redlock:intents:") {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// Every exclusive waiter keeps new readers out while one is in, for as long as it waits, and no longer.
func TestAnExclusiveWaiterKeepsNewReadersOutUntilItGivesUp(t *testing.T) {
	t.Parallel()
	for _, k := range exclusive {
		subWorld(t, k.name, 5, func(t *testing.T, w *world) {
			a, b := w.locker(t, "a"), w.locker(t, "b")
			in := rlock(t, a, "x")
			ctx, cancel := context.WithCancel(t.Context())
			waiter := k.locking(ctx, b)
			for range 10 { // longer than an intent lives, at every point between two probes
				time.Sleep(700 * time.Millisecond)
				waiting(t, waiter)
				for _, l := range []*redlock.Locker{a, b} {
					_, err := l.RW("x").TryRLock(t.Context())
					require.ErrorIs(t, err, redlock.ErrHeld)
				}
				unlock(t, rlock(t, a, "w")) // there are no readers to keep out
			}
			require.NoError(t, in.Extend(t.Context()), "who is in stays in")
			reader := inBackground(func() (*redlock.Lock, error) { return a.RW("x").RLock(t.Context(), patient) })
			time.Sleep(2 * time.Second)
			waiting(t, reader)
			cancel()
			require.ErrorIs(t, ended(t, waiter, 0).err, redlock.ErrHeld)
			got := granted(t, reader, 50*time.Millisecond, "the waiter gave up, and the readers are woken")
			assert.Empty(t, w.intents())
			unlock(t, got)
			unlock(t, in)
			assert.Empty(t, w.leftovers("x"))
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
			subWorld(t, name+", "+k.name, 5, func(t *testing.T, w *world) {
				a, b := w.locker(t, "a"), w.locker(t, "b")
				in := rlock(t, a, "x")
				synctest.Wait()
				waiter := k.locking(context.Background(), b, tt.retry)
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

// share counts the permits of one process.
type share struct {
	mu      sync.Mutex
	permits int
	longest time.Duration // the longest wait
}

// waited records a wait, also that of a call that failed.
func (s *share) waited(wait time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.longest = max(s.longest, wait)
	if err == nil {
		s.permits++
	}
}

// wantPermits has callers of a process acquire permits and hold them for 5 ms, again and again until ctx ends.
func (w *world) wantPermits(
	ctx context.Context, t *testing.T, all *sync.WaitGroup, host string, trip time.Duration, callers, slots int,
) *share {
	t.Helper()
	l, s := w.locker(t, host, redlock.WithoutHandOver()), new(share)
	w.distance(host, trip/2)
	for range callers {
		all.Go(func() {
			for ctx.Err() == nil {
				began := time.Now()
				permit, err := l.Semaphore("x", slots).Acquire(ctx)
				s.waited(time.Since(began), err)
				if err != nil {
					return // ctx has ended
				}
				time.Sleep(5 * time.Millisecond)
				assert.NoError(t, permit.Unlock(context.WithoutCancel(ctx)))
			}
		})
	}
	return s
}

// Several processes want all permits. One that is further from the masters than another gets some, and processes that
// never wait for long do not keep another one out.
func TestEveryProcessGetsPermits(t *testing.T) {
	t.Parallel()
	const near, ms = 100 * time.Microsecond, time.Millisecond
	for _, tt := range []struct {
		trips   []time.Duration // the round trip of each process
		callers int             // of each process
		slots   int
		least   int // of the permits of each process, in hundredths of those of the one that has most
	}{
		{[]time.Duration{near, 2 * ms}, 3, 1, 25},
		{[]time.Duration{near, 2 * ms}, 9, 3, 25},
		{[]time.Duration{near, 10 * ms}, 6, 2, 5},
		{[]time.Duration{ms, ms, ms}, 1, 2, 25},
		{[]time.Duration{ms, ms, ms, ms, ms}, 1, 4, 25},
	} {
		subWorld(t, fmt.Sprint(tt.trips, ", ", tt.slots), 3, func(t *testing.T, w *world) {
			ctx := within(t, 3*time.Second)
			var shares []*share
			var all sync.WaitGroup
			for i, trip := range tt.trips {
				shares = append(shares, w.wantPermits(ctx, t, &all, fmt.Sprint("host-", i), trip, tt.callers, tt.slots))
			}
			all.Wait()
			most := 0
			for _, s := range shares {
				most = max(most, s.permits)
			}
			for i, s := range shares {
				assert.GreaterOrEqual(t, 100*s.permits, tt.least*most, "host-%d", i)
				assert.Less(t, s.longest, 2*time.Second)
			}
		})
	}
}
