package stacktest_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/internal/testmain"
)

// withWaiter returns a lock, and the attempt of the next waiter.
func withWaiter(t testing.TB, w *world, l *redlock.Locker, first, next []option) (*redlock.Lock, <-chan attempt) {
	t.Helper()
	w.warm(t, l)
	lk := lock(t, l, "x", first...)
	out := locking(t.Context(), l, "x", next...)
	waiting(t, out)
	return lk, out
}

func TestTheNextWaiterGetsTheLockWithoutTheMasters(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		first, out := withWaiter(t, w, l, nil, nil)
		ctx := first.Context()
		time.Sleep(10 * time.Millisecond)
		until := first.Until()
		asked := len(w.asked())
		unlock(t, first)
		second := granted(t, out, 0)
		assert.Len(t, w.asked(), asked)
		assert.Equal(t, until, second.Until(), "it is the same lease")
		assert.Equal(t, first.Token(), second.Token(), "and the same token")

		require.ErrorIs(t, first.Err(), redlock.ErrReleased)
		assert.True(t, ends(ctx))
		require.ErrorIs(t, context.Cause(ctx), redlock.ErrReleased)
		require.ErrorIs(t, first.Extend(t.Context()), redlock.ErrReleased)
		require.NoError(t, second.Err(), "the end of the old handle does not affect it")
		assert.Equal(t, 3, w.holders("x", second.Token()))

		time.Sleep(3 * ttl)
		require.NoError(t, second.Err(), "it is kept alive")
		assert.Equal(t, until, first.Until(), "the spent handle does not live on with it")
		unlock(t, second)
		synctest.Wait()
		assert.Zero(t, w.keys())
	})
}

func TestALeaseThatTheNextWaiterCannotUseIsReleased(t *testing.T) {
	t.Parallel()
	opts := func(o ...option) []option { return o }
	for name, tt := range map[string]struct {
		first, next []option
		before      func(*redlock.Lock)
	}{
		"it is fenced":               {first: opts(redlock.WithFencing())},
		"a fence is wanted":          {next: opts(redlock.WithFencing())},
		"another TTL":                {next: opts(redlock.WithTTL(ttl / 2))},
		"it may be held so long":     {first: opts(redlock.WithMaxHold(time.Hour))},
		"so long it may be held":     {next: opts(redlock.WithMaxHold(time.Hour))},
		"switched off by the holder": {first: opts(redlock.WithoutHandOver())},
		"switched off by the next":   {next: opts(redlock.WithoutHandOver())},
		"the slice is over":          {before: func(*redlock.Lock) { time.Sleep(51 * time.Millisecond) }},
	} {
		subWorld(t, name, 3, func(t *testing.T, w *world) {
			l := w.locker(t, "a")
			first, out := withWaiter(t, w, l, tt.first, tt.next)
			if tt.before != nil {
				tt.before(first)
			}
			w.forget()
			unlock(t, first)
			second := granted(t, out, time.Second)
			assert.GreaterOrEqual(t, len(w.asked()), 6, "a release and an acquisition on each master")
			unlock(t, second)
		})
	}
}

// An extension that the previous holder sent finds a loss, during the hand-over or after it. The current holder must be
// notified.
func TestALossFoundByAnExtensionFromBeforeReachesTheNextHolder(t *testing.T) {
	t.Parallel()
	for _, handOver := range []time.Duration{0, 50 * time.Millisecond} {
		subWorld(t, handOver.String(), 3, func(t *testing.T, w *world) {
			l := w.locker(t, "a", redlock.WithTrace(&redlock.Trace{
				HoldEnd: func(_ context.Context, e redlock.HoldEndEvent) {
					if e.Outcome == redlock.OutcomeHandedOver {
						time.Sleep(handOver)
					}
				},
			}))
			first, out := withWaiter(t, w, l, nil, nil)
			w.wipe()
			w.delay(5 * time.Millisecond)
			extended := make(chan error, 1)
			go func() { extended <- first.Extend(context.Background()) }()
			synctest.Wait()
			unlock(t, first)
			second := ended(t, out, 2*handOver).lock
			require.NotNil(t, second)
			time.Sleep(100 * time.Millisecond)
			require.ErrorIs(t, second.Err(), redlock.ErrLost)
			require.ErrorIs(t, <-extended, redlock.ErrReleased)
			require.ErrorIs(t, second.Unlock(t.Context()), redlock.ErrLost)
		})
	}
}

// A lock that is handed over while its Locker begins to close is returned, unless a callback panics. Close releases it.
func TestAHandOverWhileTheLockerCloses(t *testing.T) {
	testmain.Each(t, map[string]bool{"returned": false, "a callback panics": true}, func(t *testing.T, panics bool) {
		bubble(t, 3, func(t *testing.T, w *world) {
			var l *redlock.Locker
			closed := make(chan error, 1)
			l = w.locker(t, "a", redlock.WithTrace(&redlock.Trace{
				HoldEnd: func(_ context.Context, e redlock.HoldEndEvent) {
					if e.Outcome == redlock.OutcomeHandedOver {
						go func() { closed <- l.Close() }()
						<-l.Closed()
						if panics {
							panic("the callback's")
						}
					}
				},
				AcquireEnd: func(_ context.Context, e redlock.AcquireEndEvent) {
					if e.Outcome == redlock.OutcomeFailed {
						assert.NoError(t, <-closed)
					}
				},
			}))
			first := lock(t, l, "x")
			next := inBackground(func() (lk *redlock.Lock, err error) {
				defer func() {
					if r := recover(); r != nil {
						err = fmt.Errorf("panicked: %v", r)
					}
				}()
				return l.Lock(t.Context(), "x")
			})
			unlock(t, first)
			got := ended(t, next, time.Minute)
			if panics {
				require.EqualError(t, got.err, "panicked: the callback's")
			} else {
				require.NoError(t, got.err)
				synctest.Wait()
				require.ErrorIs(t, got.lock.Err(), redlock.ErrClosed)
			}
			time.Sleep(time.Second)
			assert.Zero(t, w.keys())
		})
	})
}

// The process that has just released is first at the masters: without the cooldown it would have the name again before
// any process that waits has learned that it is free.
func TestAReleaseYieldsTheNameToWaitersElsewhere(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		kind lockKind
		opts []option
	}{
		"plain":     {mutex, []option{redlock.WithoutHandOver()}},
		"fenced":    {mutex, []option{redlock.WithFencing()}},
		"reentrant": {reentrant, nil},
	} {
		subWorld(t, name, 3, func(t *testing.T, w *world) {
			var lockers []*redlock.Locker
			for _, host := range []string{"a", "b"} {
				lockers = append(lockers, w.locker(t, host))
			}
			each(w.Masters(), func(m *simnet.Master) { m.Delay(time.Millisecond, 100*time.Microsecond) })
			lk, err := tt.kind.lock(t.Context(), lockers[0], tt.opts...)
			require.NoError(t, err)
			out := tt.kind.locking(t.Context(), lockers[1], tt.opts...)
			time.Sleep(100 * time.Millisecond)
			for cycles := 0; lk != nil; cycles++ {
				require.Less(t, cycles, 3, "it took that many releases until another got the lock")
				unlock(t, lk)
				lk = nil
				next := tt.kind.locking(t.Context(), lockers[0], tt.opts...)
				select {
				case b := <-out:
					require.NoError(t, b.err)
					time.Sleep(10 * time.Millisecond)
					unlock(t, b.lock)
					unlock(t, granted(t, next, time.Second))
				case a := <-next:
					require.NoError(t, a.err)
					lk = a.lock
				}
			}
		})
	}
}

// A release that wakes every contender for a lock that the next waiter here has already asked for costs more than the
// lock.
func TestAReleaseIsSilentIfTheNextWaiterContinues(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		a := w.locker(t, "a", redlock.WithoutHandOver(), patient)
		b := w.locker(t, "b", redlock.WithoutHandOver(), patient)
		w.warm(t, a)
		w.warm(t, b)
		lk := lock(t, a, "x")
		next := []<-chan attempt{locking(t.Context(), a, "x"), locking(t.Context(), a, "x"), locking(t.Context(), a, "x")}
		other := locking(t.Context(), b, "x")
		waiting(t, other)
		// No master has answered a release when the next waiter has its turn, and b is not quicker by chance.
		w.distance("a", 100*time.Microsecond)
		w.distance("b", time.Millisecond)
		for i, announced := range []int{0, 3} { // that others wait, a learns only from the answers to the first release
			w.forget()
			unlock(t, lk)
			lk = granted(t, next[i], time.Second)
			releases := map[bool]int{} // whether they are announced
			for _, e := range w.asked() {
				if e.Args[0] == "evalsha" {
					releases[slices.Contains(e.Args, "redlock:x")]++
				}
			}
			assert.Equal(t, announced, releases[true])
			assert.Equal(t, 3-announced, releases[false])
			waiting(t, other)
			time.Sleep(21 * time.Millisecond) // above minBudget of internal/waitqueue
		}
		unlock(t, lk)
		lk = granted(t, other, time.Second)
		waiting(t, next[2], "it is the others' turn")
		unlock(t, lk)
		unlock(t, granted(t, next[2], time.Second))
	})
}

func TestALeasePassedToAWaiterThatIsLeavingIsReleased(t *testing.T) {
	// Alone, and on one processor: the waiter's context has ended, and it has not yet run when the lock is handed to it.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	bubble(t, 3, func(t *testing.T, w *world) {
		l, other := w.locker(t, "a"), w.locker(t, "b")
		w.warm(t, l)
		lk := lock(t, l, "x")
		ctx, cancel := context.WithCancel(t.Context())
		out := locking(ctx, l, "x")
		third := locking(t.Context(), l, "x")
		cancel()
		unlock(t, lk)
		require.ErrorIs(t, ended(t, out, time.Second).err, context.Canceled)
		unlock(t, granted(t, third, time.Second, "the next waiter gets the turn"))
		synctest.Wait()
		unlock(t, lock(t, other, "x"))
		synctest.Wait()
		assert.Zero(t, w.keys())
	})
}
