package redlock_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/kind/kindtest"
	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/redlocktest"
)

// lifecycle has, for each phase of a lock, the events that lead to it, and the phase that follows at each event: "-" if
// the event cannot happen.
var lifecycle = map[string]struct {
	path []string
	next map[string]string
}{
	"held": {nil, map[string]string{
		"lose": "lingering", "clear": "-", "unlock": "unlocked", "handOver": "-", "giveBack": "-", "close": "closed",
	}},
	"lingering": {[]string{"lose"}, map[string]string{
		"lose": "lingering", "clear": "cleared", "unlock": "released", "handOver": "-", "giveBack": "-", "close": "cleared",
	}},
	"cleared": {[]string{"lose", "clear"}, map[string]string{
		"lose": "cleared", "clear": "cleared", "unlock": "released", "handOver": "-", "giveBack": "-", "close": "cleared",
	}},
	"unlocked": {[]string{"unlock"}, map[string]string{
		"lose": "unlocked", "clear": "-", "unlock": "unlocked", "handOver": "handedOver", "giveBack": "released",
		"close": "unlocked",
	}},
	"handedOver": {[]string{"unlock", "handOver"}, map[string]string{
		"lose": "handedOver", "clear": "-", "unlock": "handedOver", "handOver": "-", "giveBack": "-", "close": "handedOver",
	}},
	"released": {[]string{"unlock", "giveBack"}, map[string]string{
		"lose": "released", "clear": "released", "unlock": "released", "handOver": "-", "giveBack": "-", "close": "released",
	}},
	"closed": {[]string{"close"}, map[string]string{
		"lose": "closed", "clear": "-", "unlock": "closed", "handOver": "-", "giveBack": "-", "close": "closed",
	}},
}

// freed are the phases after which the masters no longer have the lock's keys.
var freed = map[string]bool{"cleared": true, "released": true, "closed": true}

// TestEveryEventInEveryPhaseOfALock walks all pairs on a lock that masters granted, and checks the effects: the first
// event ends the holder's context, with its cause; the release is submitted once; the waiter of the same Locker gets
// the lock then and not before; and no alarm of the schedule finds the lock after that.
func TestEveryEventInEveryPhaseOfALock(t *testing.T) {
	t.Parallel()
	assert.Len(t, lifecycle, len(redlock.Phases()))
	for _, phase := range redlock.Phases() {
		state, known := lifecycle[phase]
		require.True(t, known, phase)
		assert.Len(t, state.next, len(redlock.Events()))
		for _, event := range redlock.Events() {
			t.Run(phase+", "+event, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { walk(t, phase, event, state.path, state.next[event]) })
			})
		}
	}
}

// walk takes a lock to a phase and then applies an event, which leads to the phase next.
func walk(t *testing.T, phase, event string, path []string, next string) {
	t.Helper()
	var releases atomic.Int64
	l := redlocktest.NewLocker(t, 1, redlock.WithoutHandOver(), redlock.WithTrace(&redlock.Trace{
		Vote: func(_ context.Context, e redlock.VoteEvent) {
			if e.Op == "release" {
				releases.Add(1)
			}
		},
	}))
	warmUp(t, l)
	releases.Store(0)
	lk, err := l.TryLock(t.Context(), "x")
	require.NoError(t, err)
	held := lk.Context()
	waiter := make(chan *redlock.Lock, 1)
	go func() {
		if next, err := l.Lock(t.Context(), "x"); err == nil {
			waiter <- next
		}
	}()
	synctest.Wait()

	first, later := errors.New("the first"), errors.New("a later one")
	for i, e := range path {
		lk.Happen(e, []error{first, later}[min(i, 1)])
	}
	check := func(phase string) {
		t.Helper()
		synctest.Wait()
		require.Equal(t, phase, lk.Phase())
		assertEnded(t, held, lk, phase != "held", first)
		assert.Equal(t, freed[phase], releases.Load() == 1, "%d releases", releases.Load())
	}
	check(phase)

	if next == "-" {
		assert.PanicsWithValue(t, "redlock: "+event+" of a lock that is "+phase, func() { lk.Happen(event, nil) })
		return
	}
	assert.Equal(t, phase, lk.Happen(event, []error{first, later}[min(len(path), 1)]))
	check(next)

	time.Sleep(time.Minute) // nothing that is still scheduled ends the lock again
	if next == "lingering" {
		next = "cleared"
	}
	check(next)
	synctest.Wait()
	require.Equal(t, freed[next], len(waiter) == 1, "the waiter has the lock")
	if freed[next] {
		require.NoError(t, (<-waiter).Unlock(t.Context()))
	}
}

// warmUp gives the masters the scripts.
func warmUp(t *testing.T, l *redlock.Locker) {
	t.Helper()
	lk, err := l.TryLock(t.Context(), "warm up")
	require.NoError(t, err)
	require.NoError(t, lk.Unlock(t.Context()))
	synctest.Wait()
}

// assertEnded asserts that a lock has ended with a cause, or that it is held.
func assertEnded(t *testing.T, ctx context.Context, lk *redlock.Lock, ended bool, cause error) {
	t.Helper()
	if !ended {
		assert.NoError(t, lk.Err())
		assert.NoError(t, ctx.Err())
		return
	}
	assert.Equal(t, cause, lk.Err())
	assert.Equal(t, cause, context.Cause(ctx))
}

// Unlock of a lost lock returns while another goroutine is about to release the keys. A TryLock waits for that release.
func TestATryLockWaitsForTheReleaseOfALostLock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := redlocktest.NewLocker(t, 1)
		warmUp(t, l)
		lk, err := l.TryLock(t.Context(), "x")
		require.NoError(t, err)
		lk.Happen("lose", redlock.ErrLost)
		release := lk.Clear()
		require.ErrorIs(t, lk.Unlock(t.Context()), redlock.ErrLost)
		out := make(chan error, 1)
		go func() {
			_, err := l.TryLock(t.Context(), "x")
			out <- err
		}()
		synctest.Wait()
		require.Empty(t, out)
		release()
		require.NoError(t, <-out)
	})
}

// A held lock must not cost more memory than a lock of the size class that 100,000 locks were measured with.
func TestALockIsSmall(t *testing.T) {
	t.Parallel()
	assert.LessOrEqual(t, int(redlock.LockSize), 208)
}

// A lock that is scheduled may end at any moment, and its end must find that the lock holds its queue. In the other
// order the queue would stay held.
func TestALockThatEndsAtOnceReleasesItsQueue(t *testing.T) {
	t.Parallel()
	const longest = 3 * time.Second
	var l *redlock.Locker
	var goOn func()
	voted, lost := make(chan struct{}), make(chan struct{})
	l = redlocktest.NewLocker(t, 1, redlock.WithTrace(&redlock.Trace{
		Vote: func(_ context.Context, e redlock.VoteEvent) {
			if e.Op == "acquire" && goOn == nil {
				goOn = l.BlockQueues() // the masters granted, and the queue does not know it yet
				close(voted)
			}
		},
		HoldEnd: func(_ context.Context, e redlock.HoldEndEvent) {
			if e.Outcome == redlock.OutcomeLost {
				close(lost)
			}
		},
	}))
	out := make(chan error, 1)
	go func() {
		_, err := l.TryLock(t.Context(), "x", redlock.WithMaxHold(longest))
		out <- err
	}()
	<-voted
	select {
	case <-lost:
		assert.Fail(t, "the lock ended before its queue held it")
	case <-time.After(longest * 6 / 5):
	}
	goOn()
	require.NoError(t, <-out)
	<-lost
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	lk, err := l.Lock(ctx, "x")
	require.NoError(t, err, "the name is free")
	require.NoError(t, lk.Unlock(t.Context()))
}

// An extension that an Unlock overtakes has neither succeeded nor failed.
func TestAnExtensionThatAnUnlockOvertakesHasNoEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		masters := redlocktest.Start(t, 3)
		var extended []error
		l, err := redlock.Open(redlocktest.URLs(masters), redlock.WithTrace(&redlock.Trace{
			Extended: func(_ context.Context, e redlock.ExtendedEvent) { extended = append(extended, e.Err) },
		}))
		require.NoError(t, err)
		defer l.Close()
		lk, err := l.Lock(t.Context(), "x")
		require.NoError(t, err)
		require.NoError(t, lk.Extend(t.Context()))
		each := func(do func(*redlocktest.Master)) {
			for _, m := range masters {
				do(m)
			}
		}
		each((*redlocktest.Master).Freeze)
		extension, unlock := make(chan error, 1), make(chan error, 1)
		go func() { extension <- lk.Extend(t.Context()) }()
		synctest.Wait()
		go func() { unlock <- lk.Unlock(t.Context()) }()
		synctest.Wait()
		each((*redlocktest.Master).Thaw)
		require.NoError(t, <-unlock)
		require.ErrorIs(t, <-extension, redlock.ErrReleased)
		assert.Equal(t, []error{nil}, extended)
		s := l.Stats()
		assert.EqualValues(t, 1, s.Extended)
		assert.Zero(t, s.ExtensionFailures)
	})
}

// A time below half a millisecond is not 0.
func TestErrorsSayNoTimeOfZero(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := redlocktest.NewLocker(t, 1)
		_, err := l.Lock(t.Context(), "x")
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 400*time.Microsecond)
		defer cancel()
		_, err = l.Lock(ctx, "x")
		require.ErrorContains(t, err, "gave up after 1ms")
		err = &node.RestartError{Left: 400 * time.Microsecond}
		assert.ErrorContains(t, err, "may vote in 1ms")
	})
}

// A lock that ends while its failed extension is recorded does not silence the next lock that cannot be extended.
func TestALockThatEndsWhileItFailsSilencesNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		l := redlocktest.NewLocker(t, 1, redlock.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		lk, err := l.TryLock(t.Context(), "x")
		require.NoError(t, err)
		lk.FailExtension(true, errors.New("the first"))
		lk.FailExtension(false, errors.New("the second"))
		lk.FailExtension(false, errors.New("the third"))
		require.NoError(t, l.Close()) // the lines are written
		assert.Contains(t, log.String(), "the second")
		assert.NotContains(t, log.String(), "the third", "an outage is told once")
	})
}

// FuzzReadState makes a Holding of replies of any form.
func FuzzReadState(f *testing.F) {
	kindtest.Seed(f)
	free, held := kind.ReadState([]any{}), kind.ReadState([]any{"mutex", int64(1), int64(0), "other", int64(1)})
	f.Fuzz(func(t *testing.T, seed []byte) {
		v := kind.ReadState(kindtest.Reply(&seed))
		if !v.Verdict.Answered() {
			kindtest.CheckMalformed(t, v)
		}
		for _, votes := range [][]wire.Vote{{v}, {v, v, v}, {v, free, held}, {held, v, held}, {free, held, v, v, free}} {
			h := redlock.Gather(votes, len(votes)/2+1)
			for _, one := range h.Holders {
				require.LessOrEqual(t, one.Votes, len(votes), "a master has one vote")
			}
			require.Less(t, h.Fence, uint64(1)<<53)
		}
	})
}

func TestMain(m *testing.M) { testmain.Run(m) }
