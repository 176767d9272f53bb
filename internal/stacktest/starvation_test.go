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

// readOn has two readers hold the names by turns, so that one of them always does, until stop is called.
func readOn(t *testing.T, names []string, lockers ...*redlock.Locker) (stop func()) {
	t.Helper()
	const stay = 100 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i, l := range lockers {
		for _, name := range names {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * stay / time.Duration(len(lockers)))
				for ctx.Err() == nil {
					lk, err := l.RW(name).RLock(ctx)
					if err != nil {
						assert.ErrorIs(t, err, context.Canceled)
						return
					}
					time.Sleep(stay)
					assert.NoError(t, lk.Unlock(ctx))
				}
			})
		}
	}
	time.Sleep(10 * stay)
	return func() {
		cancel()
		wg.Wait()
	}
}

// A stream of readers that overlap starves no exclusive waiter, whether they are of its own Locker or of others.
func TestReadersDoNotStarveAnExclusiveWaiter(t *testing.T) {
	t.Parallel()
	for _, k := range exclusive {
		kind, call := k.name, k.lock
		for _, where := range []string{"in other processes", "in its process"} {
			subWorld(t, kind+", "+where, 5, func(t *testing.T, w *world) {
				a, b, c := w.locker(t, "a"), w.locker(t, "b"), w.locker(t, "c")
				if where == "in its process" {
					a, b = c, c
				}
				names := []string{"x"}
				if kind == "several" {
					names = []string{"x", "y"}
				}
				stop := readOn(t, names, a, b)
				defer stop()
				began := time.Now()
				lk, err := call(within(t, 6*time.Second), c)
				require.NoError(t, err)
				assert.Less(t, time.Since(began), 2*time.Second)
				assert.Less(t, len(w.intents()), 3, "it waits no longer")
				unlock(t, lk)
			})
		}
	}
}

// Every exclusive waiter keeps new readers out while one is in, for as long as it waits, and no longer.
func TestAnExclusiveWaiterKeepsNewReadersOutUntilItGivesUp(t *testing.T) {
	t.Parallel()
	for _, k := range exclusive {
		kind, call := k.name, k.lock
		subWorld(t, kind, 5, func(t *testing.T, w *world) {
			a, b := w.locker(t, "a"), w.locker(t, "b")
			in := rlock(t, a, "x")
			ctx, cancel := context.WithCancel(t.Context())
			waiter := inBackground(func() (*redlock.Lock, error) { return call(ctx, b) })
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

// A waiter that gets the lock takes its intent back on every master, and wakes no reader for that.
func TestAnIntentIsWithdrawnWithTheGrant(t *testing.T) {
	t.Parallel()
	for _, k := range exclusive {
		kind, call := k.name, k.lock
		subWorld(t, kind, 5, func(t *testing.T, w *world) {
			a, b := w.locker(t, "a"), w.locker(t, "b", patient)
			in := rlock(t, a, "x")
			synctest.Wait() // on every master
			waiter := inBackground(func() (*redlock.Lock, error) { return call(t.Context(), b) })
			time.Sleep(time.Second)
			assert.Len(t, w.intents(), 5)
			reader := inBackground(func() (*redlock.Lock, error) { return a.RW("x").RLock(t.Context(), patient) })
			time.Sleep(200 * time.Millisecond)
			unlock(t, in)
			got := granted(t, waiter, 50*time.Millisecond)
			if kind == "mutex" || kind == "several" {
				assert.Empty(t, w.intents())
			} else { // where it was denied it is taken back with the release
				assert.Less(t, len(w.intents()), 3)
			}
			waiting(t, reader)
			unlock(t, got)
			unlock(t, granted(t, reader, 50*time.Millisecond))
			assert.Empty(t, w.leftovers("x"))
		})
	}
}

// Mutexes that wait for each other, and owners that do, leave no intents, and send nothing to take any back.
func TestContentionWithoutReadersCostsNoIntents(t *testing.T) {
	t.Parallel()
	for _, k := range exclusive {
		kind, call := k.name, k.lock
		if kind == "writer" {
			continue // it keeps readers out whatever the holder
		}
		for there, hold := range map[string]func(ctx context.Context, l *redlock.Locker) (*redlock.Lock, error){
			"a mutex": func(ctx context.Context, l *redlock.Locker) (*redlock.Lock, error) { return l.TryLock(ctx, "x") },
			"an owner": func(ctx context.Context, l *redlock.Locker) (*redlock.Lock, error) {
				return l.Reentrant("x", "you").TryLock(ctx)
			},
			"a writer": func(ctx context.Context, l *redlock.Locker) (*redlock.Lock, error) { return l.RW("x").TryLock(ctx) },
		} {
			subWorld(t, kind+" waits for "+there, 3, func(t *testing.T, w *world) {
				a := w.locker(t, "a")
				ops := make(map[redlock.Op]int)
				var mu sync.Mutex
				b := w.locker(t, "b", redlock.WithTrace(&redlock.Trace{Vote: func(_ context.Context, e redlock.VoteEvent) {
					mu.Lock()
					defer mu.Unlock()
					ops[e.Op]++
				}}))
				held, err := hold(t.Context(), a)
				require.NoError(t, err)
				waiter := inBackground(func() (*redlock.Lock, error) { return call(t.Context(), b) })
				time.Sleep(5 * time.Second)
				assert.Empty(t, w.intents())
				unlock(t, held)
				unlock(t, granted(t, waiter, 2*time.Second))
				synctest.Wait()
				mu.Lock()
				defer mu.Unlock()
				assert.Zero(t, ops["withdraw"])
				assert.Positive(t, ops["probe"], "it probed")
			})
		}
	}
}

func TestADeniedTryLockOfAnyKindKeepsNoReaderOut(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a"), w.locker(t, "b")
		in := rlock(t, a, "x")
		for _, try := range []func() (*redlock.Lock, error){
			func() (*redlock.Lock, error) { return b.TryLock(t.Context(), "x") },
			func() (*redlock.Lock, error) { return b.TryLockAll(t.Context(), []string{"x", "y"}) },
			func() (*redlock.Lock, error) { return b.RW("x").TryLock(t.Context()) },
			func() (*redlock.Lock, error) { return b.Reentrant("x", "me").TryLock(t.Context()) },
		} {
			_, err := try()
			require.ErrorIs(t, err, redlock.ErrHeld)
			assert.Empty(t, w.intents())
			unlock(t, rlock(t, b, "x"))
		}
		unlock(t, in)
	})
}

// A frozen master executes a look late, when the waiter has given up or has the lock. What the look leaves is taken
// back right after it.
func TestAnIntentThatAFrozenMasterSetsLateIsWithdrawnAtOnce(t *testing.T) {
	t.Parallel()
	for _, k := range exclusive {
		kind, call := k.name, k.lock
		for _, grant := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, granted %v", kind, grant), func(t *testing.T) {
				t.Parallel()
				late := 0
				for frozenAt := time.Millisecond / 2; frozenAt < 10*time.Millisecond; frozenAt += time.Millisecond {
					bubble(t, 5, func(t *testing.T, w *world) {
						a, b := w.locker(t, "a"), w.locker(t, "b")
						w.warm(t, b)
						in := rlock(t, a, "x")
						w.distance("b", time.Millisecond)
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						waiter := inBackground(func() (*redlock.Lock, error) { return call(ctx, b) })
						time.Sleep(frozenAt)
						before := w.Master(4).CountNested("ZADD")
						w.Master(4).Freeze()
						time.Sleep(100 * time.Millisecond)
						if grant {
							unlock(t, in)
						} else {
							cancel()
						}
						got := ended(t, waiter, 100*time.Millisecond)
						require.Equal(t, grant, got.err == nil, "%v", got.err)
						time.Sleep(5 * time.Second)
						w.Master(4).Thaw()
						time.Sleep(50 * time.Millisecond)
						if w.Master(4).CountNested("ZADD") > before && !grant {
							late++
						}
						if grant && (kind == "writer" || kind == "reentrant") {
							unlock(t, got.lock) // which takes it back where the acquisition did not
							time.Sleep(50 * time.Millisecond)
						}
						assert.Empty(t, w.intents(), "frozen after %v", frozenAt)
						if grant && (kind == "mutex" || kind == "several") {
							unlock(t, got.lock)
						}
						if !grant {
							unlock(t, in)
						}
					})
				}
				assert.True(t, grant || late > 0, "no look was executed late")
			})
		}
	}
}
