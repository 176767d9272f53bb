package stacktest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/node"
)

// fixture is what a row of the table makes its error with: three masters, a Locker, and another one that may hold
// locks.
type fixture struct {
	*testing.T
	w           *world
	ours, other *redlock.Locker
}

func (s fixture) freeze(masters ...int) {
	for _, i := range masters {
		s.w.Master(i).Freeze()
	}
}

// lock is a lock that nothing keeps alive.
func (s fixture) lock() *redlock.Lock {
	s.Helper()
	lk := lock(s.T, s.ours, "x", redlock.WithoutKeepalive())
	synctest.Wait()
	return lk
}

// lockMany is a lock on many names.
func (s fixture) lockMany() *redlock.Lock {
	s.Helper()
	lk, err := s.ours.TryLockAll(s.Context(), manyNames(256), redlock.WithoutKeepalive())
	require.NoError(s, err)
	assert.Equal(s, strings.Join(manyNames(256), ","), lk.Name(), "it stays whole")
	synctest.Wait()
	return lk
}

func errorOf[A any](_ A, err error) error { return err }

// manyNames are names of 100 bytes.
func manyNames(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("orders:%06d-%s", i, strings.Repeat("x", 86))
	}
	return all
}

// texts make errors that textsAfter does not make. testdata/errors.txt has the text of each, what it matches, and what
// failed on which master.
var texts = map[string]func(s fixture) error{
	"New, a master of another Locker": func(s fixture) error {
		masters := s.w.nodes(s, "c")
		unlock(s, lock(s, s.w.over(s, "c", masters), "x"))
		return errorOf(redlock.New(masters))
	},
	"Lock, closed while it waits": func(s fixture) error {
		lock(s.T, s.other, "x")
		out := locking(s.Context(), s.ours, "x")
		require.NoError(s, s.ours.Close())
		return ended(s.T, out, time.Second).err
	},
	"Lock, held": func(s fixture) error {
		lock(s.T, s.other, "x", redlock.WithoutKeepalive())
		return errorOf(s.ours.Lock(within(s.T, 2*time.Second), "x"))
	},
	"Lock, no majority": func(s fixture) error {
		for _, i := range []int{0, 2} {
			s.w.Master(i).Reply("OOM command not allowed", "SET")
		}
		return errorOf(s.ours.Lock(within(s.T, 2*time.Second), "x"))
	},
	"TryLock, held": func(s fixture) error {
		lock(s.T, s.other, "x")
		return errorOf(s.ours.TryLock(s.Context(), "x"))
	},
	"TryLock, held by this Locker": func(s fixture) error {
		s.lock()
		return errorOf(s.ours.TryLock(s.Context(), "x"))
	},
	"TryLock, frozen masters": func(s fixture) error {
		s.freeze(1, 2)
		return errorOf(s.ours.TryLock(s.Context(), "x"))
	},
	"TryLock, masters that are down": func(s fixture) error {
		s.w.Master(0).Crash()
		s.w.Master(1).Crash()
		require.Error(s, errorOf(s.ours.TryLock(s.Context(), "x"))) // which finds the connections broken
		time.Sleep(2 * time.Second)
		return errorOf(s.ours.TryLock(s.Context(), "x"))
	},
	"TryLock, masters that cannot be connected to": func(s fixture) error { // not DeadlineExceeded: that is ctx's
		s.w.Master(0).BlackHole()
		s.w.Master(1).BlackHole()
		l := s.w.locker(s.T, "c")
		err := errorOf(l.TryLock(s.Context(), "x"))
		for range 100 { // until the first connections are given up
			if strings.Contains(err.Error(), "10.0.0.1:6379, 10.0.0.2:6379: not asked, it failed a moment ago: conn") {
				break
			}
			time.Sleep(100 * time.Millisecond)
			err = errorOf(l.TryLock(s.Context(), "x"))
		}
		return err
	},
	"TryLock, each master with a reason of its own": func(s fixture) error {
		s.w.Master(0).Reply("OOM command not allowed", "SET")
		s.w.Master(1).Reply("LOADING Redis is loading the dataset in memory", "SET")
		return errorOf(s.ours.TryLock(s.Context(), "x"))
	},
	"TryLockAll, held": func(s fixture) error {
		lock(s.T, s.other, "x")
		return errorOf(s.ours.TryLockAll(s.Context(), []string{"x", "y"}))
	},
	"LockAll, held": func(s fixture) error {
		lock(s.T, s.other, "x", redlock.WithoutKeepalive())
		return errorOf(s.ours.LockAll(within(s.T, 2*time.Second), []string{"y", "x", "w"}))
	},
	"TryLockAll of many names, held": func(s fixture) error {
		names := manyNames(256)
		s.w.foreign(names[5], time.Minute)
		err := errorOf(s.ours.TryLockAll(s.Context(), names))
		assert.Equal(s, names[5], heldError(s.T, err).Name, "it stays whole")
		return err
	},
	"LockAll of many names, held": func(s fixture) error {
		s.w.foreign(manyNames(6)[5], time.Minute)
		return errorOf(s.ours.LockAll(within(s.T, 900*time.Millisecond), manyNames(256)))
	},
	"DoAll of many names, lost": func(s fixture) error {
		return s.ours.DoAll(s.Context(), manyNames(256), func(ctx context.Context) error {
			s.w.foreign(manyNames(6)[5], time.Minute)
			<-ctx.Done()
			return context.Cause(ctx)
		})
	},
	"TryLockAll of many names, no majority": func(s fixture) error {
		s.freeze(0, 1)
		return errorOf(s.ours.TryLockAll(s.Context(), manyNames(256)))
	},
	"RW.TryRLock, held": func(s fixture) error {
		require.NoError(s, errorOf(s.other.RW("x").TryLock(s.Context())))
		return errorOf(s.ours.RW("x").TryRLock(s.Context()))
	},
	"Do, lost": func(s fixture) error {
		return s.ours.Do(s.Context(), "x", func(ctx context.Context) error {
			s.w.wipe()
			<-ctx.Done()
			return nil
		})
	},
	"Do, lost, and fn says so": func(s fixture) error {
		return s.ours.Do(s.Context(), "x", func(ctx context.Context) error {
			s.w.wipe()
			<-ctx.Done()
			return context.Cause(ctx)
		})
	},

	"Err, held for its maximum": func(s fixture) error {
		lk := lock(s.T, s.ours, "x", redlock.WithMaxHold(2*time.Second))
		time.Sleep(2 * time.Second)
		return lk.Err()
	},
	"Cause, the masters forgot it": func(s fixture) error {
		lk := lock(s.T, s.ours, "x")
		s.w.wipe()
		<-lk.Context().Done()
		return context.Cause(lk.Context())
	},

	"Err, its extensions were refused": func(s fixture) error {
		lk := lock(s.T, s.ours, "x")
		s.w.refuseExtensions()
		time.Sleep(ttl)
		assert.Equal(s, lk.Err(), context.Cause(lk.Context()))
		return lk.Err()
	},
	"Extend, ctx ended meanwhile": func(s fixture) error {
		lk := s.lock()
		s.freeze(0, 1)
		err := lk.Extend(within(s.T, time.Millisecond))
		require.NoError(s, lk.Err(), "the wait ended, not the lock")
		return err
	},
	"Nodes, no majority": func(s fixture) error {
		s.freeze(0)
		s.w.Master(1).Restart()
		return errorOf(s.ours.Nodes(s.Context()))
	},
}

func TestTheTextOfEveryError(t *testing.T) {
	t.Parallel()
	want, all := sections(t, "testdata/errors.txt"), textsAfter()
	maps.Copy(all, texts)
	require.Len(t, want, len(all))
	for what, fail := range all {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			withFixture(t, func(s fixture) {
				err := fail(s)
				require.Error(t, err)
				text := strings.ReplaceAll(err.Error(), "Connection refused", "connection refused") // wasip1
				var held *redlock.HeldError
				if errors.As(err, &held) { // how much is left depends on when the last probe was
					text = strings.Replace(text, fmt.Sprintf(" for up to %v", held.Retry.Round(time.Millisecond)), " for up to R", 1)
				}
				text = rounded(text)
				is := matched(err)
				if errors.Is(err, node.ErrTimeout) {
					is += "+timeout"
				}
				for _, failed := range redlock.NodeErrors(err) {
					require.ErrorIs(t, err, failed)
					is += fmt.Sprint(", ", failed.Op, " on ", failed.Node)
				}
				assert.Equal(t, want[what], text+"\n"+is)
				wellFormed(t, err)
				assert.Equal(t, errors.Is(err, redlock.ErrHeld), held != nil)
			})
		})
	}
}
