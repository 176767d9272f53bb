package stacktest_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
)

// A process that was paused has calls in its queues. Written when it wakes up, an extension would make a lock again
// that ended long ago.
func TestAnExtensionThatWaitedPastTheDeadlineIsNotSent(t *testing.T) {
	t.Parallel()
	for range 20 { // who is first after the thaw is chance
		inWorld(t, 3, func(t *testing.T, w *world) {
			l := w.locker(t, "a", redlock.WithoutKeepalive())
			lk := lock(t, l, "x")
			require.NoError(t, lk.Extend(t.Context())) // the masters know the script
			for _, m := range w.Masters() {
				m.Delay(100*time.Millisecond, 0)
			}
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
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		slow := &redlock.Trace{HoldEnd: func(context.Context, redlock.HoldEndEvent) { time.Sleep(700 * time.Microsecond) }}
		l := w.locker(t, "a", redlock.WithTrace(slow), redlock.WithoutKeepalive())
		a, b := lock(t, l, "x"), lock(t, l, "y")
		require.NoError(t, a.Extend(t.Context())) // the masters know the script
		require.Equal(t, a.Until(), b.Until(), "both end in one tick")
		until := a.Until()
		const trip = 200 * time.Millisecond
		for _, m := range w.Masters() {
			m.Delay(trip/2, 0)
		}
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
	t.Parallel()
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
