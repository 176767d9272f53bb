package wire_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

const guarded = 10 * time.Second // the window of these tests

// assertRestarted asserts that the grant does not count yet.
func assertRestarted(t *testing.T, v wire.Vote, left time.Duration) {
	t.Helper()
	assert.Equal(t, wire.Unknown, v.Verdict, "executed, so it must be released, but not counted")
	assert.Equal(t, left, windowLeft(t, v))
	assert.False(t, node.Permanent(v.Err), "the failure is temporary")
}

// windowLeft returns how long no grant of the server counts.
func windowLeft(t *testing.T, v wire.Vote) time.Duration {
	t.Helper()
	var young *node.RestartError
	require.ErrorAs(t, v.Err, &young)
	return young.Left
}

func TestAYoungServersGrantDoesNotCount(t *testing.T) {
	type tc struct {
		uptime string
		after  time.Duration // from the connection to the call
		left   time.Duration // negative: it counts
	}
	inBubbles(t, map[string]tc{
		"just started":                        {uptime: "0", left: guarded},
		"its clock was set back":              {uptime: "-3600", left: guarded},
		"as old as the window, in seconds":    {uptime: "10", left: time.Second},
		"a second older: perhaps just as old": {uptime: "11", left: 0},
		"older for certain":                   {uptime: "12", left: -1},
		"a day":                               {uptime: "86400", left: -1},
		"young when connected, later":         {uptime: "0", after: 4 * time.Second, left: 6 * time.Second},
		"young when connected, at the border": {uptime: "0", after: guarded, left: 0},
		"young when connected, past the border": {
			uptime: "0", after: guarded + time.Nanosecond, left: -1,
		},
	}, func(t *testing.T, r *rig, c tc) {
		r.m.Info("uptime_in_seconds", c.uptime)
		r.warm()
		time.Sleep(c.after)
		v := r.ask(acquire("a", "me"), window(guarded)).result()
		assert.Equal(t, "me", r.m.Get("a"))
		assert.Equal(t, r.m.RunID(), v.RunID())
		if c.left >= 0 {
			assertRestarted(t, v, c.left)
		} else {
			assert.Equal(t, wire.Granted, v.Verdict)
			require.NoError(t, v.Err)
		}
	})
}

// An acquire that does not count must not change other keys, such as the fence counter.
func TestACallThatRequiresTrustIsNotSentToAYoungServer(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.m.Info("uptime_in_seconds", "0")
		r.warm()
		counted := func(c *wire.Call) { c.Window, c.RequireTrusted = guarded, true }
		v := r.ask(acquire("a", "me"), counted).result()
		assert.Equal(t, wire.Failed, v.Verdict)
		assert.True(t, v.Unsent)
		assert.Equal(t, guarded, windowLeft(t, v))
		assert.True(t, r.gone())
		time.Sleep(guarded + time.Nanosecond)
		assert.Equal(t, wire.Granted, r.ask(acquire("a", "me"), counted).result().Verdict)
		r.m.Info("uptime_in_seconds", "0")
		r.m.Reset()
		r.ask(acquire("stale", "me")).result()
		v = r.ask(acquire("b", "me"), func(c *wire.Call) { c.RequireTrusted = true }).result()
		assert.Equal(t, wire.Granted, v.Verdict, "without a window it counts")
	})
}

func TestTheIdentityIsAskedOncePerConnection(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		for i := range 100 {
			require.Equal(t, wire.Granted, r.ask(acquire(token(i), "me"), window(guarded)).result().Verdict)
			time.Sleep(5 * time.Millisecond)
		}
		assert.Equal(t, 2+comparing, r.m.Count("INFO"), "server and replication")
		r.m.Reset()
		r.ask(acquire("b", "me")).result()
		r.ask(acquire("c", "me")).result()
		assert.Equal(t, 2+comparing, r.m.ConnsEver())
		assert.Equal(t, 4+comparing, r.m.Count("INFO"))
	})
}

func TestAServerWithoutIdentityMayNotVote(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.m.Reply("NOPERM this user has no permissions to run the 'info' command", "INFO")
		v := r.ask(acquire("a", "me"), window(guarded)).result()
		assert.Equal(t, wire.Unknown, v.Verdict)
		require.ErrorAs(t, v.Err, new(*node.IdentityError))
		v = r.ask(acquire("b", "me")).result()
		assert.Equal(t, wire.Granted, v.Verdict, "with the guard off")
		assert.False(t, r.node.Suspect())
	})
}
