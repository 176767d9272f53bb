package stacktest_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/kind"
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
		{
			"another drift", 20 * time.Millisecond, []redlock.Option{redlock.WithDrift(0.5, time.Second)}, 4 * time.Second, "10000",
		},
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

// fenced is a mutex with a fencing token.
func fenced(t testing.TB, l *redlock.Locker, name string) *redlock.Lock {
	t.Helper()
	return lock(t, l, name, redlock.WithFencing())
}

// count sets what a master has counted for a name.
func count(m *simnet.Master, name, fence string) {
	_ = m.Redis().Set(kind.FenceKey(name), fence)
}

func counted(m *simnet.Master, name string) string {
	last, _ := m.Redis().Get(kind.FenceKey(name))
	return last
}

func TestCountersEndADayAfterTheirLastLock(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a", redlock.WithTTL(time.Hour))
		lk := fenced(t, l, "x")
		time.Sleep(30 * time.Hour)
		require.NoError(t, lk.Err())
		each(w.Masters(), func(m *simnet.Master) { assert.NotEmpty(t, counted(m, "x"), "an extension keeps it") })
		unlock(t, lk)
		time.Sleep(24*time.Hour + 2*time.Hour)
		assert.Zero(t, w.keys())
		assert.Greater(t, fenced(t, l, "x").Fence(), lk.Fence())
	})
}

// As with appendfsync everysec, all masters come back with a count that is older than the last writer's token.
func TestReadersGoByTheHintWhereCountsAreOld(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a", redlock.WithFencing())
		old := fenced(t, l, "x")
		unlock(t, old)
		time.Sleep(time.Second)
		writer, err := l.RW("x").TryLock(t.Context())
		require.NoError(t, err)
		unlock(t, writer)
		synctest.Wait()
		time.Sleep(time.Second)
		each(w.Masters(), func(m *simnet.Master) { count(m, "x", strconv.FormatUint(old.Fence(), 10)) })
		assert.Greater(t, rlock(t, l, "x").Fence(), writer.Fence())
	})
}

const largest = 1<<53 - 1 // the largest fencing token

func TestAClockThatIsWrongByCenturiesGivesNoFencingToken(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		w.Host("a").Clock().SetAhead(290 * 365 * 24 * time.Hour)
		l := w.locker(t, "a")
		for what, acquire := range ways {
			err := acquire(within(t, time.Minute), l, "x", func(*redlock.Lock) {}, redlock.WithFencing())
			require.ErrorContains(t, err, "2289", what)
			require.ErrorContains(t, err, "from 1970 to 2255 only", what)
		}
		assert.Empty(t, w.asked(), "nothing was sent")
		unlock(t, lock(t, l, "x")) // without fencing it does not matter
	})
}

func TestALockSaysHowToRecoverAFenceAtItsLimitAndDoesNotWait(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a", redlock.WithFencing())
		each(w.Masters(), func(m *simnet.Master) { count(m, "x", fmt.Sprint(int64(largest))) })
		for _, k := range kinds {
			for what, take := range map[string]acquire{"Lock": k.lock, "TryLock": k.try} {
				_, err := take(within(t, time.Minute), l)
				require.ErrorIs(t, err, redlock.ErrNoQuorum, "%s: %s", k.name, what)
				require.NotErrorIs(t, err, context.DeadlineExceeded, "%s: %s", k.name, what)
				require.ErrorContains(t, err, "delete the key on every master", "%s: %s", k.name, what)
			}
		}
		each(w.Masters(), func(m *simnet.Master) { m.Redis().Del(kind.FenceKey("x")) }) // as the error says
		assert.NotZero(t, fenced(t, l, "x").Fence())
	})
}
