package wire_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

func TestCloseIsBoundedUnderEveryFault(t *testing.T) {
	t.Parallel()
	const bound = 700 * time.Millisecond
	for name, fault := range map[string]func(r *rig){
		"frozen":   func(r *rig) { r.m.Freeze() },
		"cut off":  func(r *rig) { r.m.BlackHole() },
		"refusing": func(r *rig) { r.m.Refuse(); r.m.Reset() },
		"crashed":  func(r *rig) { r.m.Crash() },
		"readonly": replying("READONLY You can't write against a read only replica.", "EVALSHA"),
	} {
		for phase, since := range map[string]time.Duration{
			"at once": 0, "while a spare is tried": 130 * time.Millisecond, "later": 5 * time.Second,
		} {
			for warm, prepare := range map[string]func(r *rig){"connected": (*rig).warm, "not connected": func(*rig) {}} {
				t.Run(name+" "+phase+" "+warm, func(t *testing.T) {
					inBubble(t, func(t *testing.T, r *rig) {
						prepare(r)
						fault(r)
						r.node.Listen("channel", func(string) {})
						r.ask(acquire("a", "me"))
						r.ask(acquire("b", "me"), within(time.Hour))
						r.ask(release("a", "me"), durably)
						r.ask(release("b", "me"), durably, within(time.Hour))
						time.Sleep(since)
						began := time.Now()
						unconfirmed := r.node.Close(began.Add(bound))
						assert.LessOrEqual(t, time.Since(began), bound)
						assert.Equal(t, 2, unconfirmed)
						for _, tk := range r.asked {
							assert.True(t, tk.voted(), "call %d", tk.call.Index)
						}
						require.NoError(t, r.group.Wait())
						assert.LessOrEqual(t, time.Since(began), bound+100*time.Millisecond, "the goroutines end, too")
						synctest.Wait()
						assert.Zero(t, r.world.Open(), "connections")
						assert.Zero(t, r.node.Close(began), "a second time")
						r.m.Restart() // inBubble expects a running master
					})
				})
			}
		}
	}
}

func TestCloseWaitsForOpenCalls(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.warmAt(trip)
		a := r.ask(acquire("a", "me"))
		synctest.Wait()
		b := r.ask(release("a", "me"), durably)
		c := r.ask(acquire("c", "me"))
		began := time.Now()
		assert.Zero(t, r.node.Close(began.Add(time.Minute)))
		assert.Equal(t, 2*trip, time.Since(began), "one batch on the wire, and the next one")
		requireGranted(t, a, b, c)
	})
}

// The driver of a suspect master rests between two tries.
func TestCloseWaitsForAReleaseThatIsQueuedForASuspectMaster(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.m.Set("a", "me", ttl)
		r.m.Refuse()
		r.ask(release("a", "me"), durably).result()
		time.AfterFunc(time.Second, r.m.Accept)
		assert.Zero(t, r.node.Close(time.Now().Add(time.Minute)))
		assert.True(t, r.gone())
	})
}

func TestCloseWaitsForTheRepetitionOfARelease(t *testing.T) {
	inHole(t, func(t *testing.T, r *rig) {
		r.warm()
		old := r.first()
		old.hold(200 * time.Millisecond)
		r.ask(acquire("a", "me")).result()
		r.ask(release("a", "me"), durably).result()
		assert.Zero(t, r.node.Close(time.Now().Add(time.Minute)))
		select {
		case <-old.delivered:
		default:
			assert.Fail(t, "the late acquire arrived after Close")
		}
		assert.True(t, r.gone())
	})
}

func TestCloseOfAnIdleNodeIsImmediate(t *testing.T) {
	inBubbles(t, map[string]func(r *rig){
		"never used": func(*rig) {},
		"used":       (*rig).warm,
		"suspect": func(r *rig) {
			r.m.Refuse()
			r.ask(acquire("a", "me")).result()
		},
		"with a listener": func(r *rig) { r.subscribe(channel) },
	}, func(t *testing.T, r *rig, prepare func(r *rig)) {
		prepare(r)
		began := time.Now()
		assert.Zero(t, r.node.Close(began.Add(time.Minute)))
		require.NoError(t, r.group.Wait())
		assert.Zero(t, time.Since(began))
		synctest.Wait()
		assert.Zero(t, r.world.Open())
	})
}

func TestAClosedNodeAcceptsNoCall(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.warm()
		requireGranted(t, r.ask(acquire("b", "me")))
		assert.Equal(t, wire.Denied, r.ask(acquire("b", "another")).result().Verdict)
		r.node.Close(time.Now().Add(time.Second))
		for _, tk := range []*ticket{r.ask(acquire("a", "me")), r.ask(release("a", "me"), durably)} {
			assertUnsent(t, tk.result(), node.ErrClosed)
		}
		s := r.node.Stats()
		assert.Equal(t, [...]int64{wire.Failed: 2, wire.Denied: 1, wire.Granted: 3}, s.Votes, "two of warm, and these")
		assert.EqualValues(t, 4, s.Latency.Count())
		stop := r.node.Listen("channel", func(string) { t.Error("notified") })
		time.Sleep(time.Second)
		stop()
		assert.Equal(t, []string{"b"}, r.m.Keys(), "not a")
		assert.Equal(t, 1+comparing, r.m.ConnsEver())
	})
}

func TestAClosedNodeStartsNoGoroutine(t *testing.T) {
	t.Parallel()
	of, err := node.Open("redis://10.0.0.1:6379")
	require.NoError(t, err)
	n := wire.New(of)
	require.NoError(t, n.Bind(func(func() error) { t.Error("a goroutine was started") }, func(error) {}))
	assert.Zero(t, n.Close(time.Now()))
	n.Listen("channel", func(string) {})()
}

func TestAClosingNodeAcceptsOnlyReleases(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.warmAt(trip)
		r.ask(acquire("a", "me"))
		synctest.Wait()
		var closing sync.WaitGroup
		closing.Go(func() { assert.Zero(t, r.node.Close(time.Now().Add(time.Minute))) })
		synctest.Wait()
		assertUnsent(t, r.ask(acquire("b", "me")).result(), node.ErrClosed)
		assert.Equal(t, wire.Granted, r.ask(release("a", "me"), durably).result().Verdict)
		closing.Wait()
		assert.True(t, r.gone())
	})
}

// Callers do not know that the node is closing. Each call gets its vote, and Close and the group return.
func TestConcurrentCallersAndClose(t *testing.T) {
	inBubbles(t, named(
		0, time.Millisecond, 3*time.Millisecond, 10*time.Millisecond,
	), func(t *testing.T, r *rig, after time.Duration) {
		r.m.Delay(time.Millisecond, 0)
		var callers sync.WaitGroup
		for i := range 16 {
			callers.Go(func() {
				for j := range 50 {
					stop := r.node.Listen(token(i), func(string) {})
					r.ask(acquire(token(i), token(j)), within(20*time.Millisecond)).result()
					r.ask(release(token(i), token(j)), durably, within(20*time.Millisecond)).result()
					stop()
				}
			})
		}
		time.Sleep(after)
		began := time.Now()
		r.node.Close(began.Add(time.Second))
		require.NoError(t, r.group.Wait())
		assert.Less(t, time.Since(began), 1200*time.Millisecond)
		callers.Wait()
	})
}
