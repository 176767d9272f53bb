package stacktest_test

import (
	"context"
	"fmt"
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
	"github.com/redlock-go/redlock/internal/seam"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/internal/wire"
)

// hooked is a Trace that calls one function from every callback. Node has no context.
func hooked(f func(ctx context.Context, callback string, event any)) *redlock.Trace {
	return &redlock.Trace{
		AcquireStart: func(ctx context.Context, e redlock.AcquireStartEvent) { f(ctx, "AcquireStart", e) },
		Waiting:      func(ctx context.Context, e redlock.WaitingEvent) { f(ctx, "Waiting", e) },
		AcquireEnd:   func(ctx context.Context, e redlock.AcquireEndEvent) { f(ctx, "AcquireEnd", e) },
		Extended:     func(ctx context.Context, e redlock.ExtendedEvent) { f(ctx, "Extended", e) },
		HoldEnd:      func(ctx context.Context, e redlock.HoldEndEvent) { f(ctx, "HoldEnd", e) },
		Unlocked:     func(ctx context.Context, e redlock.UnlockedEvent) { f(ctx, "Unlocked", e) },
		Vote:         func(ctx context.Context, e redlock.VoteEvent) { f(ctx, "Vote", e) },
		Node:         func(e redlock.NodeEvent) { f(context.Background(), "Node", e) },
	}
}

// goroutine is the name of the caller's goroutine.
func goroutine() string {
	var buf [64]byte
	name, _, _ := strings.Cut(string(buf[:runtime.Stack(buf[:], false)]), "[")
	return name
}

// A panic in Close skips no other lock.
func TestACallbackThatPanicsInCloseKeepsNoLock(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		var panicked atomic.Bool
		a := w.locker(t, "a", redlock.WithTrace(hooked(func(_ context.Context, which string, _ any) {
			if which == "HoldEnd" && !panicked.Swap(true) {
				panic("the callback's")
			}
		})))
		var held []*redlock.Lock
		for _, name := range []string{"x", "y", "z"} {
			held = append(held, lock(t, a, name))
		}
		assert.PanicsWithValue(t, "the callback's", func() { _ = a.Close() })
		for _, lk := range held {
			require.ErrorIs(t, context.Cause(lk.Context()), redlock.ErrClosed)
			unlock(t, lock(t, w.locker(t, "b"), lk.Name()))
		}
	})
}

// Any callback that panics in the caller's goroutine, in any call, leaves nothing locked in the process or on the
// masters, if the caller recovers.
func TestACallbackThatPanicsDisablesNoName(t *testing.T) {
	t.Parallel()
	const taking = "AcquireStart Vote AcquireEnd Waiting HoldEnd Unlocked"
	can := map[string]string{"Unlock": "HoldEnd Unlocked", "Extend": "Vote Extended"} // in the caller's goroutine
	for name := range ways {
		can[name] = taking
		if strings.Contains(name, "Try") {
			can[name] = strings.Replace(taking, "Waiting", "", 1)
		}
	}
	for name, callbacks := range can {
		for callback := range strings.FieldsSeq(callbacks) {
			subWorld(t, name+", "+callback, 5, func(t *testing.T, w *world) {
				var panics atomic.Pointer[string]
				a := w.locker(t, "a", redlock.WithTrace(hooked(func(_ context.Context, which string, _ any) {
					if who := panics.Load(); which == callback && who != nil && *who == goroutine() {
						panic("the callback's")
					}
				})))
				b := w.locker(t, "b")
				w.warm(t, a)
				held, hindering := (*redlock.Lock)(nil), (*redlock.Lock)(nil)
				switch {
				case name == "Unlock" || name == "Extend":
					held = lock(t, a, "x")
				case callback == "Waiting":
					hindering = lock(t, b, "x")
				}
				down := 2 // they refuse at once, in the caller's goroutine
				if callback == "Extended" {
					down = 5
				}
				each(w.some(0, down), (*simnet.Master).Stop)
				for range 2 { // that the connections have ended, and that there are no new ones
					_, err := a.Inspect(t.Context(), "x")
					require.Equal(t, down > 2, err != nil)
					synctest.Wait()
				}
				me := goroutine()
				panics.Store(&me)
				assert.PanicsWithValue(t, "the callback's", func() {
					switch ctx := within(t, time.Minute); name {
					case "Unlock":
						_ = held.Unlock(ctx)
					case "Extend":
						_ = held.Extend(ctx)
					default:
						_ = ways[name](ctx, a, "x", func(*redlock.Lock) {})
					}
				})
				panics.Store(nil)
				each(w.some(0, down), (*simnet.Master).Restart)
				if name == "Extend" {
					time.Sleep(2 * ttl)
					require.NoError(t, held.Err(), "it is kept alive")
					unlock(t, held)
				}
				if hindering != nil {
					unlock(t, hindering)
				}
				for _, l := range []*redlock.Locker{a, b, a} {
					for _, k := range []lockKind{mutex, reentrant} {
						lk, err := k.lock(within(t, time.Second), l)
						require.NoError(t, err, "it is free")
						unlock(t, lk)
					}
				}
				time.Sleep(time.Second)
				assert.Empty(t, w.leftovers("x"))
			})
		}
	}
}

// Callbacks run without a mutex: one may use the queues of the Locker. It does not ask the masters, since the goroutine
// that calls it may be the one that would bring their answers.
func TestACallbackMayUseTheLocker(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		var held atomic.Pointer[redlock.Locker] // holds "held"
		var used sync.Map
		var nested atomic.Bool
		a := w.locker(t, "a", redlock.WithTrace(hooked(func(_ context.Context, callback string, _ any) {
			used.Store(callback, true)
			if l := held.Load(); l != nil {
				assert.Positive(t, l.Stats().Held)
				if !nested.CompareAndSwap(false, true) {
					return // the TryLock below has events, too
				}
				defer nested.Store(false)
				_, err := l.TryLock(context.Background(), "held") // the queue answers
				assert.ErrorIs(t, err, redlock.ErrHeld)
			}
		})))
		keep := lock(t, a, "held")
		each(w.some(0, 2), (*simnet.Master).Crash) // they refuse at once, in whatever goroutine asks
		for i := range 30 {
			synctest.Wait()
			held.Store(a)
			lk, err := a.Lock(within(t, time.Minute), "x")
			require.NoError(t, err)
			next := locking(within(t, time.Minute), a, "x", redlock.WithoutHandOver())
			quits := locking(within(t, time.Duration(i)*time.Millisecond), a, "x")
			if i%3 == 0 {
				_ = lk.Extend(t.Context())
			}
			time.Sleep(time.Duration(i) * time.Millisecond)
			unlock(t, lk)
			unlock(t, granted(t, next, time.Second))
			if got := ended(t, quits, time.Second); got.err == nil {
				unlock(t, got.lock)
			}
			synctest.Wait()
		}
		hindering := lock(t, w.locker(t, "b"), "y")
		waits := locking(within(t, time.Minute), a, "y")
		time.Sleep(100 * time.Millisecond)
		unlock(t, hindering)
		unlock(t, ended(t, waits, 2*time.Second).lock)
		synctest.Wait()
		held.Store(nil)
		unlock(t, keep)
		for _, callback := range strings.Fields("AcquireStart Waiting AcquireEnd Extended HoldEnd Unlocked Vote Node") {
			_, was := used.Load(callback)
			assert.True(t, was, callback)
		}
	})
}

// What Stats reports of a master follows the master's life.
func TestStatsReportsTheStateOfEachMaster(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		states := func() (states []redlock.State) {
			for _, n := range l.Stats().Nodes {
				states = append(states, n.State)
				assert.Equal(t, n.State == redlock.NodeVoting || n.State == redlock.NodeUnknown, n.Err == nil, n.State)
				assert.Equal(t, n.State == redlock.NodeRestarting, n.VoteIn > 0, n.State)
			}
			return states
		}
		use := func() {
			require.NoError(t, l.Do(t.Context(), "x", func(context.Context) error { return nil }))
		}
		const voting, unknown = redlock.NodeVoting, redlock.NodeUnknown
		assert.Equal(t, []redlock.State{unknown, unknown, unknown}, states())
		use()
		synctest.Wait()
		assert.Equal(t, []redlock.State{voting, voting, voting}, states())
		w.Master(0).Stop()
		for range 2 {
			use()
			time.Sleep(10 * time.Millisecond)
		}
		assert.Equal(t, []redlock.State{redlock.NodeSuspect, voting, voting}, states())
		w.Master(0).Restart()
		time.Sleep(time.Second)
		use()
		time.Sleep(10 * time.Millisecond)
		assert.Equal(t, []redlock.State{redlock.NodeRestarting, voting, voting}, states())
		rows, err := l.Nodes(t.Context())
		require.NoError(t, err)
		voteIn := l.Stats().Nodes[0].VoteIn
		assert.InDelta(t, float64(ttl+drift), float64(voteIn), float64(3*time.Second))
		assert.Equal(t, rows[0].VoteIn, voteIn)
		time.Sleep(voteIn - time.Millisecond)
		assert.Equal(t, redlock.NodeRestarting, states()[0])
		time.Sleep(2 * time.Millisecond)
		assert.Equal(t, []redlock.State{voting, voting, voting}, states())
	})
}

// Each number is what the master's node has counted under its name.
func TestStatsCountsWhatEachMasterWasAsked(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		deployment, err := seam.DeploymentOf(l)
		require.NoError(t, err)
		stats := func() redlock.NodeStats {
			got, s := l.Stats().Nodes[0], deployment.Nodes[0].Stats()
			want := redlock.NodeStats{
				NodeState: got.NodeState, Latency: got.Latency,
				Granted: s.Votes[wire.Granted], Denied: s.Votes[wire.Denied],
				Failed: s.Votes[wire.Failed], Unknown: s.Votes[wire.Unknown],
				Dropped: s.Dropped, Queued: s.Queued, InFlight: s.InFlight, Batches: s.Batches, Requests: s.Requests,
				Unconfirmed: s.Unconfirmed,
			}
			assert.Equal(t, want, got)
			assert.Equal(t, []any{s.Latency.Count(), s.Latency.Sum}, []any{got.Latency.Count, got.Latency.Sum})
			return got
		}
		w.warm(t, l)
		each(w.some(1, 3), func(m *simnet.Master) { m.Delay(time.Millisecond, 0) }) // no round ends before it is asked
		w.foreign("taken", time.Minute)
		require.ErrorIs(t, errorOf(l.TryLock(t.Context(), "taken")), redlock.ErrHeld)
		lk := lock(t, l, "x")
		synctest.Wait()
		well := stats()
		assert.Equal(t, well.Granted+well.Denied, well.Latency.Count)

		w.Master(0).Freeze()
		unlock(t, lk)
		assert.Equal(t, 1, stats().InFlight)
		for i := range 3 { // what is over before the master thaws is not sent, and the rest shares a batch
			unlock(t, lock(t, l, fmt.Sprint(i)))
		}
		assert.Positive(t, stats().Queued)
		w.Master(0).Thaw()
		time.Sleep(time.Minute)
		lk = lock(t, l, "x")
		synctest.Wait()
		w.Master(0).Freeze()
		unlock(t, lk)
		time.Sleep(timeout + time.Millisecond)
		assert.Positive(t, stats().Unconfirmed)
		w.Master(0).Thaw()
		time.Sleep(time.Minute)
		w.Master(0).Reply("ERR it is ill", "SET", "EVALSHA", "EVAL")
		unlock(t, lock(t, l, "ill"))
		synctest.Wait()
		ill := stats()
		assert.Less(t, ill.Batches, ill.Requests)
		for _, n := range []int64{ill.Denied, ill.Failed, ill.Unknown, ill.Dropped, ill.Batches} {
			assert.Positive(t, n, "%+v", ill)
		}
	})
}
