package stacktest_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
)

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
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				inWorld(t, 5, func(t *testing.T, w *world) {
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
					late := ended(t, waiter, time.Minute)
					require.NoError(t, late.err)
					unlock(t, late.lock)
				})
			})
		}
	}
}

// A TryRLock that is refused does not join the queue of its name, and changes nothing there.
func TestARefusedTryRLockDisturbsNoQueue(t *testing.T) {
	t.Parallel()
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
				got := ended(t, out, 100*time.Millisecond)
				require.NoError(t, got.err)
				_, err := b.RW("x").TryRLock(t.Context())
				require.ErrorIs(t, err, redlock.ErrHeld)
				unlock(t, got.lock)
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
	t.Parallel()
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
		got := ended(t, next, time.Second)
		require.NoError(t, got.err)
		unlock(t, got.lock)
	})
}
