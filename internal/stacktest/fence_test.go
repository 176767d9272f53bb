package stacktest_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/simnet"
)

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

// Only the write-back carries it from one to the next.
func TestTheTokenGrowsThoughEveryMajorityIsAnother(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		for i, m := range w.Masters() {
			count(m, "x", []string{"5", "9000000000000000", "7", "8", "8000000000000000"}[i])
		}
		var last uint64
		for _, away := range [][]int{{0, 2}, {1, 3}, {2, 4}, {1, 4}, {0, 1}, {3, 4}} {
			for _, i := range away {
				w.Master(i).BlackHole()
			}
			lk := fenced(t, l, "x")
			assert.Greater(t, lk.Fence(), last, "without %v", away)
			last = lk.Fence()
			unlock(t, lk)
			for _, i := range away {
				w.Master(i).Heal()
			}
			time.Sleep(2 * time.Second)
		}
	})
}

// An attempt within the restart window cannot succeed. If it counted all the same, with a slow clock, a reader would
// take that for what the last writer left.
func TestAnAttemptWithinTheRestartWindowDoesNotCount(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		ahead := w.locker(t, "ahead", redlock.WithFencing(), redlock.WithoutKeepalive())
		slow := w.locker(t, "slow", redlock.WithFencing())
		w.Host("ahead").Clock().SetAhead(4 * time.Second) // less than half the window
		before, err := ahead.RW("x").TryLock(t.Context())
		require.NoError(t, err)
		for _, m := range w.Masters() {
			m.Crash()
			m.Restart()
		}
		for range 3 { // the first finds that the connections have ended
			_, err = slow.RW("x").TryLock(t.Context())
			require.ErrorIs(t, err, redlock.ErrNoQuorum)
			time.Sleep(time.Second)
		}
		assert.Zero(t, w.keys(), "nothing was counted")
		time.Sleep(2 * ttl)
		assert.Greater(t, rlock(t, slow, "x").Fence(), before.Fence())
	})
}

func TestCountersEndADayAfterTheirLastLock(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a", redlock.WithTTL(time.Hour))
		lk := fenced(t, l, "x")
		time.Sleep(30 * time.Hour)
		require.NoError(t, lk.Err())
		for _, m := range w.Masters() {
			assert.NotEmpty(t, counted(m, "x"), "an extension keeps it")
		}
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
		for _, m := range w.Masters() {
			count(m, "x", strconv.FormatUint(old.Fence(), 10))
		}
		assert.Greater(t, rlock(t, l, "x").Fence(), writer.Fence())
	})
}

// docs/fencing.md, "When counters are lost": the masters have lost all traces of the writer.
func TestAReaderMayFallBehindWhereCountersAreLostTwice(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a", redlock.WithFencing()), w.locker(t, "b", redlock.WithFencing())
		loseAll := func() {
			for _, m := range w.Masters() {
				m.Redis().FlushAll()
			}
		}
		first := rlock(t, a, "x", redlock.WithoutKeepalive())
		synctest.Wait()
		loseAll()
		time.Sleep(time.Second)
		writer := fenced(t, b, "x")
		unlock(t, writer)
		synctest.Wait()
		loseAll()
		require.ErrorIs(t, first.Extend(t.Context()), redlock.ErrLost, "but it has restored its fencing token")
		synctest.Wait() // Extend returns when a majority has answered: only now have all masters the token again
		second := rlock(t, b, "x")
		assert.Equal(t, first.Fence(), second.Fence())
		assert.Less(t, second.Fence(), writer.Fence())
	})
}

// All locks of a name must use fencing: a reader without a token keeps a later one from the hint.
func TestAReaderThatJoinsOneWithoutATokenMayFallBehindAPermit(t *testing.T) {
	t.Parallel()
	for _, mixed := range []bool{true, false} {
		bubble(t, 3, func(t *testing.T, w *world) {
			l := w.locker(t, "a", redlock.WithFencing())
			plain := w.locker(t, "b")
			old, err := l.Semaphore("x", 2).TryAcquire(t.Context(), redlock.WithoutKeepalive())
			require.NoError(t, err)
			newer, err := l.Semaphore("x", 2).TryAcquire(t.Context())
			require.NoError(t, err)
			unlock(t, newer)
			each(w.Masters(), (*simnet.Master).Restart)
			time.Sleep(time.Second) // the broken connections are noticed
			require.ErrorIs(t, old.Extend(t.Context()), redlock.ErrLost, "but it has restored its fencing token")
			synctest.Wait()
			_ = old.Unlock(t.Context())
			time.Sleep(time.Minute) // the restart window
			if !mixed {
				plain = l
			}
			rlock(t, plain, "x")
			synctest.Wait() // it returns at the majority: a master without it would give the next reader a new token
			reader := rlock(t, l, "x")
			assert.Equal(t, mixed, reader.Fence() == old.Fence())
			assert.Equal(t, mixed, reader.Fence() < newer.Fence())
		})
	}
}

// More than one lock in a millisecond: a hint of whole milliseconds would be the one that was given out already.
func TestTokensGrowThoughAllCountersAreLostAmongQuickLocks(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a", redlock.WithFencing())
		var last uint64
		begin := time.Now()
		for i := range 100 {
			for what, take := range map[string]func() (*redlock.Lock, error){
				"mutex":     func() (*redlock.Lock, error) { return l.TryLock(t.Context(), "x") },
				"writer":    func() (*redlock.Lock, error) { return l.RW("x").TryLock(t.Context()) },
				"reentrant": func() (*redlock.Lock, error) { return l.Reentrant("x", "me").TryLock(t.Context()) },
				"LockAll":   func() (*redlock.Lock, error) { return l.TryLockAll(t.Context(), []string{"x", "y"}) },
			} {
				time.Sleep(100 * time.Microsecond)
				lk, err := take()
				require.NoError(t, err)
				require.Greater(t, lk.Fence(), last, "%s, lock %d", what, i)
				last = lk.Fence()
				unlock(t, lk)
				synctest.Wait()
				if i%10 == 0 {
					for _, m := range w.Masters() {
						m.Redis().FlushAll()
					}
				}
			}
		}
		assert.Less(t, time.Since(begin), 400*time.Millisecond, "more than 1,000 locks a second")
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
		for _, m := range w.Masters() {
			count(m, "x", fmt.Sprint(int64(largest)))
		}
		for what, take := range map[string]func() (*redlock.Lock, error){
			"TryLock":   func() (*redlock.Lock, error) { return l.TryLock(t.Context(), "x") },
			"Lock":      func() (*redlock.Lock, error) { return l.Lock(within(t, time.Minute), "x") },
			"LockAll":   func() (*redlock.Lock, error) { return l.LockAll(within(t, time.Minute), []string{"x", "y"}) },
			"RLock":     func() (*redlock.Lock, error) { return l.RW("x").RLock(within(t, time.Minute)) },
			"RW.Lock":   func() (*redlock.Lock, error) { return l.RW("x").Lock(within(t, time.Minute)) },
			"Reentrant": func() (*redlock.Lock, error) { return l.Reentrant("x", "me").Lock(within(t, time.Minute)) },
		} {
			_, err := take()
			require.ErrorIs(t, err, redlock.ErrNoQuorum, what)
			require.NotErrorIs(t, err, context.DeadlineExceeded, what)
			require.ErrorContains(t, err, "delete the key on every master", what)
		}
		for _, m := range w.Masters() { // as the error says
			m.Redis().Del(kind.FenceKey("x"))
		}
		assert.NotZero(t, fenced(t, l, "x").Fence())
	})
}
