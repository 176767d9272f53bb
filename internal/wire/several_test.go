package wire_test

import (
	"context"
	"fmt"
	"net"
	"sync"
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

// balancer is an address that leads to several masters.
const balancer = "10.0.9.9:6379"

// inPair is inBubble with an address that leads connections to two masters in turn.
func inPair(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	inBalanced(t, 2, f)
}

// inBalanced is inPair with any number of masters.
func inBalanced(t *testing.T, masters int, f func(t *testing.T, r *rig)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := simnet.New(t, 1, masters)
		all := make([]int, masters)
		for i, m := range w.Masters() {
			m.Delay(time.Millisecond, time.Millisecond)
			all[i] = i
		}
		w.Alias(balancer, all...)
		f(t, newRig(t, w, "redis://"+balancer, node.WithDialer(w.Dial)))
	})
}

func assertSeveral(t *testing.T, v wire.Vote) {
	t.Helper()
	var several *node.SeveralServersError
	require.ErrorAs(t, v.Err, &several)
	assert.NotEqual(t, several.RunIDs[0], several.RunIDs[1])
	assert.Regexp(t, `its address leads to several servers \(run_id [0-9a-f]{8}… and [0-9a-f]{8}…\): `+
		`give each master an address of its own$`, several.Error())
	assert.False(t, node.Permanent(v.Err), "it may be repaired while a call waits")
}

// heal waits until the node asks for votes again.
func (r *rig) heal(within time.Duration) {
	r.t.Helper()
	n := 0
	r.eventually(within, "it has a vote again", func() bool {
		n++
		v := r.ask(acquire("heal-"+token(n), "me")).result()
		time.Sleep(10 * time.Millisecond)
		return v.Verdict == wire.Granted
	})
}

func TestOneOfSeveralServersHasNoVote(t *testing.T) {
	for _, servers := range []int{2, 3} {
		t.Run(fmt.Sprint(servers), func(t *testing.T) { inBalanced(t, servers, assertNoVote) })
	}
}

// assertNoVote asserts that none of several servers has a vote until the address leads to one of them.
func assertNoVote(t *testing.T, r *rig) {
	t.Helper()
	v := r.ask(acquire("a", "me")).result()
	assert.False(t, v.Answered(), "the first vote does not count")
	assertSeveral(t, v)
	r.ask(release("a", "me"), durably).result()
	r.m.Set("held", "me", ttl)
	assert.Equal(t, wire.Granted, r.ask(release("held", "me"), durably).result().Verdict)
	for range 100 {
		v = r.ask(acquire("b", "me")).result()
		assert.True(t, v.Unsent)
		assertSeveral(t, v)
		v = r.ask(wire.StatusOp()).result()
		assert.Equal(t, wire.Granted, v.Verdict)
		assertSeveral(t, v)
		time.Sleep(100 * time.Millisecond)
	}
	assert.False(t, r.node.Suspect(), "it answers")
	assert.Len(t, r.reported, 1, "one line in the log")
	require.ErrorContains(t, r.node.Stats().Barred, "several servers")
	conns := 0
	for _, m := range r.world.Masters() {
		assert.Empty(t, m.Keys())
		conns += m.ConnsEver()
	}
	assert.Less(t, conns, 30, "in ten seconds")

	// The address leads to the server of the open connection.
	r.world.Alias(balancer, 0)
	r.heal(12 * time.Second)
	assert.NoError(t, r.node.Stats().Barred)
	assert.Len(t, r.reported, 2)
	assert.NoError(t, r.ask(wire.StatusOp()).result().Err)
}

// Balancers choose at random, too. A comparison then often sees one server only, and a later one sees several.
func TestServersChosenAtRandomAreNoticed(t *testing.T) {
	inPair(t, func(t *testing.T, r *rig) {
		r.world.Alias(balancer, 0)
		r.warm()
		r.world.Alias(balancer, 1, 0, 0, 1, 0, 1, 1)
		require.Equal(t, wire.Granted, r.ask(acquire("a", "me")).result().Verdict, "nothing has connected since")
		l := r.subscribe(channel)
		v := r.ask(acquire("b", "me")).result()
		assert.Equal(t, wire.Unknown, v.Verdict, "it was executed, so it must be released")
		assert.True(t, v.Guarded)
		assertSeveral(t, v)
		l.stop()
	})
}

// The address leads to another server while the old one lives. The node must leave the old one.
func TestAnAddressThatMovesToAnotherServer(t *testing.T) {
	inPair(t, func(t *testing.T, r *rig) {
		r.world.Alias(balancer, 0)
		r.warm()
		r.world.Alias(balancer, 1)
		l := r.subscribe(channel)
		assertSeveral(t, r.ask(acquire("a", "me"), window(guarded)).result())
		r.eventually(5*time.Second, "the node uses the new one", func() bool {
			v := r.ask(acquire("b", "me"), window(guarded)).result()
			return v.RunID() == r.world.Master(1).RunID()
		})
		for now := time.Now(); time.Since(now) < guarded-time.Second; time.Sleep(100 * time.Millisecond) {
			require.NotEqual(t, wire.Granted, r.ask(acquire("c", "me"), window(guarded)).result().Verdict)
		}
		r.heal(2 * time.Second)
		l.stop()
	})
}

// A server that restarts, or that another one replaces after its end, has another run id, and is not one of several.
func TestAServerThatIsReplacedIsNotOneOfSeveral(t *testing.T) {
	inEach(t, inPair, map[string]func(r *rig, i int){
		"it restarts":         func(r *rig, _ int) { r.m.Restart() },
		"after a while":       func(r *rig, _ int) { r.m.Crash(); time.AfterFunc(30*time.Millisecond, r.m.Restart) },
		"its connections end": func(r *rig, _ int) { r.m.Reset() },
		"another takes over": func(r *rig, i int) {
			r.world.Master((i + 1) % 2).Restart()
			r.world.Alias(balancer, (i+1)%2)
			r.world.Master(i % 2).Crash()
		},
	}, func(t *testing.T, r *rig, replace func(r *rig, i int)) {
		r.world.Alias(balancer, 0)
		r.warm()
		l := r.listen(channel)
		for i := range 20 {
			replace(r, i)
			for range 20 {
				for _, op := range []*wire.Op{acquire("a", "me"), wire.StatusOp()} {
					v := r.ask(op, within(20*time.Millisecond)).result()
					require.NotErrorAs(t, v.Err, new(*node.SeveralServersError))
				}
				r.ask(release("a", "me"), durably)
				time.Sleep(3 * time.Millisecond)
			}
		}
		l.stop()
		r.heal(5 * time.Second)
	})
}

// A proxy keeps the connections of its clients while the server restarts. A later connection shows that.
func TestAServerThatIsReplacedBehindAProxy(t *testing.T) {
	inBalanced(t, 1, func(t *testing.T, r *rig) {
		r.warm()
		r.m.Info("run_id", "0123456789012345678901234567890123456789")
		r.m.Info("uptime_in_seconds", "0")
		l := r.subscribe(channel)
		for _, name := range []string{"a", "b"} { // over the old connection, and over a new one
			v := r.ask(acquire(name, "me"), window(guarded)).result()
			assert.Equal(t, wire.Unknown, v.Verdict)
			assert.InDelta(t, guarded, windowLeft(t, v), float64(20*time.Millisecond))
		}
		l.stop()
		time.Sleep(guarded + time.Second)
		assert.Equal(t, wire.Granted, r.ask(acquire("c", "me"), window(guarded)).result().Verdict)
		assert.Empty(t, r.reported)
	})
}

func TestSeveralRealServersBehindOneURL(t *testing.T) {
	t.Parallel()
	servers := redisproc.ForTest(t, 2)
	var turn atomic.Int64
	var moved atomic.Bool // the address leads to the second one only
	addr := testnet.Serve(t, func(client net.Conn) {
		to := servers[turn.Add(1)%2]
		if moved.Load() {
			to = servers[1]
		}
		testnet.ForwardTo(to.Addr(), client)
	})
	r := newRealRig(t, "redis://"+addr)
	several := func(v wire.Vote) bool { return v.Err != nil && !v.Answered() && v.Server != nil || v.Unsent }
	require.Eventually(t, func() bool { return several(r.acquireNew()) }, time.Minute, time.Millisecond)
	assertSeveral(t, r.acquireNew())

	moved.Store(true)
	granted := func() bool { return r.acquireNew().Verdict == wire.Granted } // after three checks that agree
	require.Eventually(t, granted, time.Minute, 10*time.Millisecond)

	// The only server restarts.
	for range 3 {
		require.NoError(t, servers[1].Start(t.Context()))
		require.Eventually(t, func() bool {
			v := r.acquireNew()
			require.NotErrorAs(t, v.Err, new(*node.SeveralServersError))
			return v.Verdict == wire.Granted
		}, time.Minute, 10*time.Millisecond)
	}
}

// leastConnections is a load balancer that leads each connection to the server that has the fewest.
type leastConnections struct {
	world *simnet.Net

	mu   sync.Mutex
	open [2]int
	turn int
}

func (b *leastConnections) Dial(ctx context.Context, network, _ string) (net.Conn, error) {
	i := b.choose()
	c, err := b.world.Dial(ctx, network, b.world.Addr(i))
	if err != nil {
		b.ended(i)
		return nil, err
	}
	return &countedConn{c.(socket), sync.OnceFunc(func() { b.ended(i) })}, nil
}

func (b *leastConnections) choose() (server int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.open[1] < b.open[0]:
		server = 1
	case b.open[0] == b.open[1]:
		b.turn++
		server = b.turn % 2
	}
	b.open[server]++
	return server
}

func (b *leastConnections) ended(server int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[server]--
}

// countedConn is a connection that reports its end.
type countedConn struct {
	socket
	ended func()
}

// socket is a connection of package simnet.
type socket interface {
	net.Conn
	Readable() bool
	SetLinger(seconds int) error
}

func (c *countedConn) Close() error {
	c.ended()
	return c.socket.Close()
}

// The pipe's connection counts for its server, so every connection of a check could reach the other one.
func TestALoadBalancerThatPrefersTheFewestConnections(t *testing.T) {
	inEmptyBubbles(t, named(1, 2, 3, 4), func(t *testing.T, clients int) {
		w := simnet.New(t, 1, 2)
		for _, m := range w.Masters() {
			m.Delay(time.Millisecond, time.Millisecond)
		}
		b := &leastConnections{world: w}
		rigs := make([]*rig, clients)
		for i := range rigs {
			rigs[i] = newRig(t, w, "redis://"+balancer, node.WithDialer(b.Dial))
		}
		for i := range 500 {
			granted := 0
			for c, r := range rigs {
				if r.ask(acquire(token(i), fmt.Sprint("client ", c))).result().Verdict == wire.Granted {
					granted++
				}
			}
			require.LessOrEqual(t, granted, 1, "attempt %d", i)
			time.Sleep(50 * time.Millisecond)
		}
	})
}

// A connection that is tried while the pipe's own is silent, and is not used, hides no server.
func TestAnUnusedSpareHidesNoServer(t *testing.T) {
	inPair(t, func(t *testing.T, r *rig) {
		r.world.Alias(balancer, 0)
		r.warm()
		r.m.Freeze()
		r.world.Alias(balancer, 1)
		r.ask(acquire("x", "me")).result()
		r.eventually(time.Second, "a spare", func() bool { return r.world.Master(1).ConnsEver() > 0 })
		time.Sleep(20 * time.Millisecond)
		r.m.Thaw()
		time.Sleep(300 * time.Millisecond)
		l := r.listen(channel)
		defer l.stop()
		r.eventually(2*time.Second, "a subscription", func() bool { return l.notified.Load() >= 1 })
		for i := range 100 {
			v := r.ask(acquire(token(i), "me")).result()
			assert.False(t, v.Verdict == wire.Granted && v.RunID() == r.world.Master(0).RunID(), "attempt %d", i)
			time.Sleep(100 * time.Millisecond)
		}
	})
}

// Once a check has reached one server, the next ones do not wait for requests.
func TestChecksGoOnWithoutRequests(t *testing.T) {
	inPair(t, func(t *testing.T, r *rig) {
		r.world.Alias(balancer, 0)
		r.warm()
		r.world.Alias(balancer, 1)
		l := r.subscribe(channel)
		l.stop()
		assertSeveral(t, r.ask(acquire("a", "me")).result())
		r.m.Crash()
		time.Sleep(time.Minute)
		r.ask(acquire("b", "me")).result() // begins a check
		time.Sleep(time.Minute)
		assert.Equal(t, wire.Granted, r.ask(acquire("c", "me")).result().Verdict)
	})
}
