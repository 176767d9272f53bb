package stacktest_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/simnet"
)

// A master that begins to refuse scripts is named in the log once for the releases and once for the locks, and so is
// the end of that.
func TestTheLogNamesAMasterThatRefusesScripts(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		var log logbook
		l := w.locker(t, "a", redlock.WithLogger(log.logger()))
		lk := lock(t, l, "x")
		synctest.Wait()
		w.Master(0).Reply("NOPERM this user has no permissions to run the 'evalsha' command", "EVALSHA", "EVAL")
		unlock(t, lk)
		time.Sleep(time.Second)
		assert.Len(t, log.lines("refuses releases"), 1)
		assert.Len(t, log.lines("not asked for locks"), 1)
		w.Master(0).Recover()
		for range 5 {
			time.Sleep(time.Second)
			unlock(t, lock(t, l, "x"))
		}
		synctest.Wait()
		assert.Len(t, log.lines("executes releases again"), 1)
		assert.Len(t, log.lines("allows scripts again"), 1)
	})
}

// A user without rights to keys other than the names can still take plain mutexes, and waits for them knowing
// who holds the name and until when. Its waiters leave no intent.
func TestAUserWithoutRightsToIntentsWaitsForMutexes(t *testing.T) {
	t.Parallel()
	redisproc.Need(t)
	s, err := redisproc.Start(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	c := redis.NewClient(&redis.Options{Addr: s.Addr()})
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	for user, rules := range map[string]string{
		"no-keys":     "~orders:*",
		"no-commands": "~orders:* ~redlock:* -zadd -zrem -zrange -zrangebyscore -zremrangebyscore",
	} {
		args := []any{"acl", "setuser", user, "on", ">secret", "resetkeys", "&redlock:*", "+@all"}
		for rule := range strings.FieldsSeq(rules) {
			args = append(args, rule)
		}
		require.NoError(t, c.Do(t.Context(), args...).Err())
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			l, err := redlock.Open([]string{"redis://" + user + ":secret@" + s.Addr()}, redlock.WithoutRestartGuard(), patient)
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, l.Close()) })
			other, err := redlock.Open([]string{s.URL()}, redlock.WithoutRestartGuard())
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, other.Close()) })
			name := "orders:" + user
			for k, hold := range map[string]func() (*redlock.Lock, error){
				"mutex":  func() (*redlock.Lock, error) { return other.TryLock(t.Context(), name) },
				"reader": func() (*redlock.Lock, error) { return other.RW(name).TryRLock(t.Context()) },
			} {
				held, err := hold()
				require.NoError(t, err)
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // for all its questions on a busy machine
				defer cancel()
				_, err = l.Lock(ctx, name)
				he := heldError(t, err)
				if user == "no-keys" || k == "mutex" { // the look of the other one needs ZRANGE to see a reader
					assert.EqualValues(t, k, he.Kind)
					assert.Positive(t, he.Retry)
				}
				got := make(chan error, 1)
				go func() {
					lk, err := l.Lock(context.Background(), name)
					if err == nil {
						err = lk.Unlock(context.Background())
					}
					got <- err
				}()
				require.Eventually(t, func() bool {
					n, err := c.PubSubNumSub(t.Context(), kind.Channel(name)).Result()
					return err == nil && n[kind.Channel(name)] > 0
				}, 10*time.Second, time.Millisecond)
				unlock(t, held)
				select {
				case err := <-got:
					require.NoError(t, err)
				case <-time.After(20 * time.Second):
					t.Fatal("no release woke it")
				}
			}
		})
	}
}

// For some names a Cluster can keep no intent. A mutex without fencing works there as with any other name.
func aMutexWaitsForANameWithoutSiblingKeys(t *testing.T, c *cluster) {
	t.Helper()
	slow := redlock.WithRetry(time.Minute, time.Minute)
	var refused atomic.Int32
	trace := &redlock.Trace{Vote: func(_ context.Context, e redlock.VoteEvent) {
		if e.Op == "probe" && e.Err != nil {
			refused.Add(1)
		}
	}}
	ours, others := c.locker(t, nil, slow), c.locker(t, nil, slow, redlock.WithTrace(trace))
	plain, err := redlock.Open([]string{"redis://" + c.shards[0].Options().Addr}, redlock.WithoutRestartGuard(), slow)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, plain.Close()) })
	odd := "c{}d"
	for _, l := range []*redlock.Locker{others, plain} {
		if l == plain {
			for !canLock(t, plain, odd) {
				odd += "b"
			}
		}
		held := lock(t, ours, odd)
		_, err := l.Lock(within(t, 3*time.Second), odd) // time for a busy machine to answer the probe
		assert.EqualValues(t, "mutex", heldError(t, err).Kind)
		unlock(t, held)
		lk, err := l.Lock(within(t, 20*time.Second), odd)
		require.NoError(t, err)
		unlock(t, lk)
	}
	assert.Zero(t, refused.Load(), "what is known to be a Cluster is not asked to keep one")
}

// canLock reports whether TryLock takes the name.
func canLock(t *testing.T, l *redlock.Locker, name string) bool {
	t.Helper()
	lk, err := l.TryLock(t.Context(), name)
	if err == nil {
		unlock(t, lk)
	}
	return err == nil
}

func TestReleaseFreesALockOfAnyKind(t *testing.T) {
	t.Parallel()
	// They return the token of a lock on x.
	all := map[string]func(t *testing.T, l *redlock.Locker) string{
		"mutex with a fence": func(t *testing.T, l *redlock.Locker) string {
			return lock(t, l, "x", redlock.WithoutKeepalive(), redlock.WithFencing()).Token()
		},
		"a minimum hold": func(t *testing.T, l *redlock.Locker) string {
			lk := lock(t, l, "x", redlock.WithMinHold(ttl))
			unlock(t, lk)
			return "min-hold:" + lk.Token()
		},
	}
	for _, k := range kinds {
		all[k.name] = func(t *testing.T, l *redlock.Locker) string {
			lk, err := k.lock(t.Context(), l, redlock.WithoutKeepalive())
			require.NoError(t, err)
			return lk.Token()
		}
	}
	for name, take := range all {
		subWorld(t, name, 5, func(t *testing.T, w *world) {
			holder, operator, waiter := w.locker(t, "holder"), w.locker(t, "operator"), w.locker(t, "waiter", patient)
			token := take(t, holder)
			synctest.Wait()
			waits := locking(t.Context(), waiter, "x")
			time.Sleep(time.Second)
			waiting(t, waits)

			require.ErrorIs(t, operator.Release(t.Context(), "x", "x"+token), redlock.ErrLost, "another token")
			time.Sleep(time.Second)
			waiting(t, waits)
			require.NoError(t, operator.Release(t.Context(), "x", token))
			got := granted(t, waits, 100*time.Millisecond) // it is woken
			require.ErrorIs(t, operator.Release(t.Context(), "x", token), redlock.ErrLost, "once more")
			require.NoError(t, got.Err(), "the next holder keeps it")
			unlock(t, got)
		})
	}
}

func TestReleaseWithoutAMajorityContinues(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		holder := w.locker(t, "holder", redlock.WithTTL(time.Hour))
		token := lock(t, holder, "x", redlock.WithoutKeepalive()).Token()
		synctest.Wait()
		operator := w.locker(t, "operator")
		w.warm(t, operator)
		w.freeze()
		err := operator.Release(t.Context(), "x", token)
		require.ErrorIs(t, err, redlock.ErrNoQuorum)
		assert.Regexp(t, `^redlock: release "x": the release continues in the background: `, err.Error())
		assert.Len(t, redlock.NodeErrors(err), 2)
		canceled, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		require.ErrorIs(t, operator.Release(canceled, "x", token), context.DeadlineExceeded)
		each(w.some(0, 2), (*simnet.Master).Thaw)
		time.Sleep(time.Minute)
		assert.Zero(t, w.keys())
	})
}
