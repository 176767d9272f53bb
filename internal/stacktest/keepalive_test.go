package stacktest_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/testnet"
	"github.com/redlock-go/redlock/node"
)

// yesLocker is a Locker over masters that say yes to everything and remember nothing but how often they were asked: for
// more locks than a simulated master can look after.
func yesLocker(t testing.TB, n int, opts ...redlock.Option) (l *redlock.Locker, asked []*atomic.Int64) {
	t.Helper()
	var masters []*node.Node
	for i := range n {
		count := new(atomic.Int64)
		yes := &testnet.Scripted{RunID: fmt.Sprint("yes", i), Answer: func(args []string) (string, bool) {
			count.Add(1)
			if strings.EqualFold(args[0], "evalsha") {
				return ":1\r\n", false
			}
			return "+OK\r\n", false
		}}
		m, err := node.Open(fmt.Sprintf("redis://10.0.0.%d", i+1), node.WithDialer(yes.Dial))
		require.NoError(t, err)
		masters, asked = append(masters, m), append(asked, count)
	}
	l, err := redlock.New(masters, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.Close()) })
	return l, asked
}

// One heap and one alarm serve all of them.
func TestTenThousandHeldLocksHaveNoGoroutines(t *testing.T) {
	const locks = 10_000
	synctest.Test(t, func(t *testing.T) {
		l, count := yesLocker(t, 1)
		lock(t, l, "the first")
		synctest.Wait()
		before := runtime.NumGoroutine()
		held := make([]*redlock.Lock, locks)
		for i := range held {
			held[i] = lock(t, l, fmt.Sprint(i))
			require.NoError(t, held[i].Context().Err())
		}
		synctest.Wait()
		assert.Less(t, runtime.NumGoroutine(), before+10, "as of an idle Locker")

		asked := count[0].Load()
		time.Sleep(ttl * 11 / 10)
		synctest.Wait()
		assert.Less(t, runtime.NumGoroutine(), before+10)
		extensions := float64(count[0].Load() - asked)
		assert.InDelta(t, 3, extensions/locks, 0.5, "each is extended three times per TTL")
		for _, lk := range held {
			require.NoError(t, lk.Err())
		}
	})
}

// Locks are acquired and released while the schedule extends others.
func TestUnlockingUnderTheKeepaliveLosesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lost := atomic.Int64{}
		l, _ := yesLocker(t, 3, redlock.WithTTL(time.Second), redlock.WithTrace(&redlock.Trace{
			HoldEnd: func(_ context.Context, e redlock.HoldEndEvent) {
				if e.Outcome == redlock.OutcomeLost {
					lost.Add(1)
				}
			},
		}))
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				for j := range 20 {
					lk := lock(t, l, fmt.Sprint(i))
					time.Sleep(time.Duration(i*j) * 7 * time.Millisecond)
					unlock(t, lk)
				}
			})
		}
		wg.Wait()
		assert.Zero(t, lost.Load())
	})
}

// A process that was paused has calls in its queues. Written when it wakes up, an extension would make a lock again
// that ended long ago.
func TestAnExtensionThatWaitedPastTheDeadlineIsNotSent(t *testing.T) {
	t.Parallel()
	for range 20 { // who is first after the thaw is chance
		bubble(t, 3, func(t *testing.T, w *world) {
			l := w.locker(t, "a", redlock.WithoutKeepalive())
			lk := lock(t, l, "x")
			require.NoError(t, lk.Extend(t.Context())) // the masters know the script
			w.delay(100 * time.Millisecond)
			locking(t.Context(), l, "z") // on the wire, so that the extension waits for its reply
			time.Sleep(50 * time.Millisecond)
			go func() { _ = lk.Extend(context.Background()) }()
			time.Sleep(10 * time.Millisecond)
			w.Host("a").Freeze()
			time.Sleep(15 * time.Second)
			require.Zero(t, w.holders("x", lk.Token()))
			w.forget()
			w.Host("a").Thaw()
			time.Sleep(2 * time.Second)
			synctest.Wait()
			for _, e := range w.asked() {
				require.NotEqual(t, ":-1", strings.TrimSpace(e.Reply), "x was put back: %v", e.Args)
			}
		})
	}
}

// An extension that is granted while the loss is being delivered does not move the deadline.
func TestNoExtensionMovesAReportedDeadline(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		slow := &redlock.Trace{HoldEnd: func(context.Context, redlock.HoldEndEvent) { time.Sleep(700 * time.Microsecond) }}
		l := w.locker(t, "a", redlock.WithTrace(slow), redlock.WithoutKeepalive())
		a, b := lock(t, l, "x"), lock(t, l, "y")
		require.NoError(t, a.Extend(t.Context())) // the masters know the script
		require.Equal(t, a.Until(), b.Until(), "both end in one tick")
		until := a.Until()
		const trip = 200 * time.Millisecond
		w.delay(trip / 2)
		time.Sleep(time.Until(until) - trip - 500*time.Microsecond)
		for _, lk := range []*redlock.Lock{a, b} {
			go func() { _ = lk.Extend(context.Background()) }()
		}
		time.Sleep(time.Second)
		for _, lk := range []*redlock.Lock{a, b} {
			require.ErrorIs(t, lk.Err(), redlock.ErrLost)
			assert.Equal(t, until, lk.Until())
		}
		assert.Zero(t, w.keys())
	})
}

// Nothing was written there, so there is nothing to take back.
func TestAMasterThatWasNeverReachedDelaysNoCall(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		w.Master(4).BlackHole()
		var log bytes.Buffer
		l := w.locker(t, "a", redlock.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		lk := lock(t, l, "x")
		time.Sleep(100 * time.Millisecond) // the connection attempt continues
		unlock(t, lk)
		time.Sleep(10 * time.Second)
		began := time.Now()
		require.NoError(t, l.Close())
		assert.Less(t, time.Since(began), 100*time.Millisecond)
		assert.NotContains(t, log.String(), "unconfirmed")
		assert.Zero(t, w.Master(4).Count("SET"))
	})
}
