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
				inWorld(t, 3, func(t *testing.T, w *world) {
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
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, 3, func(t *testing.T, w *world) {
				holder, waiter := w.locker(t, "a"), w.locker(t, "b")
				for i := range w.Masters() {
					w.Host("b").To(i).Delay(delay, 0)
				}
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
		})
	}
}
