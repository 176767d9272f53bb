package stacktest_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/simnet"
)

// patient waits by messages and TTLs alone: its backoff is longer than any test.
var patient = redlock.WithRetry(time.Hour, time.Hour)

// Ten Lockers want one name, over a slow network.
func TestContendersOfManyProcessesMakeProgress(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		n     int
		fault func(w *world, i int)
		most  time.Duration
	}{
		{"three masters", 3, nil, time.Second},
		{"five masters", 5, nil, time.Second},
		{"one is down", 5, func(w *world, i int) { w.Master(i).Crash() }, time.Second},
		// If it is the first node, these take 1.7 s on average, and at most 2.03 s in 320 runs.
		{"one is frozen", 5, func(w *world, i int) { w.Master(i).Freeze() }, 4 * time.Second},
		{"one is cut off", 5, func(w *world, i int) { w.Master(i).BlackHole() }, 4 * time.Second},
		{"one has a stale key without a TTL", 5, func(w *world, i int) { w.foreign("x", 0, i) }, 2 * time.Second},
		{
			"one restarted and may not vote", 5, func(w *world, i int) { w.Master(i).Info("uptime_in_seconds", "0") },
			2 * time.Second,
		},
	} {
		cycles, first := int64(100), firstNode("x", tt.n)
		faulty := map[string]int{"": -1}
		if tt.fault != nil {
			cycles, faulty = 40, map[string]int{": the first node": first, ": another": (first + 1) % tt.n}
		}
		for which, i := range faulty {
			subWorld(t, tt.name+which, tt.n, func(t *testing.T, w *world) {
				each(w.Masters(), func(m *simnet.Master) { m.Delay(500*time.Microsecond, 500*time.Microsecond) })
				if tt.fault != nil {
					tt.fault(w, i)
				}
				took := contend(t, w, 10, cycles)
				t.Logf("%d cycles in %v, %d commands", cycles, took, len(w.asked()))
				assert.Less(t, took, tt.most)
				if tt.fault == nil {
					for _, m := range w.some(1, tt.n) {
						other := w.Master((first + m.Index()) % tt.n)
						assert.Less(
							t, 3*other.Count("SET"), 2*w.Master(first).Count("SET"),
							"most attempts end with the first; without one it would be as many",
						)
					}
				}
			})
		}
	}
}

// contend has so many Lockers, each of a process of its own, lock x until they have done so often enough together, and
// returns how long that took.
func contend(t *testing.T, w *world, lockers int, cycles int64, opts ...redlock.Option) time.Duration {
	t.Helper()
	var done, holders atomic.Int64
	var wg sync.WaitGroup
	began := time.Now()
	for i := range lockers {
		l := w.locker(t, fmt.Sprintf("host-%d", i), opts...)
		wg.Go(func() {
			for done.Load() < cycles {
				lk, err := l.Lock(t.Context(), "x")
				if !assert.NoError(t, err) {
					return
				}
				assert.Equal(t, int64(1), holders.Add(1), "holders at once")
				time.Sleep(time.Millisecond)
				holders.Add(-1)
				assert.NoError(t, lk.Unlock(t.Context()))
				done.Add(1)
			}
		})
	}
	wg.Wait()
	return time.Since(began)
}

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

// firstNode returns which of n masters contenders for a name ask first.
func firstNode(name string, n int) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return int(h.Sum64() % uint64(n))
}
