package wire_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

// hangUpAt makes the master hang up at every release of the names. came returns how many releases of a name arrived.
func (r *rig) hangUpAt(names ...string) (came func(name string) int) {
	var mu sync.Mutex
	count := make(map[string]int)
	r.m.HangUp(func(args []string) bool {
		if args[0] != "evalsha" && args[0] != "eval" || len(args) < 4 {
			return false
		}
		mu.Lock()
		defer mu.Unlock()
		count[args[3]]++
		return slices.Contains(names, args[3])
	})
	return func(name string) int {
		mu.Lock()
		defer mu.Unlock()
		return count[name]
	}
}

// A release at which the server hangs up is repeated until its key has expired. It breaks the connection of other calls
// only once.
func TestAReleaseThatBreaksItsConnectionAffectsOtherCallsOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.warm()
		came := r.hangUpAt("poison")
		const lasting = 10 * time.Second
		r.ask(release("poison", "me"), expiresAfter(lasting))
		asked, failed := 0, 0
		for end := time.Now().Add(2 * lasting); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			asked++
			if v := r.ask(acquire(token(asked), "me")).result(); v.Verdict != wire.Granted {
				failed++
			}
		}
		assert.LessOrEqual(t, failed, 1, "of %d acquires of other names", asked)
		tries := came("poison")
		assert.Greater(t, tries, 3, "it is repeated")
		assert.Less(t, tries, 15, "with backoff")
		time.Sleep(time.Minute)
		assert.Equal(t, tries, came("poison"), "it is given up when its key has expired")
		assert.Empty(t, r.healthReports(), "the master is well")
		began := time.Now()
		assert.Zero(t, r.node.Close(began.Add(time.Minute)))
		assert.Zero(t, time.Since(began), "nothing waits")
	})
}

// Healthy releases in the batch of a poisonous one do not wait for it, at any position in the batch.
func TestAReleaseThatBreaksItsConnectionDoesNotDelayOthers(t *testing.T) {
	const n = 500
	inBubbles(t, named(0, 1, n/2, n-1), func(t *testing.T, r *rig, at int) {
		r.warmAt(trip)
		r.hangUpAt("poison")
		dials := r.m.Dials()
		r.occupy()
		var all []*ticket
		for i := range n {
			name := fmt.Sprint("name-", i)
			if i == at {
				name = "poison"
			}
			r.m.Set(name, "me", ttl)
			all = append(all, r.ask(release(name, "me"), expiresAfter(ttl), within(20*trip)))
		}
		for i, tk := range all {
			if i == at {
				assert.Equal(t, wire.Unknown, tk.result().Verdict)
			} else {
				require.Equal(t, wire.Granted, tk.result().Verdict, "release %d", i)
			}
		}
		assert.LessOrEqual(t, r.m.Dials()-dials, 8)
		assert.Equal(t, []string{"poison"}, r.m.Keys())
	})
}

// The node tries one release at a time, no matter at how many the server hangs up.
func TestReleasesThatBreakConnectionsShareOneConnection(t *testing.T) {
	const n = 50
	var names []string
	for i := range n {
		names = append(names, fmt.Sprint("poison-", i))
	}
	inBubble(t, func(t *testing.T, r *rig) {
		r.warm()
		r.hangUpAt(names...)
		for _, name := range names {
			r.ask(release(name, "me"), expiresAfter(20*time.Second))
		}
		time.Sleep(10 * time.Second)
		require.Equal(t, wire.Granted, r.ask(acquire("a", "me")).result().Verdict)
		before := r.m.Dials()
		time.Sleep(5 * time.Second)
		assert.LessOrEqual(t, r.m.Dials()-before, n, "connections in five seconds")
		require.Equal(t, wire.Granted, r.ask(acquire("b", "me")).result().Verdict)
		assert.LessOrEqual(t, r.m.Conns(), 2)
		r.m.Set("healthy", "me", ttl)
		rel := r.ask(release("healthy", "me"), expiresAfter(20*time.Second))
		assert.Equal(t, wire.Granted, rel.result().Verdict)
	})
}

// A proxy that hangs up at every script gets a few connections per second, however many releases wait, and all releases
// soon after it has ceased to.
func TestAProxyThatHangsUpAtEveryReleaseGetsFewConnections(t *testing.T) {
	const n = 4000
	inBubble(t, func(t *testing.T, r *rig) {
		r.warmAt(trip)
		r.m.HangUp(func(args []string) bool { return args[0] == "evalsha" })
		for i := range n {
			r.m.Set(token(i), "me", time.Hour)
			r.ask(release(token(i), "me"), expiresAfter(time.Hour))
		}
		dials := r.m.Dials()
		time.Sleep(20 * time.Second)
		assert.LessOrEqual(t, r.m.Dials()-dials, 60)
		require.Len(t, r.m.Keys(), n)
		r.m.HangUp(func([]string) bool { return false })
		r.eventually(3*time.Second, "the releases got through", r.gone)
		assert.Zero(t, r.node.Close(time.Now().Add(time.Minute)))
	})
}

// A release whose key may not exist is not repeated without end: the server is up, so the TTL of the key is running.
func TestAReleaseOfAnUnknownAcquireThatBreaksItsConnectionIsGivenUp(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.warm()
		came := r.hangUpAt("poison")
		r.ask(release("poison", "me"), durably)
		time.Sleep(2*time.Minute + time.Second + ttl)
		tries := came("poison")
		assert.Greater(t, tries, 10)
		time.Sleep(time.Hour)
		assert.LessOrEqual(t, came("poison")-tries, 2)
	})
}

// A connection that dies during a healthy release was not broken by it. The calls in flight recover at once, over one
// more connection.
func TestReleasesRecoverAtOnceFromALostConnection(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.warmAt(trip)
		const n = 500
		for i := range n {
			r.m.Set(token(i), "me", ttl)
		}
		r.occupy()
		var all []*ticket
		for i := range n {
			all = append(all, r.ask(release(token(i), "me"), expiresAfter(ttl), within(time.Second)))
		}
		time.Sleep(trip + trip/4)
		dials := r.m.Dials()
		r.m.Reset()
		began := time.Now()
		requireGranted(t, all...)
		assert.Less(t, time.Since(began), 6*trip)
		assert.LessOrEqual(t, r.m.Dials()-dials, 2)
		assert.True(t, r.gone())
	})
}

// Releases that wait for a frozen master make one connection attempt at a time, and are executed as soon as it thaws.
func TestReleasesOfAFrozenMasterDoNotMultiplyConnections(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.warm()
		const n = 100
		for i := range n {
			require.Equal(t, wire.Granted, r.ask(acquire(token(i), "me")).result().Verdict)
		}
		r.m.Freeze()
		for i := range n {
			r.ask(release(token(i), "me"), durably)
		}
		time.Sleep(timeout)
		r.m.Reset()
		const lasting = 20 * time.Second
		time.Sleep(lasting)
		assert.LessOrEqual(t, r.m.Dials(), int(3*lasting/time.Second))
		r.m.Thaw()
		r.eventually(2*time.Second, "the releases got through", r.gone)
		assert.Zero(t, r.node.Close(time.Now().Add(time.Minute)))
	})
}

// hangUp is a connection whose peer hangs up at a release of "poison". The bytes do not reach it.
type hangUp struct{ net.Conn }

func (h hangUp) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("poison")) && bytes.Contains(p, []byte("eval")) {
		_ = h.Conn.Close()
		return 0, net.ErrClosed
	}
	return h.Conn.Write(p)
}

func hangUpAtPoison(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := tcp(ctx, network, addr)
	return hangUp{conn}, err
}

// A real server refuses requests with an argument above proto-max-bulk-len, and hangs up. The SET of a name of that
// length passes, its release, with a channel that is longer than the name, does not.
func TestAReleaseThatARealServerHangsUpAt(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	r, _, c := realRig(t, "--proto-max-bulk-len", fmt.Sprint(limit))
	breakOnce(t, r, c, strings.Repeat("n", limit))
}

// A proxy hangs up at the release of one name.
func TestAReleaseThatAProxyHangsUpAt(t *testing.T) {
	t.Parallel()
	s := redisproc.ForTest(t, 1)[0]
	breakOnce(t, newRealRig(t, s.URL(), node.WithDialer(hangUpAtPoison)), client(t, s), "poison")
}

// The same over a wrapped client, which does not report where in a batch its connection broke.
func TestAReleaseThatAProxyHangsUpAtOverAWrappedClient(t *testing.T) {
	t.Parallel()
	s := redisproc.ForTest(t, 1)[0]
	wrapped := redis.NewClient(&redis.Options{
		Addr: s.Addr(), MaxRetries: -1, PipelinePoolSize: -1, Dialer: hangUpAtPoison,
	})
	breakOnce(t, newWrappedRig(t, wrapped), client(t, s), "poison")
}

// breakOnce releases a name at whose release the server hangs up, among callers of other names, and counts their failed
// calls.
func breakOnce(t *testing.T, r *rig, c *redis.Client, poison string) {
	t.Helper()
	began := time.Now()
	require.Equal(t, wire.Granted, r.ask(acquire(poison, "me"), within(patient)).result().Verdict)
	const callers, lasting = 4, 3 * time.Second
	counts := make([][2]int, callers)
	var all sync.WaitGroup
	end := time.Now().Add(lasting)
	for i := range callers {
		all.Go(func() {
			for j := 0; time.Now().Before(end); j++ {
				name := fmt.Sprintf("%d/%d", i, j)
				a := r.ask(acquire(name, "me"), within(patient))
				v := a.result()
				counts[i][0]++
				if v.Verdict != wire.Granted {
					counts[i][1]++
				}
				r.ask(release(name, "me"), expiresAfter(ttl), firstAsked(a.call.Asked), within(patient)).result()
			}
		})
	}
	time.Sleep(lasting / 10)
	r.ask(
		releaseScript.Op("release", nil, []string{poison}, "me", "redlock:"+poison), expiresAfter(ttl), firstAsked(began),
	)
	all.Wait()
	asked, failed := 0, 0
	for _, n := range counts {
		asked, failed = asked+n[0], failed+n[1]
	}
	t.Logf("%d of %d acquires of other names failed", failed, asked)
	assert.Greater(t, asked, 100)
	assert.LessOrEqual(t, failed, 3*callers, "of %d acquires of other names", asked)
	time.Sleep(2 * time.Second) // until nothing can arrive late
	keys := c.Keys(t.Context(), "*").Val()
	assert.Equal(t, []string{poison}, keys, "nothing else is left")
	assert.Equal(t, 1, r.node.Close(clock.System.Now()), "it is not confirmed")
}
