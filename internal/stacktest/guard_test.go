package stacktest_test

import (
	"context"
	"errors"
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
	"github.com/redlock-go/redlock/node"
)

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

// A lock may extend itself with the vote of a restarted master only if its key was there before. The control: without
// the guard, two hold the lock.
func TestAKeyRestoredWithinTheWindowDoesNotCount(t *testing.T) {
	t.Parallel()
	for guarded, opts := range map[bool][]redlock.Option{true: nil, false: {redlock.WithoutRestartGuard()}} {
		bubble(t, 3, func(t *testing.T, w *world) {
			held, got := restoredKey(t, w, opts...)
			require.NotNil(t, got, "b gets the lock when a's ends")
			assert.Equal(t, guarded, errors.Is(held.Err(), redlock.ErrLost), "guarded %v: %v", guarded, held.Err())
			unlock(t, got)
		})
	}
}

// The first addresses lead to two servers each. Each of two clients could get a majority of its own.
func TestServersBehindLoadBalancersGrantNoLock(t *testing.T) {
	t.Parallel()
	for balanced := 2; balanced <= 3; balanced++ {
		bubble(t, 6, func(t *testing.T, w *world) {
			var urls []string
			for i := range 3 {
				addr := fmt.Sprintf("10.9.9.%d:6379", i)
				w.Alias(addr, i)
				if i < balanced {
					w.Alias(addr, i, i+3) // in turn
				}
				urls = append(urls, "redis://"+addr)
			}
			each(w.Masters(), func(m *simnet.Master) { m.Delay(time.Millisecond, time.Millisecond) })
			var log logbook
			a := w.over(t, "a", w.nodes(t, "a", urls...), redlock.WithLogger(log.logger()))
			b := w.over(t, "b", w.nodes(t, "b", urls...))
			for range 100 {
				for _, l := range []*redlock.Locker{a, b} {
					_, err := l.TryLock(t.Context(), "x")
					require.ErrorIs(t, err, redlock.ErrNoQuorum)
					for _, failed := range redlock.NodeErrors(err) {
						assert.ErrorAs(t, failed, new(*node.SeveralServersError))
					}
					assert.GreaterOrEqual(t, len(redlock.NodeErrors(err)), 2)
				}
				time.Sleep(100 * time.Millisecond)
			}
			rows, err := a.Nodes(t.Context())
			require.ErrorIs(t, err, redlock.ErrNoQuorum)
			for i, row := range rows {
				assert.True(t, row.Reachable)
				assert.Equal(t, i >= balanced, row.MayVote, "%+v", row)
			}
			assert.Len(t, log.lines("a master is not asked for locks"), balanced, "one for each")

			for i := range balanced {
				w.Alias(fmt.Sprintf("10.9.9.%d:6379", i), i)
			}
			require.NoError(t, errorOf(a.Lock(within(t, 15*time.Second), "x")))
			require.Error(t, errorOf(b.TryLock(t.Context(), "x")))
			assert.Zero(t, keysOn(w.some(3, 6)))
			assert.GreaterOrEqual(t, len(log.lines("leads to one server again")), 1)
		})
	}
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
