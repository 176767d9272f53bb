package stacktest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/node"
)

// forgetful is the accident that the guard is there for: a holds the lock on a bare majority, one of them restarts
// empty, and b asks for it. It returns what b got.
func forgetful(t *testing.T, w *world, opts ...redlock.Option) error {
	t.Helper()
	a, b := w.locker(t, "a", opts...), w.locker(t, "b", opts...)
	w.warm(t, b)
	w.Master(3).Freeze()
	w.Master(4).Freeze()
	held := lock(t, a, "x", redlock.WithoutKeepalive())
	synctest.Wait()
	w.Master(3).Thaw()
	w.Master(4).Thaw()
	synctest.Wait()
	w.Master(3).Wipe() // whatever reached them late
	w.Master(4).Wipe()
	time.Sleep(time.Second)
	w.Master(2).Restart()
	var err error
	for range 10 { // the first may find no more than that a connection is gone
		var lk *redlock.Lock
		if lk, err = b.TryLock(t.Context(), "x"); err == nil {
			require.NoError(t, held.Err(), "both hold it")
			unlock(t, lk)
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	require.NoError(t, held.Err())
	return err
}

func TestAMasterThatRestartedMayNotVote(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		require.Error(t, forgetful(t, w), "two holders at once")
	})
}

// TestWithoutTheGuardTwoHoldTheLock is the control of the test above.
func TestWithoutTheGuardTwoHoldTheLock(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		require.NoError(t, forgetful(t, w, redlock.WithoutRestartGuard()))
	})
}

func TestARestartedMasterVotesAgainAfterTheWindow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		opts   []redlock.Option
		window time.Duration
	}{
		{"default: the TTL and its drift", nil, ttl + drift},
		{"as set", []redlock.Option{redlock.WithMaxTTL(time.Minute)}, time.Minute + 602*time.Millisecond},
		{
			"drift of its own",
			[]redlock.Option{redlock.WithMaxTTL(time.Minute), redlock.WithDrift(0.5, 0)},
			90 * time.Second,
		},
	} {
		subWorld(t, tt.name, 3, func(t *testing.T, w *world) {
			l := w.locker(t, "a", tt.opts...)
			w.warm(t, l)
			w.Master(0).Crash()
			w.Master(1).Restart()
			_, err := l.TryLock(t.Context(), "x") // finds no more than that the connections are gone
			require.ErrorIs(t, err, redlock.ErrNoQuorum)
			time.Sleep(100 * time.Millisecond)
			_, err = l.TryLock(t.Context(), "x")
			require.ErrorIs(t, err, redlock.ErrNoQuorum)
			var young *node.RestartError
			require.ErrorAs(t, err, &young)
			assert.InDelta(t, float64(tt.window), float64(young.Left), float64(2*time.Second))
			synctest.Wait()
			assert.Zero(t, w.keys(), "the vote that did not count is released")

			time.Sleep(young.Left - time.Second/2)
			_, err = l.TryLock(t.Context(), "x")
			require.ErrorIs(t, err, redlock.ErrNoQuorum)
			time.Sleep(time.Second)
			unlock(t, lock(t, l, "x"))
		})
	}
}

// The nodes' tests have the other ways to hide an identity.
func TestServersThatDoNotSayWhoTheyAreAreRefused(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		w.Master(0).Info("run_id", "")
		l := w.locker(t, "a")
		unlock(t, lock(t, l, "x"))
		synctest.Wait()

		w.Master(1).Info("run_id", "")
		l = w.locker(t, "b")
		began := time.Now()
		_, err := l.Lock(within(t, time.Minute), "x")
		require.ErrorIs(t, err, redlock.ErrNoQuorum)
		assert.ErrorContains(t, err, "WithoutRestartGuard", "the option that helps")
		assert.Less(t, time.Since(began), time.Second, "only an operator can fix it")
		time.Sleep(time.Second)
		assert.Zero(t, w.keys())

		l = w.locker(t, "c", redlock.WithoutRestartGuard())
		unlock(t, lock(t, l, "x"))
		rows, err := l.Nodes(t.Context())
		require.NoError(t, err)
		assert.True(t, rows[0].MayVote)
	})
}

// This holds from the first lock on, without the guard, too.
func TestOneServerUnderTwoNamesIsNoFalseMajority(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		w.Alias("10.9.9.9:6379", 1)
		urls := append(w.URLs(), "redis://10.9.9.9:6379")

		w.Master(0).Crash()
		l := w.over(t, "a", w.nodes(t, "a", urls...), redlock.WithoutRestartGuard())
		_, err := l.TryLock(t.Context(), "x")
		require.ErrorIs(t, err, redlock.ErrNoQuorum, "one server is no majority of three")
		synctest.Wait()
		assert.Zero(t, w.keys())
		w.Master(0).Restart()
		time.Sleep(time.Minute)

		lk := lock(t, l, "x")
		synctest.Wait()
		assert.Equal(t, 2, w.holders("x", lk.Token()), "two servers are")
		require.NoError(t, lk.Extend(t.Context()))
		w.Master(0).Wipe()
		require.Error(t, lk.Extend(t.Context()), "one server is no majority for an extension")
		_ = lk.Unlock(t.Context())
	})
}

// In the log once, in the rows of Nodes and in Stats.
func TestTheSameServerTwiceIsReported(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		w.Alias("10.9.9.9:6379", 1)
		each(w.Masters(), func(m *simnet.Master) { m.RequirePassword("secret") })
		var log logbook
		l := w.over(
			t, "a", w.nodes(t, "a", append(w.passwords(), "redis://:secret@10.9.9.9")...), redlock.WithLogger(log.logger()),
		)
		for range 3 {
			unlock(t, lock(t, l, "x"))
			synctest.Wait()
		}
		rows, err := l.Nodes(t.Context())
		require.NoError(t, err)
		may := 0
		for _, row := range rows {
			assert.NotContains(t, row.Node, "secret")
			if row.MayVote {
				may++
				continue
			}
			assert.ErrorContains(t, row.Err, "same server")
		}
		assert.Equal(t, 2, may)
		stats := l.Stats().Nodes
		assert.Zero(t, stats[0].Duplicates)
		assert.Positive(t, stats[1].Duplicates)
		assert.Equal(t, stats[1].Duplicates, stats[2].Duplicates)
		said := log.lines("one server")
		require.Len(t, said, 1)
		assert.Contains(t, said[0], "level=WARN")
		assert.Contains(t, said[0], "master="+w.Addr(1))
		assert.Contains(t, said[0], "other=10.9.9.9:6379")
		assert.NotContains(t, said[0], "secret")
	})
}

// restoredKey is an accident in which the lock of a holder returns to a master where it never was:
//
//   - a holds the lock on masters 1 and 2, because a foreign key kept it off master 0, and then loses master 1.
//   - b asks for the lock. Master 0 grants, and restarts empty. The request is slow on its way to master 1, and arrives
//     when a's key has expired there. So b has a majority.
//   - Meanwhile an extension of a restores its key on master 0, and the next one finds it there.
//
// It returns a's lock and what b got.
func restoredKey(t *testing.T, w *world, opts ...redlock.Option) (held, got *redlock.Lock) {
	t.Helper()
	a, b := w.locker(t, "a", append(opts, redlock.WithoutKeepalive())...), w.locker(t, "b", opts...)
	w.warm(t, b)
	w.foreign("x", ttl/2, 0)
	start := time.Now()
	held = lock(t, a, "x")
	synctest.Wait()
	w.Host("a").To(1).BlackHole()
	w.Host("b").To(1).DelayWay(simnet.ToMaster, 450*time.Millisecond, 0)

	time.Sleep(time.Until(start.Add(ttl - 440*time.Millisecond)))
	asked := inBackground(func() (*redlock.Lock, error) { return b.TryLock(t.Context(), "x") })
	time.Sleep(20 * time.Millisecond)
	w.Master(0).Restart()
	for range 4 {
		time.Sleep(20 * time.Millisecond)
		go func() { _ = held.Extend(t.Context()) }()
	}
	answer := <-asked
	return held, answer.lock
}

// TestAKeyRestoredWithinTheWindowDoesNotCount holds the rule that a lock may extend itself with the vote of a restarted
// master only if its key was there before.
func TestAKeyRestoredWithinTheWindowDoesNotCount(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		held, got := restoredKey(t, w)
		require.NotNil(t, got, "b gets the lock when a's ends")
		require.ErrorIs(t, held.Err(), redlock.ErrLost, "two holders at once")
		unlock(t, got)
	})
}

// TestWithoutTheGuardARestoredKeyCounts is the control of the test above.
func TestWithoutTheGuardARestoredKeyCounts(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		held, got := restoredKey(t, w, redlock.WithoutRestartGuard())
		require.NotNil(t, got)
		assert.NoError(t, held.Err(), "two hold it")
		unlock(t, got)
	})
}

// TestARestoredKeyCountsAgainWhereTheLockWas has one master restart without its data, for longer than an extension
// takes. Another master fails a while later, within the restart window of the first.
func TestARestoredKeyCountsAgainWhereTheLockWas(t *testing.T) {
	t.Parallel()
	for _, down := range []time.Duration{100 * time.Millisecond, time.Second, 2 * time.Second} {
		subWorld(t, down.String(), 3, func(t *testing.T, w *world) {
			const window = time.Minute
			l := w.locker(t, "a", redlock.WithTTL(5*time.Second), redlock.WithMaxTTL(window))
			time.Sleep(window + window/50)
			held := lock(t, l, "x")
			synctest.Wait()
			time.Sleep(100 * time.Millisecond)
			w.Master(0).Crash()
			time.Sleep(down)
			w.Master(0).Start()
			time.Sleep(window / 4)
			require.Equal(t, 3, w.holders("x", held.Token()))
			w.Master(1).Crash()
			time.Sleep(window / 4)
			require.NoError(t, held.Err())
			unlock(t, held)
		})
	}
}
