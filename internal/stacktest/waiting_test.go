package stacktest_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
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

func TestNoWaiterAsksTheMastersWhileThisProcessHoldsTheName(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		held := lock(t, l, "x", redlock.WithoutKeepalive())
		synctest.Wait()
		w.forget()
		var outs []<-chan attempt
		for range 10 {
			outs = append(outs, locking(t.Context(), l, "x"))
		}
		time.Sleep(ttl / 2)
		assert.Empty(t, w.asked())
		unlock(t, held)
		for _, out := range outs {
			unlock(t, granted(t, out, 100*time.Millisecond))
		}
	})
}

// The masters publish the release while no subscription works. The start of a subscription counts as a message.
func TestAReleaseBeforeTheListeningBeganIsNotMissed(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a"), w.locker(t, "b", patient)
		held := lock(t, a, "x")
		for _, m := range w.Masters() {
			m.HangUp(func(args []string) bool { return strings.EqualFold(args[0], "subscribe") })
		}
		out := locking(t.Context(), b, "x")
		time.Sleep(100 * time.Millisecond)
		unlock(t, held)
		waiting(t, out, "it has not heard of the release")
		for _, m := range w.Masters() {
			m.HangUp(nil)
		}
		unlock(t, granted(t, out, 3*time.Second))
	})
}

// An ACL may forbid PUBLISH.
func TestReleaseWithoutMessagesIsFoundByTheBackoff(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a"), w.locker(t, "b")
		for _, m := range w.Masters() {
			m.Reply("NOPERM User default has no permissions to access one of the channels", "PUBLISH")
		}
		lk := lock(t, a, "x")
		out := locking(t.Context(), b, "x")
		time.Sleep(time.Minute)
		waiting(t, out)
		unlock(t, lk)
		unlock(t, granted(t, out, time.Second+20*time.Millisecond))
	})
}

// The probe for the holder ends with the answers of a majority, and the stale one is among them.
func TestAStaleKeyDoesNotHideTheEndOfADeadHoldersTTL(t *testing.T) {
	t.Parallel()
	for stale := range 3 {
		subWorld(t, fmt.Sprint("on master ", stale), 3, func(t *testing.T, w *world) {
			w.foreign("x", 2*time.Second)
			w.Master(stale).Set("x", "foreign", time.Hour)
			w.Host("a").To((stale+1)%3).Delay(5*time.Millisecond, 0)
			out := locking(t.Context(), w.locker(t, "a", patient), "x")
			unlock(t, granted(t, out, 2100*time.Millisecond))
		})
	}
}

// A waiting Lock costs the masters little, whatever it waits for.
func TestWaitersDoNotPollWhileNothingHappens(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		setup func(t *testing.T, w *world)
	}{
		{"held by a locker with keepalive", func(t *testing.T, w *world) {
			t.Helper()
			lock(t, w.locker(t, "holder"), "x")
		}},
		{"held by a foreign client without a TTL", func(_ *testing.T, w *world) { w.foreign("x", 0) }},
		{"held by a foreign client for long", func(_ *testing.T, w *world) { w.foreign("x", time.Hour) }},
		{"held, and two masters are down", func(_ *testing.T, w *world) {
			w.foreign("x", time.Hour)
			w.Master(0).Crash()
			w.Master(1).Crash()
		}},
		{"all masters are down", func(_ *testing.T, w *world) {
			each(w.Masters(), (*simnet.Master).Crash)
		}},
		{"three masters are frozen", func(_ *testing.T, w *world) {
			each(w.some(0, 3), (*simnet.Master).Freeze)
		}},
		{"a stale key on one, two in their restart window", func(_ *testing.T, w *world) {
			w.foreign("x", 0, 0)
			w.Master(3).Info("uptime_in_seconds", "0")
			w.Master(4).Info("uptime_in_seconds", "0")
		}},
		{"a stale key on one, two out of memory", func(_ *testing.T, w *world) {
			w.foreign("x", 0, 0)
			for _, m := range w.some(3, 5) {
				m.Reply("OOM command not allowed when used memory > 'maxmemory'.", "SET")
			}
		}},
	} {
		subWorld(t, tt.name, 5, func(t *testing.T, w *world) {
			tt.setup(t, w)
			synctest.Wait()
			l := w.locker(t, "waiter", redlock.WithMaxTTL(time.Hour))
			ctx, cancel := context.WithCancel(t.Context())
			out := locking(ctx, l, "x")
			time.Sleep(5 * time.Second) // the first attempts follow each other more closely
			waiting(t, out)
			w.forget()
			const watch = 100
			time.Sleep(watch * time.Second)
			waiting(t, out)
			perMaster := make(map[int]int)
			for _, e := range w.asked() {
				if e.Host == "waiter" {
					perMaster[e.Master]++
				}
			}
			for i, n := range perMaster {
				// An attempt every half second on average: SET, its release, a look at who holds it.
				assert.Less(t, n, 10*watch, "master %d: %d commands in %d s", i, n, watch)
			}
			cancel()
			require.ErrorIs(t, ended(t, out, time.Second).err, context.Canceled)
		})
	}
}

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
				for _, m := range w.Masters() {
					m.Delay(500*time.Microsecond, 500*time.Microsecond)
				}
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
			for _, m := range w.Masters() {
				m.Delay(tt.delay, tt.delay)
			}
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

// Every process asks the same master first, although each was given the masters in another order.
func TestTheFirstMasterDoesNotDependOnTheOrderOfTheURLs(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		urls := w.URLs()
		first := make(map[string]map[int]bool)
		for i := range 5 {
			l := w.over(t, fmt.Sprint(i), w.nodes(t, fmt.Sprint(i), urls...))
			for _, name := range []string{"x", "y", "z", "orders:42"} {
				held := lock(t, w.locker(t, fmt.Sprintf("holder of %s for %d", name, i)), name)
				synctest.Wait() // on every master
				out := locking(t.Context(), l, name)
				time.Sleep(3 * time.Second) // it asks one master now, since the name is contended
				w.forget()
				time.Sleep(5 * time.Second)
				for _, e := range w.sets() {
					if first[name] == nil {
						first[name] = make(map[int]bool)
					}
					first[name][e.Master] = true
				}
				unlock(t, held)
				unlock(t, granted(t, out, time.Second))
			}
			urls = append(urls[1:], urls[0])
		}
		used := make(map[int]bool)
		for name, masters := range first {
			assert.Len(t, masters, 1, name)
			for m := range masters {
				used[m] = true
			}
		}
		assert.Greater(t, len(used), 1, "names are spread over the masters")
	})
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

func TestAHeadThatGivesUpPassesTheTurnToTheNextWaiter(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		when func(w *world) // the head is canceled then
	}{
		{"while it waits for another process", func(*world) { time.Sleep(5 * time.Second) }},
		{"in the middle of an attempt", func(w *world) {
			w.delay(10 * time.Millisecond)
			n := len(w.sets())
			for len(w.sets()) == n {
				time.Sleep(time.Millisecond)
			}
		}},
	} {
		subWorld(t, tt.name, 3, func(t *testing.T, w *world) {
			a, b := w.locker(t, "a"), w.locker(t, "b")
			held := lock(t, a, "x")
			ctx, cancel := context.WithCancel(t.Context())
			head := locking(ctx, b, "x")
			next := locking(t.Context(), b, "x")
			last := locking(t.Context(), b, "x")
			tt.when(w)
			cancel()
			require.ErrorIs(t, ended(t, head, 10*time.Millisecond).err, context.Canceled)
			time.Sleep(time.Second)
			waiting(t, next)
			unlock(t, held)
			n := granted(t, next, 200*time.Millisecond)
			waiting(t, last)
			unlock(t, n)
			unlock(t, granted(t, last, 200*time.Millisecond))
			w.Heal()
			time.Sleep(time.Second)
			assert.Zero(t, w.keys())
		})
	}
}

func TestALostLockGivesTheTurnToTheNextWaiter(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a", patient)
		held := lock(t, l, "x", redlock.WithMaxHold(3*time.Second))
		next := locking(t.Context(), l, "x")
		time.Sleep(2 * time.Second)
		waiting(t, next)
		a := granted(t, next, 1100*time.Millisecond)
		require.ErrorIs(t, held.Unlock(t.Context()), redlock.ErrLost)
		last := locking(t.Context(), l, "x")
		waiting(t, last, "the Unlock of a lost lock passes no turn")
		unlock(t, a)
		unlock(t, granted(t, last, 100*time.Millisecond))
	})
}

// The TryLock waits for the answer to a Lock that is still asking the masters.
func TestTryLockIsAnsweredByTheHeadsAnswer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		setup func(w *world)
		want  error
	}{
		{"free", func(*world) {}, redlock.ErrHeld},
		{"held", func(w *world) { w.foreign("x", time.Hour) }, redlock.ErrHeld},
		{"no quorum", func(w *world) { w.Master(0).Freeze(); w.Master(1).Freeze() }, redlock.ErrNoQuorum},
	} {
		subWorld(t, tt.name, 3, func(t *testing.T, w *world) {
			l := w.locker(t, "a")
			w.warm(t, l)
			w.delay(10 * time.Millisecond)
			tt.setup(w)
			ctx, cancel := context.WithCancel(t.Context())
			first := locking(ctx, l, "x")
			try := inBackground(func() (*redlock.Lock, error) { return l.TryLock(t.Context(), "x") })
			a := ended(t, try, time.Second)
			require.ErrorIs(t, a.err, tt.want)
			assert.Less(t, a.took, timeout+time.Millisecond)
			cancel()
			if f := ended(t, first, time.Second); f.err == nil {
				unlock(t, f.lock)
			}
			w.Heal()
			time.Sleep(2 * time.Second)
		})
	}
}

// A lone waiter gets the lock, whichever master is its first node.
func TestAFirstNodeThatCannotGrantDelaysNoWaiter(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		fault func(m *simnet.Master)
	}{
		{"a stale key without a TTL", func(m *simnet.Master) { m.Set("x", "ghost", 0) }},
		{"a stale key of another type", func(m *simnet.Master) { m.Redis().Del("x"); m.Redis().HSet("x", "f", "v") }},
		{"frozen", func(m *simnet.Master) { m.Freeze() }},
		{"dead", func(m *simnet.Master) { m.Crash() }},
		{"cut off", func(m *simnet.Master) { m.BlackHole() }},
		{"in its restart window", func(m *simnet.Master) { m.Restart() }},
		{"out of memory", func(m *simnet.Master) { m.Reply("OOM command not allowed", "SET") }},
		{"the nearest, with a stale key", func(m *simnet.Master) { m.Set("x", "ghost", 0); m.Delay(0, 0) }},
	} {
		for _, n := range []int{3, 5} {
			t.Run(fmt.Sprintf("%s, of %d", tt.name, n), func(t *testing.T) {
				t.Parallel()
				for i := range n {
					bubble(t, n, func(t *testing.T, w *world) {
						a, b := w.locker(t, "a"), w.locker(t, "b", patient)
						w.delay(5 * time.Millisecond)
						held := lock(t, a, "x")
						out := locking(t.Context(), b, "x")
						time.Sleep(time.Second)
						waiting(t, out)
						tt.fault(w.Master(i))
						time.Sleep(time.Second)
						waiting(t, out)
						unlock(t, held)
						// One node timeout is what it may take to find the fault.
						unlock(t, granted(t, out, 2*timeout, "master %d", i))
					})
				}
			})
		}
	}
}

// firstNode returns which of n masters contenders for a name ask first.
func firstNode(name string, n int) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return int(h.Sum64() % uint64(n))
}
