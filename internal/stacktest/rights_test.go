package stacktest_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/node"
)

// restricted are redis-servers with a user each whose rights a test gives and takes.
type restricted struct {
	t       *testing.T
	servers []*redisproc.Server
	clients []*redis.Client
}

// restrict starts n servers. Their user may do everything at first.
func restrict(t *testing.T, n int) *restricted {
	t.Helper()
	redisproc.Need(t)
	servers, err := redisproc.StartN(t.Context(), n)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, redisproc.CloseAll(servers)) })
	r := &restricted{t: t, servers: servers}
	for i, s := range servers {
		c := redis.NewClient(&redis.Options{Addr: s.Addr()})
		t.Cleanup(func() { assert.NoError(t, c.Close()) })
		r.clients = append(r.clients, c)
		r.set(i, "on", ">secret", "~*", "&*", "+@all")
	}
	return r
}

// set changes the rights of a server's user.
func (r *restricted) set(i int, rules ...any) {
	r.t.Helper()
	require.NoError(r.t, r.clients[i].Do(r.t.Context(), append([]any{"acl", "setuser", "locker"}, rules...)...).Err())
}

// locker is a Locker of the user. The servers have just been started, so the guard is off.
func (r *restricted) locker(opts ...redlock.Option) *redlock.Locker {
	r.t.Helper()
	var urls []string
	for _, s := range r.servers {
		urls = append(urls, "redis://locker:secret@"+s.Addr())
	}
	l, err := redlock.Open(urls, append([]redlock.Option{redlock.WithoutRestartGuard()}, opts...)...)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { assert.NoError(r.t, l.Close()) })
	return l
}

// calls is how often a server was sent a command, executed or refused.
func (r *restricted) calls(i int, command string) (n int) {
	r.t.Helper()
	stats, err := r.clients[i].Info(r.t.Context(), "commandstats").Result()
	require.NoError(r.t, err)
	found := regexp.MustCompile(`cmdstat_` + command + `:calls=(\d+),.*rejected_calls=(\d+)`).FindStringSubmatch(stats)
	if found == nil {
		return 0
	}
	for _, text := range found[1:] {
		k, err := strconv.Atoi(text)
		require.NoError(r.t, err)
		n += k
	}
	return n
}

// keys is how many keys a server has.
func (r *restricted) keys(i int) int {
	r.t.Helper()
	n, err := r.clients[i].DBSize(r.t.Context()).Result()
	require.NoError(r.t, err)
	return int(n)
}

// A majority that may not run scripts could not release what it granted. Lock fails at once, for every kind, and names
// the right; nothing is set.
func TestLockOverMastersThatRefuseScriptsFailsAtOnce(t *testing.T) {
	t.Parallel()
	r := restrict(t, 3)
	r.set(0, "-evalsha")
	r.set(2, "-evalsha")
	l := r.locker()
	ctx := within(t, time.Minute)
	for what, call := range map[string]func() (*redlock.Lock, error){
		"Lock":      func() (*redlock.Lock, error) { return l.Lock(ctx, "x") },
		"TryLock":   func() (*redlock.Lock, error) { return l.TryLock(ctx, "x") },
		"RW.Lock":   func() (*redlock.Lock, error) { return l.RW("x").Lock(ctx) },
		"Reentrant": func() (*redlock.Lock, error) { return l.Reentrant("x", "me").Lock(ctx) },
		"LockAll":   func() (*redlock.Lock, error) { return l.LockAll(ctx, []string{"x", "y"}) },
	} {
		lk, err := call()
		require.ErrorIs(t, err, redlock.ErrNoQuorum, what)
		assert.Nil(t, lk)
		require.ErrorContains(t, err, "evalsha", what)
		var missing *node.RightError
		require.ErrorAs(t, err, &missing, what)
		assert.True(t, node.Permanent(errors.Unwrap(missing)) || node.Permanent(missing))
		require.NoError(t, ctx.Err(), "%s does not wait", what)
	}
	for _, i := range []int{0, 2} {
		assert.Zero(t, r.calls(i, "set"), "master %d was asked", i)
		assert.Zero(t, r.keys(i))
	}
	assert.Eventually(t, func() bool { return r.keys(1) == 0 }, 10*time.Second, 10*time.Millisecond)

	r.set(0, "+evalsha")
	require.Eventually(t, func() bool {
		lk, err := l.TryLock(t.Context(), "x")
		return err == nil && lk.Unlock(t.Context()) == nil
	}, 10*time.Second, 50*time.Millisecond, "the right is back")
}

// A master that loses the right while locks are held is sent every release once, and then a few commands a second,
// whatever number of releases it refuses.
func TestAMasterThatBeginsToRefuseScriptsIsNotFlooded(t *testing.T) {
	t.Parallel()
	for name, right := range map[string]string{"EVALSHA": "evalsha", "DEL": "del"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := restrict(t, 3)
			var log logbook
			l := r.locker(redlock.WithLogger(log.logger()))
			const n = 300
			var locks []*redlock.Lock
			for i := range n {
				locks = append(locks, lock(t, l, fmt.Sprint(i)))
			}
			require.Eventually(t, func() bool { return r.keys(2) == n }, 10*time.Second, 10*time.Millisecond)
			r.set(2, "-"+right)
			before := r.calls(2, "evalsha") + r.calls(2, "eval")
			for _, lk := range locks {
				require.NoError(t, lk.Unlock(t.Context()))
			}
			lock(t, l, "after", redlock.WithoutKeepalive()) // an extension would put the key back
			began := time.Now()
			time.Sleep(4 * time.Second)
			sent := r.calls(2, "evalsha") + r.calls(2, "eval") - before
			idle := time.Since(began)
			t.Logf("%d scripts sent for %d releases, in %v", sent, n, idle)
			assert.LessOrEqual(t, sent, n+10+5*int(idle/time.Second+1))
			assert.Equal(t, n, r.calls(2, "set"), "it is not asked for locks")
			assert.Len(t, log.lines("refuses releases"), 1)
			assert.Len(t, log.lines("not asked for locks"), 1)

			r.set(2, "+"+right)
			require.Eventually(t, func() bool {
				return r.keys(2) == 0
			}, 10*time.Second, 10*time.Millisecond, "the releases got through")
			require.Eventually(t, func() bool {
				return len(log.lines("executes releases again")) > 0
			}, 10*time.Second, 10*time.Millisecond, "it is told when the last of them is answered")
			assert.Len(t, log.lines("executes releases again"), 1)
			require.Eventually(t, func() bool {
				lk, err := l.TryLock(t.Context(), "x")
				require.NoError(t, err)
				require.NoError(t, lk.Unlock(t.Context()))
				return r.calls(2, "set") > n
			}, 10*time.Second, 50*time.Millisecond, "it is asked again")
		})
	}
}

// Wrapped clients ask when they connect, with the PING.
func TestAWrappedMasterThatRefusesScriptsIsNotAsked(t *testing.T) {
	t.Parallel()
	r := restrict(t, 1)
	r.set(0, "-evalsha")
	c := redis.NewClient(&redis.Options{Addr: r.servers[0].Addr(), Username: "locker", Password: "secret", MaxRetries: -1})
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	m, err := node.Wrap(c)
	require.NoError(t, err)
	l, err := redlock.New([]*node.Node{m}, redlock.WithoutRestartGuard())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.Close()) })
	_, err = l.Lock(within(t, time.Minute), "x")
	require.ErrorContains(t, err, "'evalsha'")
	assert.Zero(t, r.calls(0, "set"))
}

// In virtual time: all masters refuse the releases of an idle Locker for a TTL. It was 4,790 commands a second.
func TestRefusedReleasesOfAnIdleLockerCostAFewCommandsASecond(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		var log logbook
		l := w.locker(t, "a", redlock.WithLogger(log.logger()))
		const n = 1000
		var locks []*redlock.Lock
		for i := range n {
			locks = append(locks, lock(t, l, fmt.Sprint(i)))
		}
		synctest.Wait()
		for _, m := range w.Masters() {
			m.Reply("NOPERM this user has no permissions to run the 'evalsha' command", "EVALSHA")
		}
		for _, lk := range locks {
			require.ErrorIs(t, lk.Unlock(context.Background()), redlock.ErrNoQuorum)
		}
		w.forget()
		time.Sleep(2 * ttl)
		assert.LessOrEqual(t, len(w.asked()), 3*2*int(2*ttl/time.Second))
		assert.Len(t, log.lines("refuses releases"), 3, "once for each master")
		began := time.Now()
		_, err := l.Lock(within(t, time.Minute), "x")
		require.ErrorIs(t, err, redlock.ErrNoQuorum)
		assert.ErrorContains(t, err, "evalsha' command")
		assert.GreaterOrEqual(t, len(redlock.NodeErrors(err)), 2, err.Error())
		assert.Zero(t, time.Since(began))
		assert.Zero(t, w.keys())
	})
}

// What a script says of one name, whatever the name is, does not keep the master from being asked for others.
func TestANameThatReadsLikeARefusalAffectsNoOther(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		const name = "unknown command"
		l := w.locker(t, "a")
		w.warm(t, l)
		for _, m := range w.Masters() {
			m.Set(kind.FenceKey(name), "foreign", 0)
		}
		_, err := l.TryLock(t.Context(), name, redlock.WithFencing())
		require.ErrorContains(t, err, "is no fence")
		synctest.Wait()
		unlock(t, lock(t, l, "x"))
	})
}
