package stacktest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/simnet"
)

func TestLockAllIsAllOrNothing(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a"), w.locker(t, "b")
		all, err := a.LockAll(t.Context(), []string{"c", "a", "b", "a"})
		require.NoError(t, err)
		assert.Equal(t, "a,b,c", all.Name())
		synctest.Wait()
		for _, name := range []string{"a", "b", "c"} {
			assert.Equal(t, 5, w.holders(name, all.Token()))
			_, err := b.TryLock(t.Context(), name)
			require.ErrorIs(t, err, redlock.ErrHeld)
		}
		_, err = b.TryLockAll(t.Context(), []string{"z", "b", "y"})
		var he *redlock.HeldError
		require.ErrorAs(t, err, &he)
		assert.Equal(t, "b", he.Name, "the one that was held")
		assert.EqualValues(t, "mutex", he.Kind)
		time.Sleep(3 * ttl)
		require.NoError(t, all.Err(), "one keepalive for all")
		unlock(t, all)
		synctest.Wait()
		assert.Zero(t, w.keys(), "nothing of the refused ones either")
	})
}

func TestLockAllWaitsForTheLastOfItsNames(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		a, b := w.locker(t, "a"), w.locker(t, "b", patient)
		one, two := lock(t, a, "one"), rlock(t, a, "two")
		all := inBackground(func() (*redlock.Lock, error) { return b.LockAll(t.Context(), []string{"two", "one", "free"}) })
		time.Sleep(time.Minute)
		waiting(t, all)
		unlock(t, one)
		time.Sleep(time.Minute)
		waiting(t, all)
		unlock(t, lock(t, a, "free")) // it holds nothing meanwhile
		unlock(t, two)
		unlock(t, granted(t, all, 100*time.Millisecond))
	})
}

// A holder of "a" and "b" may also lock "a,b" and "a\x00b".
func TestNamesThatJoinAlikeHaveSeparateQueues(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		all, err := l.LockAll(t.Context(), []string{"a", "b"})
		require.NoError(t, err)
		for _, name := range []string{"a,b", "a\x00b", `["a" "b"]`} {
			unlock(t, lock(t, l, name))
		}
		unlock(t, all)
	})
}

// Whichever of its names a majority of the masters has lost, the whole lock is lost, and its other names are released.
func TestLockAllIsLostWithEachOfItsNames(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c"}
	notices := map[string]func(t *testing.T, lk *redlock.Lock){
		"Extend":    func(t *testing.T, lk *redlock.Lock) { require.ErrorIs(t, lk.Extend(t.Context()), redlock.ErrLost) },
		"keepalive": func(*testing.T, *redlock.Lock) { time.Sleep(ttl / 2) },
		"Unlock":    func(*testing.T, *redlock.Lock) {},
	}
	losses := map[string]func(m *simnet.Master, name string){
		"another's":    func(m *simnet.Master, name string) { m.Set(name, "foreign", time.Minute) },
		"another kind": func(m *simnet.Master, name string) { m.Redis().Del(name); _, _ = m.Redis().Push(name, "foreign") },
		"gone":         func(m *simnet.Master, name string) { m.Redis().Del(name) },
	}
	for how, notice := range notices {
		for what, lose := range losses {
			for _, lost := range names {
				subWorld(t, how+", "+lost+" "+what, 3, func(t *testing.T, w *world) {
					l := w.locker(t, "a")
					opts := []redlock.LockOption{redlock.WithFencing()}
					if how != "keepalive" {
						opts = append(opts, redlock.WithoutKeepalive())
					}
					lk, err := l.LockAll(t.Context(), names, opts...)
					require.NoError(t, err)
					synctest.Wait()
					for _, m := range w.some(0, 2) {
						lose(m, lost)
					}
					notice(t, lk)
					if how != "Unlock" {
						require.ErrorIs(t, lk.Err(), redlock.ErrLost)
					}
					require.ErrorIs(t, lk.Unlock(t.Context()), redlock.ErrLost)
					synctest.Wait()
					for _, name := range names {
						assert.Zero(t, w.holders(name, lk.Token()), name)
					}
					for i, m := range w.Masters() {
						switch {
						case i == 2 || what == "gone":
							assert.NotContains(t, m.Keys(), lost)
						case what == "another's":
							assert.Equal(t, "foreign", m.Get(lost))
							assert.Greater(t, m.TTL(lost), 50*time.Second)
						default:
							list, _ := m.Redis().List(lost)
							assert.Equal(t, []string{"foreign"}, list)
							assert.Zero(t, m.TTL(lost))
						}
					}
				})
			}
		}
	}
}

// Waiters elsewhere for any of the names get it right after the minimum hold, long before the TTL ends.
func TestAMinHoldOfSeveralNamesIsAnnouncedToTheWaitersOfEach(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		names := []string{"x", "y", "z"}
		lk, err := w.locker(t, "a").LockAll(t.Context(), names, redlock.WithMinHold(time.Second))
		require.NoError(t, err)
		synctest.Wait()
		var waiters []<-chan attempt
		for _, name := range names {
			waiters = append(waiters, locking(t.Context(), w.locker(t, "of "+name), name, patient))
		}
		time.Sleep(100 * time.Millisecond)
		unlock(t, lk)
		for _, out := range waiters {
			unlock(t, ended(t, out, 2*time.Second).lock)
		}
	})
}
