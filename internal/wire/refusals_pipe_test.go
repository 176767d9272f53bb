package wire_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

// The first acquire at least a second after the last recheck finds that the right is back, and is sent.
func TestAMasterThatAllowsScriptsAgainIsAskedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.m.Delay(trip/2, 0)
		r.m.Reply(noScripts, "EVALSHA")
		assertBarred(t, r.ask(undoable("a")).result(), "evalsha")
		for range 3 {
			time.Sleep(time.Second)
			v := r.ask(undoable("a")).result()
			assertBarred(t, v, "evalsha")
			assert.Equal(t, trip, v.Took, "the node checks again whether the master still refuses")
			assertBarred(t, r.ask(undoable("a")).result(), "evalsha")
		}
		time.Sleep(time.Second)
		r.m.Recover()
		requireGranted(t, r.ask(undoable("a")), r.ask(undoable("b")), r.ask(undoable("c")))
		assert.Equal(t, "over", r.refused()[1])
		assert.Len(t, r.executed(), 3)
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

// A refused release that is executed later shows that locks can be released again, even if nobody asks for one.
func TestAnExecutedReleaseLiftsTheBar(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		require.Equal(t, wire.Granted, r.ask(undoable("a")).result().Verdict)
		r.m.Reply("ERR The user executing the script can't run this command or subcommand", "EVALSHA")
		r.ask(release("a", "me"), expiresAfter(time.Hour))
		r.eventually(time.Second, "the right is missing", func() bool { return r.node.Stats().Barred != nil })
		r.m.Recover()
		r.eventually(10*time.Second, "the right is back", func() bool { return r.node.Stats().Barred == nil })
		assert.True(t, r.gone())
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

// The refused releases follow the one that the master accepts, even if that one went over the spare connection.
func TestRefusedReleasesFollowOneThatWasRecovered(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.warm()
		for i := range 10 {
			r.m.Set(token(i), "me", time.Hour)
		}
		r.m.Reply("NOPERM this user has no permissions to access one of the keys used as arguments", "EVALSHA")
		for i := range 10 {
			r.ask(release(token(i), "me"), expiresAfter(time.Hour))
		}
		synctest.Wait()
		r.m.Recover()
		r.m.HangUp(func(args []string) bool { return args[0] == "evalsha" })
		time.Sleep(600 * time.Millisecond) // one is sent again, and breaks its connections
		v := r.ask(acquire("other", "them")).result()
		require.Equal(t, wire.Granted, v.Verdict, "there is a shared connection")
		r.m.Del("other", "", "")
		time.Sleep(2 * timeout) // no deadline wakes the node meanwhile
		r.m.HangUp(nil)
		r.eventually(2*time.Second, "all got through", r.gone)
	})
}
