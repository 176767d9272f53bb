package wire_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

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
	return &countedConn{Conn: c, ended: sync.OnceFunc(func() { b.ended(i) })}, nil
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

type countedConn struct {
	net.Conn
	ended func()
}

func (c *countedConn) Close() error {
	c.ended()
	return c.Conn.Close()
}

func (c *countedConn) Readable() bool { return c.Conn.(interface{ Readable() bool }).Readable() }

func (c *countedConn) SetLinger(seconds int) error {
	return c.Conn.(interface{ SetLinger(seconds int) error }).SetLinger(seconds)
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
