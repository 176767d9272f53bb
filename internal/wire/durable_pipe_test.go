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
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/wire"
)

// expiresAfter adjusts a release whose key is known to expire.
func expiresAfter(d time.Duration) func(*wire.Call) {
	return func(c *wire.Call) {
		durably(c)
		c.HasKeys, c.KeyTTL = true, d
	}
}

// replying returns a fault: the master replies to commands with an error.
func replying(msg string, cmds ...string) func(r *rig) {
	return func(r *rig) { r.m.Reply(msg, cmds...) }
}

func TestAReleaseIsRepeatedUntilTheMasterIsBack(t *testing.T) {
	type tc struct {
		begin, end func(r *rig)
	}
	recovers := func(r *rig) { r.m.Recover() }
	faults := map[string]tc{
		"frozen":     {func(r *rig) { r.m.Freeze() }, func(r *rig) { r.m.Thaw() }},
		"cut off":    {func(r *rig) { r.m.BlackHole() }, func(r *rig) { r.m.Link.Heal() }},
		"stopped":    {func(r *rig) { r.m.Stop() }, func(r *rig) { r.m.Restart() }},
		"refusing":   {func(r *rig) { r.m.Refuse(); r.m.Reset() }, func(r *rig) { r.m.Accept() }},
		"loading":    {replying("LOADING Redis is loading the dataset in memory"), recovers},
		"a replica":  {replying("READONLY You can't write against a read only replica.", "EVALSHA", "SET"), recovers},
		"in trouble": {replying("OOM command not allowed when used memory > 'maxmemory'.", "DEL"), recovers},
		"busy": {
			replying("BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."), recovers,
		},
	}
	for _, lasting := range []time.Duration{
		50 * time.Millisecond, 700 * time.Millisecond, 8 * time.Second, 20 * time.Second,
	} {
		t.Run(lasting.String(), func(t *testing.T) {
			inBubbles(t, faults, func(t *testing.T, r *rig, fault tc) {
				r.warm()
				require.Equal(t, wire.Granted, r.ask(acquire("a", "me")).result().Verdict)
				fault.begin(r)
				rel := r.ask(release("a", "me"), durably)
				time.Sleep(lasting)
				assert.NotEmpty(t, r.m.Keys(), "the fault is reported once")
				fault.end(r)
				r.eventually(1100*time.Millisecond, "the release got through", r.gone)
				rel.result()
				requireGranted(t, r.ask(echo()))
				began := time.Now()
				assert.Zero(t, r.node.Close(began.Add(time.Minute)), "every release is confirmed")
				assert.Less(t, time.Since(began), lasting+2*time.Second)
			})
		})
	}
}

// firstAsked sets when the first operation that a release undoes was asked.
func firstAsked(at time.Time) func(*wire.Call) {
	return func(c *wire.Call) { c.FirstAsked = at }
}

func withKeyTTL(d time.Duration) func(*wire.Call) {
	return func(c *wire.Call) { c.KeyTTL = d }
}

// A proxy delivers a request no later after the healing than the outage lasted. The acquire is undone within the time
// by which it was late. The TTL is an hour, so no key expires.
func TestAnAcquireThatAProxyDeliversLateIsUndone(t *testing.T) {
	inBubbles(t, named(
		700*time.Millisecond, time.Second, 1500*time.Millisecond, 3500*time.Millisecond, 7*time.Second,
		13*time.Second, 26*time.Second,
	), func(t *testing.T, r *rig, lasting time.Duration) {
		r.m.Proxy()
		r.warm()
		r.m.BlackHole()
		a := r.ask(wire.Command("acquire", nil, "set", "a", "me", "nx", "px", time.Hour.Milliseconds()))
		require.Equal(t, wire.Unknown, a.result().Verdict)
		r.ask(release("a", "me"), durably, withKeyTTL(time.Hour), firstAsked(a.call.Asked))
		time.Sleep(lasting - timeout)
		r.m.Link.Heal()
		healed := time.Now()

		time.Sleep(5 * time.Minute)
		synctest.Wait()
		all := r.executed()
		require.NotEmpty(t, all)
		require.Equal(t, "evalsha", all[0].Args[0], "the release came first")
		var came, gone time.Time // the acquire
		for _, e := range all {
			switch {
			case e.Args[0] == "set":
				require.Equal(t, "+OK\r\n", e.Reply)
				require.Zero(t, came, "a second time")
				came = e.At
			case e.Reply == ":1\r\n":
				gone = e.At
			}
		}
		require.NotZero(t, came, "the control: there was an acquire to undo")
		require.NotZero(t, gone, "it was never taken back")
		late := came.Sub(healed)
		assert.Greater(t, late, lasting/3, "it arrived late")
		assert.LessOrEqual(t, gone.Sub(came), max(late, 500*time.Millisecond))

		last := all[len(all)-1].At
		assert.LessOrEqual(t, last.Sub(healed), lasting+4*time.Second, "no repetition follows")
		assert.LessOrEqual(t, len(all), 9, "at doubling ages")
		assert.Zero(t, r.node.Close(time.Now()))
	})
}

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
