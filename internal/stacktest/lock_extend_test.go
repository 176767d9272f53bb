package stacktest_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/simnet"
)

func TestExtendThatComesTooLateIsALoss(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a", redlock.WithoutKeepalive())
		lk := lock(t, l, "x")
		synctest.Wait()
		time.Sleep(time.Until(lk.Until()) - 10*time.Millisecond)
		w.delay(20 * time.Millisecond)
		err := lk.Extend(t.Context())
		require.ErrorIs(t, err, redlock.ErrLost, "granted by all, after the deadline")
		require.ErrorIs(t, context.Cause(lk.Context()), redlock.ErrLost)
		time.Sleep(time.Second)
		assert.Zero(t, w.keys(), "what the extension put there is released")
	})
}

func TestExtendOnAnEndedContextSendsNothing(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a", redlock.WithoutKeepalive())
		lk := lock(t, l, "x")
		synctest.Wait()
		w.forget()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, lk.Extend(ctx), context.Canceled)
		synctest.Wait()
		assert.Empty(t, w.asked())
		require.NoError(t, lk.Err())

		each(w.Masters(), (*simnet.Master).Freeze)
		require.ErrorIs(t, lk.Extend(within(t, 10*time.Millisecond)), context.DeadlineExceeded)
		require.NoError(t, lk.Err(), "the wait ended, not the lock")
		w.Heal()
		time.Sleep(time.Second)
		unlock(t, lk)
	})
}

func TestLossIsReportedNoLaterThanUntil(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		opts []redlock.LockOption
		fail func(w *world)
	}{
		{"not extended", []redlock.LockOption{redlock.WithoutKeepalive()}, func(*world) {}},
		{"all masters are frozen", nil, func(w *world) {
			each(w.Masters(), (*simnet.Master).Freeze)
		}},
		{"a majority is frozen", nil, func(w *world) {
			each(w.some(0, 3), (*simnet.Master).Freeze)
		}},
		{"all masters are cut off", nil, func(w *world) {
			for _, m := range w.Masters() {
				m.BlackHole()
			}
		}},
		{"all masters refuse", nil, func(w *world) {
			for _, m := range w.Masters() {
				m.Refuse()
				m.Reset()
			}
		}},
	} {
		subWorld(t, tt.name, 5, func(t *testing.T, w *world) {
			var lost []error
			var mu sync.Mutex
			ended := func(_ context.Context, e redlock.HoldEndEvent) {
				mu.Lock()
				defer mu.Unlock()
				assert.Equal(t, redlock.OutcomeLost, e.Outcome)
				lost = append(lost, e.Err)
			}
			l := w.locker(t, "a", redlock.WithTrace(&redlock.Trace{HoldEnd: ended}))
			lk := lock(t, l, "x", tt.opts...)
			synctest.Wait()
			tt.fail(w)
			until := lk.Until()
			<-lk.Context().Done()
			assert.False(t, time.Now().After(until), "notified %v late", time.Since(until))
			assert.Less(t, time.Until(until), 10*time.Millisecond, "and not much earlier: the lock was held")
			require.ErrorIs(t, lk.Err(), redlock.ErrLost)
			require.ErrorIs(t, context.Cause(lk.Context()), redlock.ErrLost)
			synctest.Wait()
			mu.Lock()
			assert.Len(t, lost, 1)
			mu.Unlock()
			w.Heal()
			time.Sleep(2 * time.Second)
			assert.Zero(t, w.keys(), "what is left is released without an Unlock")
			require.ErrorIs(t, lk.Extend(t.Context()), redlock.ErrLost)
			require.ErrorIs(t, lk.Unlock(t.Context()), redlock.ErrLost)
			require.ErrorIs(t, lk.Unlock(t.Context()), redlock.ErrReleased)
			time.Sleep(time.Second)
		})
	}
}

// The loss is delivered a little early, but the holder may rely on Until: no other client gets the lock before.
func TestNoClientGetsALostLockBeforeUntil(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		opt  redlock.LockOption
	}{
		{"not extended", redlock.WithoutKeepalive()},
		{"it was held for its maximum", redlock.WithMaxHold(3 * time.Second)},
	} {
		subWorld(t, tt.name, 3, func(t *testing.T, w *world) {
			a, b := w.locker(t, "a", patient), w.locker(t, "b")
			w.warm(t, b)
			lk := lock(t, a, "x", tt.opt)
			until := lk.Until()
			next := locking(t.Context(), a, "x")
			<-lk.Context().Done()
			require.ErrorIs(t, lk.Err(), redlock.ErrLost)
			waiting(t, next, "the next of this process")
			_, err := b.TryLock(t.Context(), "x")
			require.ErrorIs(t, err, redlock.ErrHeld, "another process")
			synctest.Wait()
			assert.Equal(t, 3, w.holders("x", lk.Token()))
			assert.True(t, time.Now().Before(until), "all of this was before Until")

			w.forget()
			time.Sleep(time.Until(until))
			n := granted(t, next, 0)
			assert.False(t, w.asked()[0].At.Before(until), "nothing is sent before Until")
			unlock(t, n)
		})
	}
}

func TestLossIsReportedEarlyWhenAMajorityLostTheToken(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		lose func(w *world)
	}{
		{"wiped", func(w *world) {
			each(w.some(0, 3), (*simnet.Master).Wipe)
		}},
		{"restarted empty", func(w *world) {
			each(w.some(0, 3), (*simnet.Master).Restart)
		}},
		{"another's", func(w *world) { w.foreign("x", time.Minute, 0, 1, 2) }},
	} {
		subWorld(t, tt.name, 5, func(t *testing.T, w *world) {
			l := w.locker(t, "a")
			lk := lock(t, l, "x")
			token := lk.Token()
			synctest.Wait()
			time.Sleep(time.Second)
			tt.lose(w)
			lost := time.Now()
			<-lk.Context().Done()
			assert.Less(t, time.Since(lost), ttl/2, "at the next extension")
			require.ErrorIs(t, lk.Err(), redlock.ErrLost)
			time.Sleep(time.Until(lk.Until()) - time.Millisecond)
			assert.NotZero(t, w.holders("x", token), "the holder may rely on Until, notified or not")
			time.Sleep(2 * time.Millisecond)
			synctest.Wait()
			assert.Zero(t, w.holders("x", token), "what was left, and what was healed, is released")
		})
	}
}

// Two extensions are in flight. The first one finds the loss, and heals the keys; so the second one is granted.
func TestNoExtensionMovesTheDeadlineOfALostLock(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a"), w.locker(t, "b")
		w.warm(t, b)
		lk := lock(t, a, "x", redlock.WithoutKeepalive())
		synctest.Wait()
		time.Sleep(time.Second)
		until := lk.Until()
		each(w.some(0, 2), (*simnet.Master).Wipe)
		for i := range 3 {
			w.Master(i).Delay(time.Duration(10*(i/2+1))*time.Millisecond, 0) // those that were wiped answer first
		}
		errs := make(chan error, 2)
		for range 2 {
			go func() { errs <- lk.Extend(t.Context()) }()
			synctest.Wait()
		}
		require.ErrorIs(t, <-errs, redlock.ErrLost)
		require.ErrorIs(t, <-errs, redlock.ErrLost)
		assert.Equal(t, until, lk.Until())
		time.Sleep(time.Until(until) - time.Millisecond)
		_, err := b.TryLock(t.Context(), "x")
		require.ErrorIs(t, err, redlock.ErrHeld)
		time.Sleep(100 * time.Millisecond)
		next, err := b.TryLock(t.Context(), "x")
		require.NoError(t, err, "the keys are released at the first deadline, not at a later one")
		unlock(t, next)
	})
}

// A caller of Unlock no longer relies on Until.
func TestUnlockRemovesTheKeysOfALostLock(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testing.T, *redlock.Locker, *redlock.Lock){
		"unlocked": func(t *testing.T, _ *redlock.Locker, lk *redlock.Lock) {
			require.ErrorIs(t, lk.Unlock(t.Context()), redlock.ErrLost)
		},
		"closed": func(t *testing.T, l *redlock.Locker, _ *redlock.Lock) { require.NoError(t, l.Close()) },
	} {
		subWorld(t, name, 5, func(t *testing.T, w *world) {
			l := w.locker(t, "a")
			lk := lock(t, l, "x")
			token := lk.Token()
			synctest.Wait()
			w.foreign("x", time.Minute, 0, 1, 2)
			<-lk.Context().Done()
			require.Equal(t, 2, w.holders("x", token))
			require.Greater(t, time.Until(lk.Until()), ttl/4)
			end(t, l, lk)
			synctest.Wait()
			time.Sleep(time.Millisecond)
			assert.Zero(t, w.holders("x", token))
			require.ErrorIs(t, lk.Err(), redlock.ErrLost)
		})
	}
}

func TestAFailureOfOneMasterNeverEndsALock(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		trouble func(w *world, i int)
	}{
		{"crashed", func(w *world, i int) { w.Master(i).Crash() }},
		{"frozen", func(w *world, i int) { w.Master(i).Freeze() }},
		{"cut off", func(w *world, i int) { w.Master(i).BlackHole() }},
		{"wiped", func(w *world, i int) { w.Master(i).Wipe() }},
		{"restarted empty", func(w *world, i int) { w.Master(i).Restart() }},
		{"a replica", func(w *world, i int) {
			w.Master(i).Reply("READONLY You can't write against a read only replica.", "SET", "EVALSHA", "EVAL", "PEXPIRE")
		}},
		{"out of memory", func(w *world, i int) {
			w.Master(i).Reply("OOM command not allowed", "SET", "EVALSHA", "EVAL", "PEXPIRE")
		}},
		{"loading", func(w *world, i int) { w.Master(i).Reply("LOADING Redis is loading the dataset in memory") }},
		{"another's", func(w *world, i int) { w.Master(i).Set("x", "another's", time.Hour) }},
	} {
		subWorld(t, tt.name, 5, func(t *testing.T, w *world) {
			l := w.locker(t, "a")
			lk := lock(t, l, "x")
			synctest.Wait()
			tt.trouble(w, 1)
			tt.trouble(w, 3)
			time.Sleep(5 * ttl)
			require.NoError(t, lk.Err())
			assert.False(t, ends(lk.Context()))
			require.NoError(t, lk.Extend(t.Context()))
			unlock(t, lk)
		})
	}
}

func TestExtendHealsAndCountsTheHealedFromTheNextOneOn(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		l := w.locker(t, "a", redlock.WithoutKeepalive())
		lk := lock(t, l, "x")
		synctest.Wait()
		w.Master(0).Wipe()
		w.Master(1).Wipe()
		time.Sleep(time.Second)
		require.NoError(t, lk.Extend(t.Context()), "three of five had it")
		synctest.Wait()
		assert.Equal(t, 5, w.holders("x", lk.Token()), "healed")

		w.Master(2).Wipe()
		require.NoError(t, lk.Extend(t.Context()), "the two that were healed count now")
		synctest.Wait()

		w.Master(0).Wipe()
		w.Master(1).Wipe()
		w.Master(2).Crash()
		require.ErrorIs(t, lk.Extend(t.Context()), redlock.ErrNoQuorum, "two had it, two were healed just now")
		require.NoError(t, lk.Extend(t.Context()), "and count from the next one on")
		unlock(t, lk)
		synctest.Wait()
		assert.Zero(t, w.keys())
	})
}

func TestAHealedMasterIsReleasedToo(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		w.Master(4).Crash()
		l := w.locker(t, "a", redlock.WithMaxTTL(time.Minute))
		lk := lock(t, l, "x")
		time.Sleep(ttl)
		w.Master(4).Restart()
		time.Sleep(ttl)
		assert.Equal(t, 5, w.holders("x", lk.Token()), "healed, though it may not vote yet")
		unlock(t, lk)
		synctest.Wait()
		assert.Zero(t, w.keys())
	})
}

func TestFailedExtensionIsRepeatedSooner(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		tries := 0
		var mu sync.Mutex
		l := w.locker(t, "a", redlock.WithTrace(&redlock.Trace{Extended: func(context.Context, redlock.ExtendedEvent) {
			mu.Lock()
			defer mu.Unlock()
			tries++
		}}))
		lk := lock(t, l, "x")
		synctest.Wait()
		w.Master(0).Freeze()
		w.Master(1).Freeze()
		time.Sleep(time.Until(lk.Until()) - time.Second)
		mu.Lock()
		assert.GreaterOrEqual(t, tries, 4)
		mu.Unlock()
		w.Heal()
		time.Sleep(time.Second)
		require.NoError(t, lk.Err(), "masters that came back in the last second were asked in time")
		unlock(t, lk)
	})
}

func TestMaxHoldIsALossThatSaysSo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		max  time.Duration
		opts []redlock.LockOption
		ends time.Duration
		text string
	}{
		{"over several TTLs", 35 * time.Second, nil, 35 * time.Second, "maximum of 35s (WithMaxHold)"},
		{"below the TTL", 3 * time.Second, nil, 3 * time.Second, "maximum of 3s (WithMaxHold)"},
		{
			"without keepalive", 3 * time.Second,
			[]redlock.LockOption{redlock.WithoutKeepalive()},
			3 * time.Second,
			"WithMaxHold",
		},
		{
			"above the TTL, without keepalive", time.Minute,
			[]redlock.LockOption{redlock.WithoutKeepalive()},
			ttl - drift,
			"was not extended",
		},
	} {
		subWorld(t, tt.name, 3, func(t *testing.T, w *world) {
			l, other := w.locker(t, "a"), w.locker(t, "b")
			asked := time.Now()
			lk := lock(t, l, "x", append(tt.opts, redlock.WithMaxHold(tt.max))...)
			assert.False(t, lk.Until().After(asked.Add(tt.max)), "Until never promises more than the cap")
			time.Sleep(tt.ends - 2*time.Millisecond)
			require.NoError(t, lk.Err())
			time.Sleep(2 * time.Millisecond)
			err := lk.Err()
			require.ErrorIs(t, err, redlock.ErrLost)
			assert.ErrorContains(t, err, tt.text)
			assert.Equal(t, err, context.Cause(lk.Context()))
			synctest.Wait()
			unlock(t, lock(t, other, "x"))
			require.ErrorIs(t, lk.Extend(t.Context()), redlock.ErrLost)
			require.ErrorIs(t, lk.Unlock(t.Context()), redlock.ErrLost)
		})
	}
}

// If a lock is lost because its extensions failed, the error names the masters and their errors.
func TestALossSaysWhyTheLastExtensionFailed(t *testing.T) {
	t.Parallel()
	refuse := func(w *world) {
		for _, m := range w.Masters() {
			m.Reply("NOPERM this user has no permissions to run the 'pexpire' command", "EVALSHA", "EVAL")
		}
	}
	subWorld(t, "it failed", 3, func(t *testing.T, w *world) {
		lk := lock(t, w.locker(t, "a"), "x")
		synctest.Wait()
		refuse(w)
		time.Sleep(ttl)
		err := lk.Err()
		require.ErrorIs(t, err, redlock.ErrLost)
		require.NotErrorIs(t, err, redlock.ErrNoQuorum, "which says that the lock is held as before")
		require.EqualError(t, err, `redlock: lock "x": the lock was lost: `+
			"its TTL of 10s ended and it was not extended: "+
			"10.0.0.1:6379, 10.0.0.2:6379, 10.0.0.3:6379: "+
			"NOPERM this user has no permissions to run the 'pexpire' command")
		assert.Len(t, redlock.NodeErrors(err), 3)
		assert.Equal(t, err, context.Cause(lk.Context()))
	})
	subWorld(t, "it succeeded after one that failed", 3, func(t *testing.T, w *world) {
		lk := lock(t, w.locker(t, "a"), "x", redlock.WithoutKeepalive())
		synctest.Wait()
		refuse(w)
		require.ErrorIs(t, lk.Extend(t.Context()), redlock.ErrNoQuorum)
		each(w.Masters(), (*simnet.Master).Recover)
		time.Sleep(ttl / 2)
		require.NoError(t, lk.Extend(t.Context()))
		time.Sleep(ttl)
		require.ErrorIs(t, lk.Err(), redlock.ErrLost)
		assert.Empty(t, redlock.NodeErrors(lk.Err()))
	})
}
