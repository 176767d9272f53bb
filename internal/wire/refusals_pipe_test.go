package wire_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/internal/testnet"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

// refused returns the node's reports of refusals: the text, or "over".
func (r *rig) refused() (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, err := range r.reported {
		var refusal *node.RefusalError
		switch {
		case !errors.As(err, &refusal):
		case refusal.Over:
			all = append(all, "over")
		default:
			all = append(all, err.Error())
		}
	}
	return all
}

// A master that refuses many releases gets only a few per second. When it accepts one, all others follow.
func TestReleasesThatAMasterRefusesAreRetriedOneAtATime(t *testing.T) {
	inBubbles(t, named(
		"READONLY You can't write against a read only replica.",
		"OOM command not allowed when used memory > 'maxmemory'.",
		"NOPERM this user has no permissions to access one of the keys used as arguments",
		"ERR Error running script (call to f_6b1bf486c81ceb7edf3c093f4c48582e38c0e791)",
	), func(t *testing.T, r *rig, msg string) {
		r.warm()
		const n = 1000
		for i := range n {
			r.m.Set(token(i), "me", time.Hour)
		}
		r.m.Reply(msg, "EVALSHA")
		before := r.m.Count("EVALSHA")
		for i := range n {
			r.ask(release(token(i), "me"), expiresAfter(time.Hour))
		}
		time.Sleep(timeout)
		began := r.m.Count("EVALSHA")
		require.Equal(t, n, began-before, "each is sent once")
		const lasting = 20 * time.Second
		time.Sleep(lasting)
		assert.LessOrEqual(t, r.m.Count("EVALSHA")-began, 2*int(lasting/time.Second))
		assert.Greater(t, r.m.Count("EVALSHA")-began, int(lasting/time.Second)/2)
		require.Len(t, r.refused(), 1, "reported once")
		assert.Contains(t, r.refused()[0], msg)

		r.m.Recover()
		r.eventually(1100*time.Millisecond, "the releases got through", r.gone)
		synctest.Wait()
		assert.Equal(t, "over", r.refused()[len(r.refused())-1])
		assert.Len(t, r.refused(), 2)
		assert.Zero(t, r.node.Close(time.Now()))
	})
}

// undoable returns an acquire that names the script that undoes it.
func undoable(name string) *wire.Op { return acquire(name, "me").UndoneBy(releaseScript) }

const noScripts = "NOPERM this user has no permissions to run the 'evalsha' command"

// assertBarred asserts that the master was not asked, and that the error names the right.
func assertBarred(t *testing.T, v wire.Vote, right string) {
	t.Helper()
	assert.Equal(t, wire.Failed, v.Verdict)
	assert.True(t, v.Unsent)
	require.ErrorAs(t, v.Err, new(*node.RightError))
	require.ErrorContains(t, v.Err, right)
	assert.True(t, node.Permanent(v.Err))
}

// The handshake checks the right to run scripts in the same round trip as INFO, so not even the first lock is set.
func TestAMasterThatRefusesScriptsIsNeverAskedForALock(t *testing.T) {
	inBubbles(t, named(
		noScripts, "NOPERM User me has no permissions to run the 'evalsha' command", "ERR unknown command 'evalsha'",
	), func(t *testing.T, r *rig, msg string) {
		r.m.Delay(trip/2, 0)
		r.m.Reply(msg, "EVALSHA")
		v := r.ask(undoable("a")).result()
		assertBarred(t, v, "evalsha")
		assert.Equal(t, 4*trip, v.Took, "connect, and the handshake, twice")
		for range 100 {
			assertBarred(t, r.ask(undoable("a")).result(), "evalsha")
		}
		assert.Empty(t, r.executed())
		require.Len(t, r.refused(), 1, "reported once")
		assert.Equal(t, wire.Granted, r.ask(count()).result().Verdict, "other operations are sent")
	})
}

// If a right is taken away while a connection is open, the node finds out at the first release.
func TestAMasterThatRefusesAReleaseIsNoLongerAskedForLocks(t *testing.T) {
	type tc struct {
		msg, right string
		cmds       []string
	}
	inBubbles(t, map[string]tc{
		"EVAL": {"NOPERM this user has no permissions to run the 'eval' command", "eval", []string{"EVAL"}},
		"DEL in a script": {
			"ERR The user executing the script can't run this command or subcommand", "can't run", []string{"DEL"},
		},
	}, func(t *testing.T, r *rig, c tc) {
		r.warm()
		r.m.FlushScripts()
		require.Equal(t, wire.Granted, r.ask(undoable("a")).result().Verdict)
		r.m.Reply(c.msg, c.cmds...)
		assert.Equal(t, wire.Failed, r.ask(release("a", "me"), expiresAfter(5*time.Second)).result().Verdict)
		synctest.Wait()
		assertBarred(t, r.ask(undoable("b")).result(), c.right)
		for range 20 {
			time.Sleep(700 * time.Millisecond)
			assertBarred(t, r.ask(undoable("b")).result(), c.right)
		}
		assert.Len(t, r.refused(), 2, "the release, and that it is not asked any more: %v", r.refused())
		r.m.Recover()
		time.Sleep(time.Second)
		requireGranted(t, r.ask(undoable("b")))
		assert.Equal(t, wire.Granted, r.ask(release("b", "me"), expiresAfter(5*time.Second)).result().Verdict)
	})
}

// A proxy may not support scripts without keys. Its error does not concern the rights.
func TestAProxyThatRefusesTheRightCheckBarsNothing(t *testing.T) {
	inEmptyBubbles(t, map[string]string{
		"an error":      "-ERR invalid number of arguments\r\n",
		"busy":          "-BUSY Redis is busy running a script.\r\n",
		"another reply": "+OK\r\n",
		"it hangs up":   "",
	}, func(t *testing.T, reply string) {
		srv := &testnet.Scripted{Answer: func(args []string) (string, bool) {
			if args[0] == "evalsha" && args[2] == "0" {
				return reply, reply == ""
			}
			return "+OK\r\n", false
		}}
		r := newRig(t, nil, "redis://10.9.9.9", node.WithDialer(srv.Dial))
		assert.Equal(t, wire.Granted, r.ask(undoable("a")).result().Verdict)
		v := r.ask(undoable("b")).result()
		assert.Equal(t, wire.Granted, v.Verdict)
		assert.Equal(t, "abc", v.Server.RunID)
		if reply == "" {
			assert.Equal(t, int64(2+comparing), srv.Dials.Load(), "it connects once more, without the check")
		} else {
			assert.Equal(t, int64(1+comparing), srv.Dials.Load())
		}
	})
}

// An attempt to connect that times out at the check says nothing about the proxy or the rights.
func TestASlowRightCheckBarsNothing(t *testing.T) {
	inEmptyBubbles(t, map[string]string{
		"allowed":     "-NOSCRIPT No matching script.\r\n",
		"it hangs up": "",
	}, func(t *testing.T, reply string) {
		var slow atomic.Bool
		slow.Store(true)
		srv := &testnet.Scripted{Answer: func(args []string) (string, bool) {
			if args[0] != "evalsha" || args[2] != "0" {
				return "+OK\r\n", false
			}
			if slow.Swap(false) {
				time.Sleep(1500 * time.Millisecond)
			}
			return reply, reply == ""
		}}
		r := newRig(t, nil, "redis://10.9.9.9", node.WithDialer(srv.Dial))
		var v wire.Vote
		for range 10 {
			if v = r.ask(undoable("a")).result(); v.Verdict == wire.Granted {
				break
			}
			assert.NotContains(t, v.Err.Error(), "EVALSHA")
			assert.True(t, v.Unsent, "the connection is of no use")
			time.Sleep(time.Second)
		}
		assert.Equal(t, wire.Granted, v.Verdict)
		assert.NoError(t, r.node.Stats().Barred)
		time.Sleep(2 * time.Second) // the server ends
	})
}

// vault has the credentials that the node is given.
type vault struct {
	user     string
	password atomic.Value // a string
	asked    atomic.Int64
}

func newVault(user, password string) *vault {
	v := &vault{user: user}
	v.password.Store(password)
	return v
}

func (v *vault) get(context.Context) (user, password string, err error) {
	v.asked.Add(1)
	return v.user, v.password.Load().(string), nil
}

// The connections for requests, spare connections and subscriptions all authenticate.
func TestEveryConnectionAsksForCredentials(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := simnet.New(t, 1, 1)
		w.Master(0).RequirePassword("one")
		v := newVault("", "one")
		r := newRig(t, w, w.Master(0).URL(), node.WithDialer(w.Dial), node.WithCredentials(v.get))
		r.warm()
		assert.EqualValues(t, 1+comparing, v.asked.Load())
		l := r.subscribe(channel)
		assert.EqualValues(t, 2+comparing, v.asked.Load())

		r.hangUpAt("poison") // such a release gets a connection of its own
		r.ask(release("poison", "me"), expiresAfter(3*time.Second))
		time.Sleep(5 * time.Second)
		require.Equal(t, wire.Granted, r.ask(acquire("a", "me")).result().Verdict)
		assert.Greater(t, v.asked.Load(), int64(3))

		r.m.Crash()
		require.NotEqual(t, wire.Granted, r.ask(acquire("b", "me")).result().Verdict)
		v.password.Store("two")
		r.m.RequirePassword("two")
		r.m.Restart()
		r.eventually(time.Minute, "a vote", func() bool { return r.ask(acquire("c", "me")).result().Verdict == wire.Granted })
		r.eventually(time.Minute, "a new subscription", func() bool { return r.m.Subscribers(channel) == 1 })
		l.stop()
		assert.LessOrEqual(t, int(v.asked.Load()), r.m.Dials(), "refused connections need no credentials")
	})
}

// A real server whose user gets another password, and whose connections are closed, has the new password soon.
func TestARotatedPasswordOfARealServer(t *testing.T) {
	t.Parallel()
	s := redisproc.ForTest(t, 1)[0]
	admin := client(t, s)
	setUser := func(rules ...any) {
		user := []any{"ACL", "SETUSER", "locks", "on", "~*", "&*", "+@all"}
		require.NoError(t, admin.Do(t.Context(), append(user, rules...)...).Err())
	}
	setUser(">one")
	v := newVault("locks", "one")
	r := newRealRig(t, s.URL(), node.WithCredentials(v.get))
	granted := func() bool { return r.acquireNew().Verdict == wire.Granted }
	require.True(t, granted())
	l := r.listen(channel)
	require.Eventually(t, func() bool { return l.notified.Load() == 1 }, patient, time.Millisecond)

	setUser("resetpass", ">two")
	require.True(t, granted(), "an open connection stays authenticated")
	require.NoError(t, admin.Do(t.Context(), "CLIENT", "KILL", "USER", "locks").Err())
	var refused error
	require.Eventually(t, func() bool {
		refused = r.ask(acquire("a", "me"), within(patient)).result().Err
		return node.Permanent(refused)
	}, patient, time.Millisecond, "a new one is not")
	require.ErrorContains(t, refused, "WRONGPASS")
	assert.NotContains(t, refused.Error(), "one")

	v.password.Store("two")
	require.Eventually(t, granted, patient, time.Millisecond)
	require.Eventually(t, func() bool { return l.notified.Load() == 2 }, patient, time.Millisecond)
	list, err := admin.ClientList(t.Context()).Result()
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(list, " user=locks"), list)
	l.stop()
}
