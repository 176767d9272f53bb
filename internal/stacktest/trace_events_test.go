package stacktest_test

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
)

// scripts are the scenarios by name.
var scripts = map[string]func(t *testing.T, s *script){
	"lock and unlock": func(t *testing.T, s *script) {
		for range 2 {
			lk := s.lock(t, "one", "x")
			time.Sleep(time.Second)
			s.unlock(lk, "two")
		}
	},
	"refused by a master": func(t *testing.T, s *script) {
		s.held(t, "x")
		s.got(errorOf(s.l.TryLock(s.as("one"), "x")))
	},
	"refused in the process": func(t *testing.T, s *script) {
		lk := s.lock(t, "one", "x")
		s.got(errorOf(s.l.TryLock(s.as("two"), "x")))
		s.unlock(lk, "one")
	},
	"timed out": func(t *testing.T, s *script) {
		s.grain = 50 * time.Millisecond
		s.held(t, "x")
		ctx := s.within(t, 100*time.Millisecond)
		s.got(errorOf(s.l.Lock(ctx, "x", redlock.WithRetry(time.Second, time.Second))))
	},
	"canceled": func(t *testing.T, s *script) {
		lk := s.lock(t, "one", "x")
		ctx, cancel := context.WithCancel(s.as("two"))
		time.AfterFunc(time.Second, cancel)
		s.got(errorOf(s.l.Lock(ctx, "x")))
		s.unlock(lk, "one")
	},
	"waits for a release": func(t *testing.T, s *script) {
		s.grain = 50 * time.Millisecond
		lk := s.held(t, "x")
		next := locking(s.as("one"), s.l, "x", redlock.WithRetry(time.Second, time.Second))
		time.Sleep(100 * time.Millisecond)
		unlock(t, lk)
		got := s.granted(t, next, time.Second)
		s.unlock(got, "two")
	},
	"a writer gives up waiting for a reader": func(t *testing.T, s *script) {
		s.grain = 50 * time.Millisecond
		require.NoError(t, errorOf(s.other.RW("x").RLock(t.Context())))
		ctx := s.within(t, 100*time.Millisecond)
		s.got(errorOf(s.l.RW("x").Lock(ctx, redlock.WithRetry(time.Second, time.Second))))
	},
	"canceled before": func(_ *testing.T, s *script) {
		ctx, cancel := context.WithCancel(s.as("one"))
		cancel()
		s.got(errorOf(s.l.Lock(ctx, "x")))
	},
	"no majority": func(_ *testing.T, s *script) {
		s.freeze()
		s.got(errorOf(s.l.TryLock(s.as("one"), "x")))
	},
	"no majority for an extension and an unlock": func(t *testing.T, s *script) {
		lk := s.lock(t, "one", "x", redlock.WithoutKeepalive())
		s.freeze()
		require.ErrorIs(t, lk.Extend(s.as("two")), redlock.ErrNoQuorum)
		s.unlock(lk, "three")
		s.unlock(lk, "four")
	},
	"closed": func(t *testing.T, s *script) {
		s.lock(t, "one", "x")
		next := locking(s.as("two"), s.l, "x")
		time.Sleep(time.Second)
		require.NoError(t, s.l.Close())
		s.got((<-next).err)
		s.got(errorOf(s.l.TryLock(s.as("three"), "x")))
	},
	"unlock after close": func(t *testing.T, s *script) {
		lk := s.lock(t, "one", "x")
		require.NoError(t, s.l.Close())
		s.unlock(lk, "two")
	},
	"lost by its TTL": func(t *testing.T, s *script) {
		lk := s.lock(t, "one", "x", redlock.WithoutKeepalive(), redlock.WithTTL(time.Second))
		time.Sleep(2 * time.Second)
		s.unlock(lk, "two")
		s.unlock(lk, "three")
	},
	"lost by its maximum hold": func(t *testing.T, s *script) {
		lk := s.lock(t, "one", "x", redlock.WithMaxHold(time.Second))
		time.Sleep(2 * time.Second)
		s.unlock(lk, "two")
	},
	"lost to another": func(t *testing.T, s *script) {
		lk := s.lock(t, "one", "x")
		s.foreign("x", time.Minute)
		require.ErrorIs(t, lk.Extend(s.as("two")), redlock.ErrLost)
		s.unlock(lk, "three")
	},
	"extended": func(t *testing.T, s *script) {
		lk := s.lock(t, "one", "x", redlock.WithTTL(3*time.Second))
		require.NoError(t, lk.Extend(s.as("two")))
		time.Sleep(1500 * time.Millisecond)
		s.unlock(lk, "three")
	},
	"handed over": func(t *testing.T, s *script) {
		first := s.lock(t, "one", "x")
		next := locking(s.as("two"), s.l, "x")
		time.Sleep(10 * time.Millisecond)
		s.unlock(first, "three")
		second := s.granted(t, next, 0)
		require.NoError(t, second.Extend(s.as("four")))
		time.Sleep(4 * time.Second) // the keepalive extends it once
		s.unlock(second, "five")
		s.unlock(first, "six")
	},
	"not handed over": func(t *testing.T, s *script) {
		s.grain = 50 * time.Millisecond
		first := s.lock(t, "one", "x", redlock.WithoutHandOver())
		next := locking(s.as("two"), s.l, "x")
		time.Sleep(10 * time.Millisecond)
		s.unlock(first, "three")
		second := s.granted(t, next, time.Second)
		s.unlock(second, "four")
	},
	"minimum hold": func(t *testing.T, s *script) {
		lk := s.lock(t, "one", "x", redlock.WithMinHold(time.Second))
		time.Sleep(10 * time.Millisecond)
		s.unlock(lk, "two")
		time.Sleep(10 * time.Millisecond) // what the release still announces goes first
		s.got(errorOf(s.l.TryLock(s.as("three"), "x")))
	},
	"fenced": func(t *testing.T, s *script) {
		lk := s.lock(t, "one", "x", redlock.WithFencing())
		require.NoError(t, lk.Extend(s.as("two")))
		s.unlock(lk, "three")
	},
	// A majority agrees on one token only after the write-back, so each master's own token is told.
	"fenced, and the counters differ": func(t *testing.T, s *script) {
		for i, m := range s.Masters() {
			count(m, "x", fmt.Sprint(2_000_000_000_000_000+i))
		}
		s.Master(2).Delay(10*time.Millisecond, 0) // not among the majority
		lk := s.lock(t, "one", "x", redlock.WithFencing())
		require.NoError(t, lk.Extend(s.as("two")))
		s.unlock(lk, "three")
	},
	"one master is silent, and another has the name": func(t *testing.T, s *script) {
		s.foreign("x", time.Minute, 1)
		s.Master(0).Freeze()
		s.got(errorOf(s.l.TryLock(s.as("one"), "x")))
	},
	"every kind": func(t *testing.T, s *script) {
		for _, acquire := range []ctxLock{
			s.l.RW("r").RLock, s.l.RW("r").TryRLock,
			s.l.RW("w").Lock, s.l.RW("w2").TryLock,
			s.l.Reentrant("o", "me").Lock, s.l.Reentrant("o", "me").TryLock,
			s.l.Semaphore("s", 3).Acquire, s.l.Semaphore("s", 3).TryAcquire,
			named(s.l.LockAll, []string{"b", "a", "b"}), named(s.l.TryLockAll, []string{"d", "c"}),
		} {
			lk, err := acquire(s.as("one"))
			s.got(err)
			require.NoError(t, err)
			synctest.Wait()
			require.NoError(t, lk.Extend(s.as("two")))
			synctest.Wait()
			s.unlock(lk, "three")
			synctest.Wait()
		}
	},
	"inspected": func(t *testing.T, s *script) {
		require.NoError(t, errorOf(s.l.Inspect(s.as("one"), "x")))
		require.NoError(t, errorOf(s.l.Nodes(s.as("two"))))
	},
	"released by its token": func(t *testing.T, s *script) {
		lk := s.lock(t, "one", "x")
		require.NoError(t, s.l.Release(s.as("two"), "x", lk.Token()))
		synctest.Wait()
		require.ErrorIs(t, s.l.Release(s.as("three"), "x", lk.Token()), redlock.ErrLost)
		s.unlock(lk, "four")
	},
	"a master fails and returns": func(t *testing.T, s *script) {
		s.Master(0).Stop()
		for range 2 {
			require.NoError(t, errorOf(s.l.Inspect(s.as("one"), "x")))
			time.Sleep(10 * time.Millisecond)
		}
		s.Master(0).Restart()
		time.Sleep(time.Second)
		require.NoError(t, errorOf(s.l.Inspect(s.as("two"), "x")))
		time.Sleep(time.Second)
		clear(s.votes)
	},
}

// sections returns the parts of a file by their titles.
func sections(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	all := make(map[string]string)
	for _, part := range strings.Split(string(text), "\n# ")[1:] {
		name, lines, _ := strings.Cut(part, "\n")
		all[name] = strings.TrimSpace(lines)
	}
	return all
}

// testdata/events.txt has the events of each scenario with all of their fields, and what Stats has counted.
func TestEventsSayWhatHappened(t *testing.T) {
	t.Parallel()
	want := sections(t, "testdata/events.txt")
	require.Len(t, want, len(scripts))
	for name, play := range scripts {
		subWorld(t, name, 3, func(t *testing.T, w *world) {
			s := &script{world: w, votes: make(map[string]string)}
			w.distance("a", time.Millisecond)
			s.other = w.locker(t, "b")
			s.l = w.locker(t, "a", redlock.WithTrace(s.trace()))
			w.warm(t, s.l)
			before := s.l.Stats()
			s.mu.Lock()
			s.began, s.lines, s.ended = time.Now(), nil, nil
			clear(s.votes)
			s.mu.Unlock()
			play(t, s)
			time.Sleep(time.Second) // for the last votes
			synctest.Wait()
			s.mu.Lock()
			defer s.mu.Unlock()
			assert.Equal(t, s.result, s.ended, "the errors of the calls are those of the events")
			assertSnapshotAddsUp(t, s.l.Stats())
			slices.SortStableFunc(s.lines, line.compare)
			var got []string
			for _, l := range s.lines {
				got = append(got, l.text)
			}
			got = append(got, votesOf(s.votes)...)
			for i, k := range s.l.Stats().Kinds {
				if line := s.show(reflect.ValueOf(less(k.LockStats, before.Kinds[i].LockStats))); line != "" {
					got = append(got, string(k.Kind)+": "+line)
				}
			}
			if !assert.Equal(t, strings.Split(want[name], "\n"), got) {
				t.Logf("# %s\n\n%s\n", name, strings.Join(got, "\n"))
			}
		})
	}
}
