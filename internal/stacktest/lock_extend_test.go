package stacktest_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/simnet"
)

func TestValidityCountsFromBeforeTheFirstByte(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		delay time.Duration
		opts  []redlock.Option
		want  time.Duration
		px    string
	}{
		{"slow votes shorten it by what they took", 100 * time.Millisecond, nil, ttl - drift, "10000"},
		{"another TTL", 0, []redlock.Option{redlock.WithTTL(time.Second)}, time.Second - 12*time.Millisecond, "1000"},
		{"another drift", 20 * time.Millisecond, []redlock.Option{redlock.WithDrift(0.5, time.Second)}, ttl * 2 / 5, "10000"},
		{"no drift", 0, []redlock.Option{redlock.WithDrift(0, 0)}, ttl, "10000"},
		{"a TTL of whole milliseconds", 0, []redlock.Option{
			redlock.WithTTL(time.Second + 999*time.Microsecond), redlock.WithDrift(0, 0),
		}, time.Second, "1000"},
	} {
		subWorld(t, tt.name, 5, func(t *testing.T, w *world) {
			l := w.locker(t, "a", tt.opts...)
			w.warm(t, l)
			w.delay(tt.delay)
			asked := time.Now()
			lk := lock(t, l, "x")
			assert.Equal(t, 2*tt.delay, time.Since(asked), "one round trip")
			assert.Equal(t, asked.Add(tt.want), lk.Until())
			assert.NoError(t, lk.Err())
			assert.Equal(t, tt.px, w.sets()[0].Args[5])
			w.Heal()
			unlock(t, lk)
		})
	}
}

func TestTokenIsTheSameEverywhereAndFreshForEveryAttempt(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		l := w.locker(t, "host-7")
		w.foreign("x", 3*time.Second)
		lk, err := l.Lock(t.Context(), "x", redlock.WithRetry(100*time.Millisecond, 100*time.Millisecond))
		require.NoError(t, err)
		synctest.Wait()
		assert.Equal(t, 5, w.holders("x", lk.Token()))

		random, ok := strings.CutPrefix(lk.Token(), "host-7:")
		require.True(t, ok, "the owner comes first: %s", lk.Token())
		raw, err := hex.DecodeString(random)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, len(raw), 16)

		asked, tokens := make(map[string]bool), make(map[string]bool)
		for _, e := range w.sets() {
			asked[fmt.Sprint(e.Master, e.Args[2])], tokens[e.Args[2]] = true, true
			assert.Equal(t, []string{"nx", "px", "10000"}, e.Args[3:])
		}
		assert.Len(t, asked, len(w.sets()), "a master is asked with one token once")
		assert.Greater(t, len(tokens), 5, "attempts")
		unlock(t, lk)
	})
}

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

func TestLossIsReportedNoLaterThanUntil(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		opts []redlock.LockOption
		fail func(w *world)
	}{
		{"not extended", []redlock.LockOption{redlock.WithoutKeepalive()}, func(*world) {}},
		{"a majority is frozen", nil, func(w *world) { each(w.some(0, 3), (*simnet.Master).Freeze) }},
		{"all masters are cut off", nil, func(w *world) { each(w.Masters(), func(m *simnet.Master) { m.BlackHole() }) }},
		{"all masters refuse", nil, func(w *world) { each(w.Masters(), refuse) }},
	} {
		subWorld(t, tt.name, 5, func(t *testing.T, w *world) {
			var ends []redlock.Outcome
			l := w.locker(t, "a", redlock.WithTrace(&redlock.Trace{
				HoldEnd: func(_ context.Context, e redlock.HoldEndEvent) { ends = append(ends, e.Outcome) },
			}))
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
			assert.Equal(t, []redlock.Outcome{redlock.OutcomeLost}, ends)
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

func TestLossIsReportedEarlyWhenAMajorityLostTheToken(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		lose func(w *world)
	}{
		{"wiped", func(w *world) { each(w.some(0, 3), (*simnet.Master).Wipe) }},
		{"restarted empty", func(w *world) { each(w.some(0, 3), (*simnet.Master).Restart) }},
		{"another's", func(w *world) { w.foreign("x", time.Minute, 0, 1, 2) }},
	} {
		subWorld(t, tt.name, 5, func(t *testing.T, w *world) {
			var lk *redlock.Lock
			var seen []error
			l := w.locker(t, "a", redlock.WithTrace(&redlock.Trace{
				Extended: func(context.Context, redlock.ExtendedEvent) { seen = append(seen, lk.Err()) },
			}))
			lk = lock(t, l, "x")
			token := lk.Token()
			synctest.Wait()
			time.Sleep(time.Second)
			tt.lose(w)
			lost := time.Now()
			<-lk.Context().Done()
			assert.Less(t, time.Since(lost), ttl/2, "at the next extension")
			require.ErrorIs(t, lk.Err(), redlock.ErrLost)
			synctest.Wait()
			require.ErrorIs(t, seen[len(seen)-1], redlock.ErrLost, "the loss does not wait for a callback")
			time.Sleep(time.Until(lk.Until()) - time.Millisecond)
			assert.NotZero(t, w.holders("x", token), "the holder may rely on Until, notified or not")
			time.Sleep(2 * time.Millisecond)
			synctest.Wait()
			assert.Zero(t, w.holders("x", token), "what was left, and what was healed, is released")
		})
	}
}

// The first of two extensions is denied, and restores the keys, so the masters grant the second one.
func TestBothOfTwoExtensionsReportALoss(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		slow := redlock.WithTrace(&redlock.Trace{
			Extended: func(context.Context, redlock.ExtendedEvent) { time.Sleep(time.Second) },
		})
		lk := lock(t, w.locker(t, "a", redlock.WithoutKeepalive(), slow), "x")
		synctest.Wait()
		each(w.Masters(), (*simnet.Master).Wipe)
		errs := make(chan error, 2)
		for range cap(errs) {
			go func() { errs <- lk.Extend(t.Context()) }()
		}
		for range cap(errs) {
			require.ErrorIs(t, <-errs, redlock.ErrLost)
		}
	})
}

func TestMaxHoldIsALossThatSaysSo(t *testing.T) {
	t.Parallel()
	without := []redlock.LockOption{redlock.WithoutKeepalive()}
	for _, tt := range []struct {
		name string
		max  time.Duration
		opts []redlock.LockOption
		ends time.Duration
		text string
	}{
		{"over several TTLs", 35 * time.Second, nil, 35 * time.Second, "maximum of 35s (WithMaxHold)"},
		{"below the TTL", 3 * time.Second, nil, 3 * time.Second, "maximum of 3s (WithMaxHold)"},
		{"without keepalive", 3 * time.Second, without, 3 * time.Second, "WithMaxHold"},
		{"above the TTL, without keepalive", time.Minute, without, ttl - drift, "was not extended"},
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

// refuseExtensions has every master refuse extensions.
func (w *world) refuseExtensions() {
	each(w.Masters(), func(m *simnet.Master) {
		m.Reply("NOPERM this user has no permissions to run the 'pexpire' command", "EVALSHA", "EVAL")
	})
}

func TestALossDoesNotNameAnExtensionThatFailedBeforeOneThatSucceeded(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		lk := lock(t, w.locker(t, "a"), "x", redlock.WithoutKeepalive())
		synctest.Wait()
		w.refuseExtensions()
		require.ErrorIs(t, lk.Extend(t.Context()), redlock.ErrNoQuorum)
		each(w.Masters(), (*simnet.Master).Recover)
		time.Sleep(ttl / 2)
		require.NoError(t, lk.Extend(t.Context()))
		time.Sleep(ttl)
		require.ErrorIs(t, lk.Err(), redlock.ErrLost)
		assert.Empty(t, redlock.NodeErrors(lk.Err()))
	})
}

// One heap and one alarm serve all of them.
func TestHeldLocksHaveNoGoroutines(t *testing.T) {
	const locks = 1000
	bubble(t, 1, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
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

		w.forget()
		time.Sleep(ttl * 11 / 10)
		synctest.Wait()
		assert.Less(t, runtime.NumGoroutine(), before+10)
		assert.InDelta(t, 3, float64(len(w.asked()))/locks, 0.5, "each is extended three times per TTL")
		for _, lk := range held {
			require.NoError(t, lk.Err())
		}
	})
}
