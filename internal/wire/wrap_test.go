package wire_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/internal/testnet"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

// inWorlds runs f with both kinds of nodes.
func inWorlds(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	t.Parallel()
	t.Run("opened", func(t *testing.T) { inBubble(t, f) })
	t.Run("wrapped", func(t *testing.T) { inBubbleWrapped(t, f) })
}

// inBubbleWrapped is inBubble with a wrapped client.
func inBubbleWrapped(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	inBubbleWrappedAs(t, nil, f)
}

// inBubbleWrappedAs is inBubbleWrapped with options that adjust changes, unless it is nil.
func inBubbleWrappedAs(t *testing.T, adjust func(*redis.Options), f func(t *testing.T, r *rig)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := simnet.New(t, 1, 1)
		c := testnet.Client(t, w.Addr(0), w.Dial, adjust)
		n, err := node.Wrap(c)
		require.NoError(t, err)
		r := bind(t, w, n)
		r.client = c
		f(t, r)
	})
}

func TestAWrappedClientVotes(t *testing.T) {
	inBubbleWrapped(t, func(t *testing.T, r *rig) {
		a := r.ask(acquire("a", "me"), window(guarded))
		requireGranted(t, a)
		assert.Equal(t, r.m.RunID(), a.vote.RunID())
		assert.Equal(t, wire.Denied, r.ask(acquire("a", "another"), window(guarded)).result().Verdict)
		assert.Equal(t, wire.Granted, r.ask(release("a", "me"), durably).result().Verdict)
		l := r.subscribe(channel)
		r.publish(channel)
		time.Sleep(time.Millisecond)
		assert.EqualValues(t, 2, l.notified.Load())
		r.node.Close(time.Now().Add(time.Second))
		require.NoError(t, r.group.Wait())
		require.NoError(t, r.client.Set(context.Background(), "mine", "still", 0).Err(), "the client stays its owner's")
	})
}

func TestAWrappedClientThatIsClosedUnderTheNode(t *testing.T) {
	inBubbleWrapped(t, func(t *testing.T, r *rig) {
		r.warm()
		require.NoError(t, r.client.Close())
		v := r.ask(acquire("a", "me")).result()
		assert.NotEqual(t, wire.Granted, v.Verdict)
		require.ErrorIs(t, v.Err, redis.ErrClosed)
		r.ask(release("a", "me"), durably).result()
		time.Sleep(10 * time.Second)
	})
}

// Close cannot end a command on a wrapped client, but it keeps its own deadline.
func TestCloseOfABlockedWrappedClientIsBounded(t *testing.T) {
	inBubbleWrapped(t, func(t *testing.T, r *rig) {
		r.warm()
		r.m.Freeze()
		a := r.ask(acquire("a", "me"))
		r.ask(release("a", "me"), durably)
		a.result()
		began := time.Now()
		assert.Equal(t, 1, r.node.Close(began.Add(300*time.Millisecond)))
		assert.Equal(t, 300*time.Millisecond, time.Since(began))
		require.NoError(t, r.group.Wait())
		assert.LessOrEqual(t, time.Since(began), time.Second+100*time.Millisecond, "the client's ReadTimeout")
	})
}

// A release whose first attempt failed is repeated until the master answers, under every fault.
func TestAReleaseOverAWrappedClientIsRepeatedUntilTheMasterAnswers(t *testing.T) {
	const down = 5 * time.Second
	type tc struct {
		reset bool                 // the first attempt meets the end of its connection
		fault func(*simnet.Master) // what the others meet; without reset, the first one as well
	}
	inEach(t, inBubbleWrapped, map[string]tc{
		"a reset":                 {reset: true, fault: func(*simnet.Master) {}},
		"a reset, then a freeze":  {reset: true, fault: (*simnet.Master).Freeze},
		"a reset, then a refusal": {reset: true, fault: refuse},
		"a freeze":                {fault: (*simnet.Master).Freeze},
		"a refused connection":    {fault: refuse},
		"a black hole":            {fault: func(m *simnet.Master) { m.BlackHole() }},
	}, func(t *testing.T, r *rig, meets tc) {
		r.m.Delay(time.Millisecond, 0)
		r.warm()
		a := r.ask(wire.Command("acquire", nil, "set", "a", "me", "nx", "px", time.Hour.Milliseconds()))
		require.Equal(t, wire.Granted, a.result().Verdict)
		require.Equal(t, []string{"a"}, r.m.Keys())
		var met atomic.Bool
		if meets.reset {
			r.m.HangUp(func(args []string) bool {
				return args[0] == "evalsha" && args[2] == "1" && met.CompareAndSwap(false, true)
			})
		} else {
			meets.fault(r.m)
		}
		rel := r.ask(release("a", "me"), durably, withKeyTTL(time.Hour), firstAsked(a.call.Asked))
		if meets.reset {
			r.eventually(time.Second, "the first attempt", met.Load)
			meets.fault(r.m)
		}
		assert.NotEqual(t, wire.Denied, rel.result().Verdict)
		time.Sleep(down)
		r.m.Heal()
		r.eventually(5*time.Second, "the key is gone", r.gone)
	})
}

// refuse has a master end its connections and accept none.
func refuse(m *simnet.Master) {
	m.Refuse()
	m.Reset()
}

// nameOf returns a name whose slot belongs to the server.
func nameOf(t *testing.T, c *redis.ClusterClient, s *redisproc.Server) string {
	t.Helper()
	for i := range 1000 {
		name := fmt.Sprint("name-", i)
		owner, err := c.MasterForKey(t.Context(), name)
		require.NoError(t, err)
		if owner.Options().Addr == s.Addr() {
			return name
		}
	}
	require.Fail(t, "no name of 1000 belongs to "+s.Addr())
	return ""
}

func TestAWholeClusterAsOneMaster(t *testing.T) {
	t.Parallel()
	redisproc.Need(t)
	servers, err := redisproc.StartCluster(t.Context(), 3)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, redisproc.CloseAll(servers)) })
	addrs := make([]string, len(servers))
	for i, s := range servers {
		addrs[i] = s.Addr()
	}
	c := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: addrs, MaxRetries: -1, MaxRedirects: -1, DialerRetries: 1, // and timeouts that a busy machine keeps
		DialTimeout: patient, ReadTimeout: patient, WriteTimeout: patient,
	})
	r := newWrappedRig(t, c)
	names := make([]string, len(servers))
	for i, s := range servers {
		names[i] = nameOf(t, c, s)
	}

	// One batch for all three, with scripts that no server knows.
	var all []*ticket
	for _, name := range names {
		all = append(all, r.ask(acquire(name, "me"), within(patient)), r.ask(acquire(name, "another"), within(patient)),
			r.ask(extend(name, "me"), within(patient)), r.ask(release(name, "me"), durably, within(patient)))
	}
	for i, tk := range all {
		v := tk.result()
		assert.Equal(t, i%4 == 1, v.Verdict == wire.Denied, "%d: %v, %v", i, v, v.Err)
		assert.Equal(t, i%4 != 1, v.Verdict == wire.Granted, "%d: %v, %v", i, v, v.Err)
	}

	// The servers have just been started.
	v := r.ask(acquire(names[0], "me"), window(time.Hour), within(patient)).result()
	assert.Equal(t, wire.Unknown, v.Verdict)
	require.ErrorAs(t, v.Err, new(*node.RestartError))
	assert.Equal(t, 2, strings.Count(v.RunID(), "+"), "the identity is that of all: %s", v.RunID())
	identity := v.RunID()

	// The Cluster may not vote during its first window.
	require.Eventually(t, func() bool {
		v = r.ask(acquire(fmt.Sprint(names[1], time.Now().UnixNano()), "me"), window(time.Second), within(patient)).result()
		return v.Verdict == wire.Granted
	}, 30*time.Second, 100*time.Millisecond)
	assert.Equal(t, identity, v.RunID())

	// After one server restarted without data, no grant of the Cluster counts for a window.
	require.NoError(t, servers[2].Kill())
	v = r.ask(acquire(names[2], "me"), window(time.Second), within(patient)).result()
	assert.NotEqual(t, wire.Granted, v.Verdict)
	assert.False(t, node.Permanent(v.Err), "%v", v.Err)
	v = r.ask(acquire(names[0]+"/2", "me"), window(time.Second), within(patient)).result()
	assert.NotEqual(t, wire.Granted, v.Verdict, "it is unknown whether the Cluster is the same")
	assert.False(t, node.Permanent(v.Err), "%v", v.Err)
	require.NoError(t, servers[2].Start(t.Context()))
	require.Eventually(t, func() bool {
		v = r.ask(acquire(fmt.Sprint("{", names[0], "}", time.Now().UnixNano()), "me"), window(time.Hour), within(patient)).
			result()
		return v.RunID() != ""
	}, 30*time.Second, 100*time.Millisecond)
	assert.NotEqual(t, identity, v.RunID())
	assert.Greater(t, windowLeft(t, v), 59*time.Minute)
}
