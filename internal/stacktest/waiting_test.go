package stacktest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/simnet"
)

// patient waits by messages and TTLs alone: its backoff is longer than any test.
var patient = redlock.WithRetry(time.Hour, time.Hour)

// Only release messages wake the waiters, and every release is followed by the next holder at once.
func TestNoWakeUpIsLost(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		delay time.Duration // and as much jitter
		dead  int
		apart time.Duration // each process is nearer to masters of its own, so that votes split
	}{
		{"no delay", 0, 0, 0},
		{"delay", 2 * time.Millisecond, 0, 0},
		{"no delay, one dead", 0, 1, 0},
		{"delay, one dead", 2 * time.Millisecond, 1, 0},
		{"delay, two dead", 2 * time.Millisecond, 2, 0},
		{"split votes", 0, 0, 5 * time.Millisecond},
		{"split votes, one dead", 0, 1, 5 * time.Millisecond},
	} {
		subWorld(t, tt.name, 5, func(t *testing.T, w *world) {
			each(w.Masters(), func(m *simnet.Master) { m.Delay(tt.delay, tt.delay) })
			each(w.some(0, tt.dead), (*simnet.Master).Crash)
			var lockers []*redlock.Locker
			for i := range 3 {
				for j := range w.Masters() {
					w.Host(fmt.Sprint(i)).To(j).Delay(time.Duration((i+j)%5)*tt.apart, 0)
				}
				lockers = append(lockers, w.locker(t, fmt.Sprint(i), patient, redlock.WithTTL(time.Hour)))
			}
			var released time.Time
			var worst time.Duration
			var wg sync.WaitGroup
			for i, l := range lockers {
				for range 3 {
					wg.Go(func() {
						for range 15 {
							lk, err := l.Lock(t.Context(), "x")
							if !assert.NoError(t, err) {
								return
							}
							if !released.IsZero() { // guarded by the lock
								worst = max(worst, time.Since(released))
							}
							time.Sleep(time.Duration(rand.IntN(20*(i+1))) * time.Millisecond)
							released = time.Now()
							assert.NoError(t, lk.Unlock(t.Context()))
						}
					})
				}
			}
			wg.Wait()
			assert.Less(t, worst, 2*time.Second)
			time.Sleep(time.Second)
			each(w.Masters(), func(m *simnet.Master) {
				assert.Zero(t, m.Subscribers("redlock:x"), "no subscription without a waiter")
			})
		})
	}
}

// Contenders that took one master each release it, and these releases are silent. A contender that they denied must not
// wait for a message while the name is free, nor for their TTLs.
func TestASplitVoteIsRepeatedSoon(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		after time.Duration // from the denial to the contenders' giving back
	}{
		{"given back before the waiter looks who holds it", 0},
		{"given back after", 30 * time.Millisecond},
	} {
		subWorld(t, tt.name, 3, func(t *testing.T, w *world) {
			held := lock(t, w.locker(t, "holder"), "x")
			l := w.locker(t, "waiter", patient, redlock.WithTTL(time.Hour))
			out := locking(t.Context(), l, "x")
			w.distance("waiter", 5*time.Millisecond)
			time.Sleep(time.Second)
			w.forget()
			unlock(t, held)
			asked := func(n int) {
				for len(w.sets()) < n {
					time.Sleep(time.Millisecond)
				}
			}
			asked(1) // the first node grants, …
			first := w.sets()[0].Master
			w.Master((first+1)%3).Set("x", "one contender", time.Hour)
			w.Master((first+2)%3).Set("x", "another", time.Hour)
			asked(3) // … and the others deny
			time.Sleep(tt.after)
			w.Master((first + 1) % 3).Redis().Del("x")
			w.Master((first + 2) % 3).Redis().Del("x")
			unlock(t, granted(t, out, time.Second))
		})
	}
}

// wake is a test in which the Locker a has x, or a majority of the masters has granted it x, and b waits for it.
type wake struct {
	*world
	t    *testing.T
	a, b *redlock.Locker
}

// late makes the answers to a so late.
func (w *wake) late(d time.Duration) {
	for i := range w.Masters() {
		w.Host("a").To(i).DelayWay(simnet.FromMaster, d, 0)
	}
}

// asks has a ask for x until its context ends.
func (w *wake) asks(k lockKind, late time.Duration, opts ...option) (ends func()) {
	w.late(late)
	ctx, cancel := context.WithCancel(w.t.Context())
	out := k.locking(ctx, w.a, opts...)
	return func() {
		cancel()
		require.ErrorIs(w.t, (<-out).err, context.Canceled)
	}
}

// wakeUp is what ends what a has or was granted.
type wakeUp struct {
	begin func(w *wake) (end func())
	runs  time.Duration // from begin to end
	free  time.Duration // how long the name stays taken after the end
}

// Whatever ends what a has or was granted, b learns of it at once, although its back-off and the TTL are long.
func TestAWaiterLearnsOfEveryEnd(t *testing.T) {
	t.Parallel()
	cases := map[string]wakeUp{
		"an Unlock": {begin: func(w *wake) func() {
			lk := lock(w.t, w.a, "x")
			return func() { unlock(w.t, lk) }
		}},
		"Close": {begin: func(w *wake) func() {
			lock(w.t, w.a, "x")
			return func() { require.NoError(w.t, w.a.Close()) }
		}},
		"Close while the masters are asked": {begin: func(w *wake) func() {
			w.late(400 * time.Millisecond)
			out := locking(w.t.Context(), w.a, "x")
			return func() {
				go func() { _ = w.a.Close() }()
				require.ErrorIs(w.t, (<-out).err, redlock.ErrClosed)
			}
		}},
		"votes after the node timeout": {begin: func(w *wake) func() {
			w.asks(mutex, timeout+100*time.Millisecond)
			return func() {}
		}, runs: timeout},
		"a hook that panics": {begin: func(w *wake) func() {
			stop := make(chan struct{})
			trace := &redlock.Trace{AcquireEnd: func(context.Context, redlock.AcquireEndEvent) { <-stop; panic("hook") }}
			l := w.locker(w.t, "a", redlock.WithTrace(trace))
			go func() {
				defer func() { _ = recover() }()
				_, _ = l.Lock(w.t.Context(), "x")
			}()
			synctest.Wait()
			return func() { close(stop) }
		}},
		"a silent release, whose next waiter gives up": {begin: func(w *wake) func() {
			first, err := w.a.RW("x").Lock(w.t.Context())
			require.NoError(w.t, err)
			ctx, cancel := context.WithCancel(w.t.Context())
			next := writer.locking(ctx, w.a)
			return func() {
				w.late(200 * time.Millisecond)
				go func() { assert.NoError(w.t, first.Unlock(context.Background())) }()
				time.Sleep(100 * time.Millisecond)
				cancel()
				require.ErrorIs(w.t, (<-next).err, context.Canceled)
			}
		}},
	}
	givesUp := func(name string, k lockKind, opts ...option) {
		cases["a caller that gives up, "+name] = wakeUp{begin: func(w *wake) func() {
			lk, err := k.lock(w.t.Context(), w.a, opts...) // all masters have the scripts then
			require.NoError(w.t, err)
			unlock(w.t, lk)
			synctest.Wait()
			return w.asks(k, 400*time.Millisecond, opts...)
		}, runs: 300 * time.Millisecond}
	}
	givesUp("fenced", mutex, redlock.WithFencing())
	for _, k := range kinds {
		givesUp(k.name, k)
		for end, do := range map[string]func(w *wake, lk *redlock.Lock){
			"Unlock": func(w *wake, lk *redlock.Lock) { unlock(w.t, lk) },
			"Close":  func(w *wake, _ *redlock.Lock) { require.NoError(w.t, w.a.Close()) },
		} {
			cases[fmt.Sprintf("%s of a minimum hold, %s", end, k.name)] = wakeUp{func(w *wake) func() {
				lk, err := k.try(w.t.Context(), w.a, redlock.WithMinHold(3*time.Second))
				require.NoError(w.t, err)
				return func() { do(w, lk) }
			}, time.Second, 2 * time.Second}
		}
	}
	for name, tt := range cases {
		subWorld(t, name, 3, func(t *testing.T, world *world) {
			w := &wake{world, t, world.locker(t, "a", patient), world.locker(t, "b", patient)}
			w.warm(t, w.a)
			w.warm(t, w.b)
			began := time.Now()
			end := tt.begin(w)
			time.Sleep(10 * time.Millisecond)
			out := locking(t.Context(), w.b, "x")
			time.Sleep(tt.runs - time.Since(began))
			waiting(t, out)
			ended := time.Now()
			end()
			unlock(t, granted(t, out, time.Minute))
			assert.Less(t, time.Since(ended)-tt.free, timeout)
		})
	}
}

// A waiter that was denied asks one master before the others, so that contenders do not split the vote.
func TestAWaiterAsksOneMasterFirst(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		w.foreign("x", time.Hour)
		_, err := w.locker(t, "a").Lock(within(t, time.Minute), "x")
		require.ErrorIs(t, err, redlock.ErrHeld)
		asked := make([]int, 5) // by master
		for _, set := range w.sets() {
			asked[set.Master]++
		}
		slices.Sort(asked)
		assert.LessOrEqual(t, asked[3], 1, "others only in the first attempt")
		assert.Greater(t, asked[4], 10)
	})
}

// An attempt whose answers are late fails, and publishes release messages. If these woke waiters, the waiters would
// wake each other without end.
func TestWaitersWhoseAttemptsFailDoNotWakeEachOther(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		w.foreign("x", time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		a := locking(ctx, w.locker(t, "a", patient, redlock.WithTTL(time.Minute)), "x")
		b := locking(ctx, w.locker(t, "b", patient, redlock.WithTTL(time.Minute)), "x")
		time.Sleep(500 * time.Millisecond)
		w.delay(timeout)
		w.forget()
		time.Sleep(time.Hour / 2)
		waiting(t, a)
		waiting(t, b)
		assert.NotEmpty(t, w.sets())
		assert.Less(t, len(w.sets()), 20)
		cancel()
		<-a
		<-b
	})
}
