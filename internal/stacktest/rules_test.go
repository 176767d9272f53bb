package stacktest_test

import (
	"encoding/hex"
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
		{"default", 0, nil, ttl - drift, "10000"},
		{"slow votes shorten it by what they took", 100 * time.Millisecond, nil, ttl - drift, "10000"},
		{"another TTL", 0, []redlock.Option{redlock.WithTTL(time.Second)}, time.Second - 12*time.Millisecond, "1000"},
		{"another drift", 20 * time.Millisecond, []redlock.Option{
			redlock.WithDrift(0.5, time.Second),
		}, 4 * time.Second, "10000"},
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

		type on struct {
			master int
			token  string
		}
		seen := make(map[on]int)
		tokens := make(map[string]bool)
		for _, e := range w.sets() {
			seen[on{e.Master, e.Args[2]}]++
			tokens[e.Args[2]] = true
			assert.Equal(t, []string{"nx", "px", "10000"}, e.Args[3:])
		}
		for k, n := range seen {
			assert.Equal(t, 1, n, "master %d was asked with one token more than once", k.master)
		}
		assert.Greater(t, len(tokens), 5, "attempts")
		unlock(t, lk)
	})
}

// A client that sends SET NX again after a lost reply reads its own key as another's.
func TestTheRedisClientRepeatsNoCommand(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		w.warm(t, l)
		w.Master(0).Cut(simnet.FromMaster)
		out := inBackground(func() (*redlock.Lock, error) { return l.TryLock(t.Context(), "x") })
		w.Master(0).Reset() // the SET was executed, its reply is lost
		w.Master(0).Heal()
		a := granted(t, out, timeout)
		time.Sleep(3 * time.Second)
		assert.Len(t, w.sets(), 3, "one a master")
		unlock(t, a)
		time.Sleep(time.Second)
		assert.Zero(t, w.keys())
	})
}

// A holder that was frozen past its deadline must not take the lock back when it wakes, with its keepalive or by
// Extend.
func TestLockIsNeverRecreatedAfterItsOwnDeadline(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		lk := lock(t, l, "x")
		synctest.Wait() // the minority's acquires are not to be what the thaw sends
		w.Host("a").Freeze()
		time.Sleep(ttl + time.Second)
		assert.Zero(t, w.keys())
		w.forget()
		w.Host("a").Thaw()
		require.ErrorIs(t, lk.Extend(t.Context()), redlock.ErrLost)
		time.Sleep(ttl)
		assert.Zero(t, w.keys())
		assert.Empty(t, w.sets())
		require.ErrorIs(t, lk.Unlock(t.Context()), redlock.ErrLost)
	})
}

// The release reaches a frozen master after everything that was sent before, however long the master is frozen.
func TestAFrozenMasterKeepsNoGhost(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		before func(w *world) // the lock is taken
		after  func(t *testing.T, w *world, lk *redlock.Lock)
		frozen time.Duration
	}{
		{
			"frozen before the acquire, for a moment",
			func(w *world) { w.Master(0).Freeze() }, nil, time.Second,
		},
		{
			"frozen before the acquire, for longer than the TTL",
			func(w *world) { w.Master(0).Freeze() }, nil, 3 * ttl,
		},
		{
			"frozen before the release",
			nil, func(_ *testing.T, w *world, _ *redlock.Lock) { w.Master(0).Freeze() }, time.Second,
		},
		{
			"frozen with an extension on its way, released at once, for longer than the TTL",
			nil, func(t *testing.T, w *world, lk *redlock.Lock) {
				t.Helper()
				w.Master(0).Freeze()
				require.NoError(t, lk.Extend(t.Context()))
			}, 3 * ttl,
		},
		{
			"frozen with an extension on its way that got no answer, for longer than the TTL",
			nil, func(t *testing.T, w *world, lk *redlock.Lock) {
				t.Helper()
				w.Master(0).Freeze()
				require.NoError(t, lk.Extend(t.Context()))
				time.Sleep(time.Second)
			}, 3 * ttl,
		},
		{
			"cut off before the acquire, for longer than the TTL",
			func(w *world) { w.Master(0).BlackHole() }, nil, 2 * ttl,
		},
		{
			"its replies cut off before the acquire",
			func(w *world) { w.Master(0).Cut(simnet.FromMaster) }, nil, ttl / 2,
		},
	} {
		subWorld(t, tt.name, 5, func(t *testing.T, w *world) {
			l := w.locker(t, "a", redlock.WithoutKeepalive())
			w.warm(t, l)
			if tt.before != nil {
				tt.before(w)
			}
			lk := lock(t, l, "x")
			if tt.after != nil {
				tt.after(t, w, lk)
			}
			unlock(t, lk)
			time.Sleep(tt.frozen)
			w.Heal()
			time.Sleep(2 * time.Second)
			assert.Zero(t, w.keys())
		})
	}
}
