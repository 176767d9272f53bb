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

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/kind"
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

func (s fixture) ended() context.Context {
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	return ctx
}

// lock is a lock that nothing keeps alive.
func (s fixture) lock() *redlock.Lock {
	s.Helper()
	lk := lock(s.T, s.ours, "x", redlock.WithoutKeepalive())
	synctest.Wait()
	return lk
}

// lockMany is a lock on many names.
func (s fixture) lockMany(opts ...redlock.LockOption) *redlock.Lock {
	s.Helper()
	lk, err := s.ours.TryLockAll(s.Context(), manyNames(256), opts...)
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

// texts make the other errors of every method. testdata/errors.txt has the text of each, what it matches, and what
// failed on which master.
var texts = map[string]func(s fixture) error{
	"Open, no masters": func(fixture) error { return errorOf(redlock.Open(nil)) },
	"Open, several invalid options": func(fixture) error {
		return errorOf(redlock.Open([]string{"redis://h"}, redlock.WithNodeTimeout(-time.Second), redlock.WithOwner("")))
	},
	"Open, an invalid TTL": func(fixture) error {
		return errorOf(redlock.Open([]string{"redis://h"}, redlock.WithTTL(-time.Second)))
	},

	"New, a nil master": func(fixture) error { return errorOf(redlock.New([]*node.Node{nil})) },
	"New, a master of another Locker": func(s fixture) error {
		masters := s.w.nodes(s, "c")
		unlock(s, lock(s, s.w.over(s, "c", masters), "x"))
		return errorOf(redlock.New(masters))
	},
	"Wrap, no client":       func(fixture) error { return errorOf(redlock.Wrap(nil)) },
	"Wrap, a client of nil": func(fixture) error { return errorOf(redlock.Wrap((*redis.Client)(nil))) },
	"Wrap, a ring": func(s fixture) error {
		ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "10.0.0.1:6379"}})
		s.Cleanup(func() { assert.NoError(s, ring.Close()) })
		return errorOf(redlock.Wrap(ring))
	},
	"Wrap, an invalid option": func(s fixture) error {
		client := redis.NewClient(&redis.Options{Addr: "10.0.0.1:6379"})
		s.Cleanup(func() { assert.NoError(s, client.Close()) })
		return errorOf(redlock.Wrap(client, redlock.WithTTL(-time.Second)))
	},

	"Lock, an empty name": func(s fixture) error { return errorOf(s.ours.Lock(s.Context(), "")) },
	"Lock, an invalid option": func(s fixture) error {
		return errorOf(s.ours.Lock(s.Context(), "x", redlock.WithTTL(-time.Second)))
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
	"LockAll, no names": func(s fixture) error { return errorOf(s.ours.LockAll(s.Context(), nil)) },
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
	"TryLockAll of many names, a reserved one": func(s fixture) error {
		return errorOf(s.ours.TryLockAll(s.Context(), append(manyNames(255), kind.FenceKey(manyNames(6)[5]))))
	},
	"DoAll of many names, lost": func(s fixture) error {
		return s.ours.DoAll(s.Context(), manyNames(256), func(ctx context.Context) error {
			s.w.foreign(manyNames(6)[5], time.Minute)
			<-ctx.Done()
			return context.Cause(ctx)
		})
	},
	"Unlock of many names, expired": func(s fixture) error {
		lk := s.lockMany(redlock.WithoutKeepalive())
		time.Sleep(ttl)
		return lk.Unlock(s.Context())
	},
	"Extend of many names, no majority": func(s fixture) error {
		lk := s.lockMany()
		s.freeze(0, 1)
		return lk.Extend(s.Context())
	},
	"Err of many names, not extended": func(s fixture) error {
		lk := s.lockMany()
		s.freeze(0, 1)
		time.Sleep(2 * ttl)
		return lk.Err()
	},
	"Cause of many names, released": func(s fixture) error {
		lk := s.lockMany()
		work, cancel := lk.WithContext(s.Context())
		defer cancel()
		unlock(s.T, lk)
		require.True(s, ends(work))
		return context.Cause(work)
	},
	"TryLockAll of many names, no majority": func(s fixture) error {
		s.freeze(0, 1)
		return errorOf(s.ours.TryLockAll(s.Context(), manyNames(256)))
	},
	"RW.TryRLock, held": func(s fixture) error {
		require.NoError(s, errorOf(s.other.RW("x").TryLock(s.Context())))
		return errorOf(s.ours.RW("x").TryRLock(s.Context()))
	},
	"RW.TryLock, held": func(s fixture) error {
		require.NoError(s, errorOf(s.other.RW("x").TryRLock(s.Context())))
		return errorOf(s.ours.RW("x").TryLock(s.Context()))
	},
	"Reentrant.TryLock, held": func(s fixture) error {
		require.NoError(s, errorOf(s.other.Reentrant("x", "them").TryLock(s.Context())))
		return errorOf(s.ours.Reentrant("x", "us").TryLock(s.Context()))
	},
	"Reentrant.Lock, no owner": func(s fixture) error { return errorOf(s.ours.Reentrant("x", "").Lock(s.Context())) },

	"Lock, a long name": func(s fixture) error {
		return errorOf(s.ours.Lock(s.Context(), strings.Repeat("x", 5000)))
	},
	"Lock, a reserved name":   func(s fixture) error { return errorOf(s.ours.Lock(s.Context(), "redlock:fence:x")) },
	"LockAll, too many names": func(s fixture) error { return errorOf(s.ours.LockAll(s.Context(), manyNames(257))) },
	"LockAll, a long name": func(s fixture) error {
		return errorOf(s.ours.LockAll(s.Context(), []string{strings.Repeat("y", 5000), "x"}))
	},
	"Reentrant.Lock, a long owner": func(s fixture) error {
		return errorOf(s.ours.Reentrant("x", strings.Repeat("o", 1025)).Lock(s.Context()))
	},
	"Open, a long owner": func(s fixture) error {
		return errorOf(redlock.Open(s.w.URLs(), redlock.WithOwner(strings.Repeat("o", 1025))))
	},
	"Inspect, a long name": func(s fixture) error {
		return errorOf(s.ours.Inspect(s.Context(), strings.Repeat("é", 2049))) // 4,098 bytes
	},
	"Release, a long name": func(s fixture) error {
		return s.ours.Release(s.Context(), strings.Repeat("é", 2049), "token")
	},
	"Release, a long token": func(s fixture) error {
		return s.ours.Release(s.Context(), "x", strings.Repeat("t", 4097))
	},
	"Lock, a clock that is wrong by centuries": func(s fixture) error {
		time.Sleep(time.Until(time.Date(2260, 1, 1, 0, 0, 0, 0, time.UTC)))
		return errorOf(s.ours.Lock(s.Context(), "x", redlock.WithFencing()))
	},

	"Do, no function":    func(s fixture) error { return s.ours.Do(s.Context(), "x", nil) },
	"DoAll, no function": func(s fixture) error { return s.ours.DoAll(s.Context(), []string{"y", "x"}, nil) },
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
	"Inspect, an empty name": func(s fixture) error { return errorOf(s.ours.Inspect(s.Context(), "")) },
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
