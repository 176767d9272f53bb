package wire_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/redisproc"
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

func assertNoMaster(t *testing.T, v wire.Vote) {
	t.Helper()
	var role *node.RoleError
	require.ErrorAs(t, v.Err, &role)
	assert.Equal(t, "slave", role.Role)
	assert.EqualError(t, role, `its role is "slave": give the address of a master`)
	assert.False(t, node.Permanent(v.Err))
}

// A server that is no master is not asked for votes, whether it accepts writes or not. It is asked for its state, and
// to release.
func TestAReplicaHasNoVote(t *testing.T) {
	inWorlds(t, func(t *testing.T, r *rig) {
		r.m.Info("role", "slave")
		r.m.Set("held", "me", ttl)
		for range 20 {
			for _, op := range []*wire.Op{acquire("a", "me"), extend("held", "me"), wire.Command("get", nil, "get", "a")} {
				v := r.ask(op).result()
				assert.Equal(t, wire.Failed, v.Verdict)
				assert.True(t, v.Unsent)
				assertNoMaster(t, v)
			}
			requireGranted(t, r.ask(wire.StatusOp()))
			time.Sleep(100 * time.Millisecond)
		}
		assert.False(t, r.node.Suspect(), "it answers")
		require.ErrorContains(t, r.node.Stats().Barred, "slave")
		assert.Len(t, r.reported, 1, "one line in the log")
		assert.Equal(t, []string{"held"}, r.m.Keys())
		assert.Equal(t, wire.Granted, r.ask(release("held", "me"), durably).result().Verdict)
	})
}

// A promoted server does not know the locks of the server that it replaces, however the node saw that it was a replica.
func TestAPromotedServerMayNotVoteForAWindow(t *testing.T) {
	readOnly := "READONLY You can't write against a read only replica."
	inEach(t, inWorlds, map[string]func(r *rig){
		"on connecting": func(r *rig) { r.m.Info("role", "slave") },
		"later":         func(r *rig) { r.warm(); r.m.Info("role", "slave"); time.Sleep(time.Second) },
		"by a refusal":  func(r *rig) { r.warm(); r.m.ReplyTimes(1, readOnly, "SET") },
	}, func(t *testing.T, r *rig, demote func(r *rig)) {
		demote(r)
		require.NotEqual(t, wire.Granted, r.ask(acquire("a", "me"), window(guarded)).result().Verdict)
		r.m.Info("role", "master")
		time.Sleep(time.Second)
		assertRestarted(t, r.ask(acquire("b", "me"), window(guarded)).result(), guarded)
		assert.NoError(t, r.node.Stats().Barred)
		time.Sleep(guarded + time.Nanosecond)
		assert.Equal(t, wire.Granted, r.ask(acquire("c", "me"), window(guarded)).result().Verdict)
	})
}

// REPLICAOF ends no connection. The role is asked ahead of a batch, at most once a second.
func TestAMasterThatBecomesAReplica(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.m.Delay(time.Millisecond, 0)
		r.warm()
		asked := r.m.Count("INFO")
		for i := range 200 {
			require.Equal(t, wire.Granted, r.ask(acquire(token(i), "me")).result().Verdict)
		}
		assert.Equal(t, asked, r.m.Count("INFO"))
		time.Sleep(time.Second)
		require.Equal(t, wire.Granted, r.ask(acquire("a", "me")).result().Verdict)
		assert.Equal(t, asked+1, r.m.Count("INFO"), "ahead of the batch")
		assert.Equal(t, 1+comparing, r.m.ConnsEver())

		r.m.Info("role", "slave")
		time.Sleep(time.Second)
		b := r.ask(acquire("b", "me"))
		r.ask(release("b", "me"), durably)
		v := b.result()
		assert.Equal(t, wire.Unknown, v.Verdict, "it was executed, so it must be released")
		assert.True(t, v.Guarded)
		assertNoMaster(t, v)
		r.eventually(time.Second, "the release", func() bool { return r.m.Get("b") == "" })
		v = r.ask(acquire("c", "me")).result()
		assert.True(t, v.Unsent)
		assertNoMaster(t, v)
		assert.Len(t, r.reported, 1)
	})
}

// A role that is not reported, or refused later, is no reason to refuse a server.
func TestARoleThatIsUnknown(t *testing.T) {
	inBubbles(t, map[string]func(r *rig){
		"not reported": func(r *rig) { r.m.Info("role", "") },
		"refused": func(r *rig) {
			r.warm()
			r.m.Reply("NOPERM this user has no permissions to run the 'info' command", "INFO")
		},
	}, func(t *testing.T, r *rig, hide func(r *rig)) {
		hide(r)
		for i := range 3 {
			time.Sleep(2 * time.Second)
			requireGranted(t, r.ask(acquire(token(i), "me")))
		}
	})
}

// Servers whose roles change with REPLICAOF, seen by two clients.
func TestTheRoleOfARealServer(t *testing.T) {
	t.Parallel()
	servers := redisproc.ForTest(t, 2, "--replica-read-only", "no")
	admin := client(t, servers[1])
	wrapped := redis.NewClient(&redis.Options{Addr: servers[1].Addr(), MaxRetries: -1})
	rigs := []*rig{newRealRig(t, servers[1].URL()), newWrappedRig(t, wrapped)}
	for _, r := range rigs {
		require.Equal(t, wire.Granted, r.acquireNew().Verdict)
	}
	host, port, err := net.SplitHostPort(servers[0].Addr())
	require.NoError(t, err)
	require.NoError(t, admin.ReplicaOf(context.Background(), host, port).Err())
	for _, r := range rigs {
		require.Eventually(t, func() bool { return r.acquireNew().Verdict == wire.Failed }, patient, time.Millisecond)
		assertNoMaster(t, r.acquireNew())
	}
	require.NoError(t, admin.ReplicaOf(context.Background(), "NO", "ONE").Err())
	for _, r := range rigs {
		require.Eventually(t, func() bool { return r.acquireNew().Verdict == wire.Granted }, patient, time.Millisecond)
	}
}
