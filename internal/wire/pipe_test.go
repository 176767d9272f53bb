package wire_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

// trip is a round trip so short that one batch at a time is sent.
const trip = 4 * time.Millisecond

func TestALoneCallIsSentAtOnce(t *testing.T) {
	inBubbles(t, named(trip, far), func(t *testing.T, r *rig, trip time.Duration) {
		r.warmAt(trip)
		for i := range 3 {
			v := r.ask(acquire("a", token(i))).result()
			assert.Equal(t, trip, v.Took, "call %d", i)
			time.Sleep(time.Duration(i) * time.Second)
		}
		assert.Equal(t, []int{1, 1, 1}, r.batches())
		assert.Equal(t, 1+comparing, r.m.ConnsEver())
	})
}

func TestCallsGatherWhileABatchIsOnTheWire(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.warmAt(trip)
		first := r.ask(acquire("first", token(0)))
		synctest.Wait()
		rest := r.acquireMany(50, trip/100)
		began := first.call.Asked
		assert.Equal(t, trip, first.result().Took)
		for _, tk := range rest {
			assert.Equal(t, wire.Granted, tk.result().Verdict)
			assert.Equal(t, 2*trip, tk.at.Sub(began), "one round trip after the first")
		}
		assert.Equal(t, []int{1, 50}, r.batches())
	})
}

func TestCallsAreExecutedInTheOrderOfTheirSubmission(t *testing.T) {
	type tc struct {
		trip, jitter time.Duration
		rounds       int // between two pauses
		pause        time.Duration
		batches      int // there are more
	}
	inBubbles(t, map[string]tc{
		"one batch at a time":  {trip, 3 * time.Millisecond, 41, 7 * time.Millisecond, 5},
		"batches that overlap": {far, 5 * time.Millisecond, 1, 900 * time.Microsecond, 20},
	}, func(t *testing.T, r *rig, c tc) {
		r.m.Delay(c.trip/2, c.jitter)
		r.warm()
		learned := r.ask(extend("a", "x"), within(time.Second)) // the master learns the scripts
		require.Equal(t, wire.Denied, learned.result().Verdict)
		requireGranted(t, r.ask(release("a", "x"), within(time.Second)))
		before := len(r.executed())
		var want []string
		var all []*ticket
		for i := range 500 {
			// All calls are about one name, so that a release that overtakes its acquire, or the reverse, is visible.
			for _, op := range []*wire.Op{acquire("a", token(i)), extend("a", token(i)), release("a", token(i))} {
				all = append(all, r.ask(op, within(time.Minute)))
				want = append(want, op.Name+" "+token(i))
			}
			if i%c.rounds == 0 {
				time.Sleep(c.pause)
			}
		}
		requireGranted(t, all...)
		assert.Greater(t, len(r.batches()), c.batches)
		var got []string
		for _, e := range r.executed()[before:] {
			if e.Args[0] == "set" {
				got = append(got, "acquire "+e.Args[2])
			} else if len(e.Args) == 6 {
				got = append(got, "extend "+e.Args[4])
			} else {
				got = append(got, "release "+e.Args[4])
			}
		}
		assert.Equal(t, want, got)
		assert.True(t, r.gone())
	})
}

// The frozen master has the acquire in its buffer. So the release is not given up after the TTL either.
func TestAReleaseFollowsAnAcquireWhoseVoteTimedOut(t *testing.T) {
	type tc struct{ frozen, undoneWithin time.Duration }
	inBubbles(t, map[string]tc{
		"the connection remains": {20 * time.Second, 0}, // at the moment of the acquire's reply
		"the connection is lost": {2 * time.Minute, time.Second},
		"for long":               {10 * time.Minute, time.Second},
	}, func(t *testing.T, r *rig, c tc) {
		r.warm()
		r.m.Freeze()
		v := r.ask(acquire("a", "me")).result()
		assert.Equal(t, wire.Unknown, v.Verdict)
		require.ErrorIs(t, v.Err, node.ErrTimeout)
		assert.Equal(t, timeout, v.Took)
		assert.Equal(t, wire.Unknown, r.ask(release("a", "me"), durably).result().Verdict)

		time.Sleep(c.frozen)
		assert.Empty(t, r.executed())
		r.m.Thaw()
		r.eventually(c.undoneWithin, "the late grant is undone", func() bool { return len(r.executed()) > 1 })
		assert.True(t, r.gone())
		got := r.executed()
		require.Len(t, got, 2)
		assert.Equal(t, "set", got[0].Args[0])
		assert.Equal(t, "+OK\r\n", got[0].Reply)
		assert.Equal(t, ":1\r\n", got[1].Reply)
		time.Sleep(1500 * time.Millisecond)
		assert.True(t, r.gone(), "the acquire did not arrive again")
	})
}

func TestACanceledCallIsNotSent(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.warmAt(trip)
		var canceled atomic.Bool
		onTheWire := r.ask(acquire("first", token(0)), canceledBy(&canceled))
		synctest.Wait()
		waits := r.ask(acquire("second", token(1)), canceledBy(&canceled))
		time.Sleep(trip / 4)
		canceled.Store(true)
		assert.Equal(t, wire.Granted, onTheWire.result().Verdict, "too late for this one")
		v := waits.result()
		assertUnsent(t, v, node.ErrDropped)
		assert.Equal(t, trip, v.Took, "when its turn came")
		time.Sleep(time.Second)
		assert.Equal(t, []string{"first"}, r.m.Keys())
		assert.Equal(t, []int{1}, r.batches())
	})
}

func TestACallThatExpiredInTheQueueIsNotSent(t *testing.T) {
	type tc struct {
		begin, end func(r *rig)
	}
	inBubbles(t, map[string]tc{
		"while connecting": {
			begin: func(r *rig) { r.m.BlackHole() },
			end:   func(r *rig) { r.m.Link.Heal() },
		},
		"while connecting to a frozen master": {
			begin: func(r *rig) { r.m.Freeze() },
			end:   func(r *rig) { r.m.Thaw() },
		},
		"behind a batch": {
			begin: func(r *rig) {
				r.warm()
				r.m.Delay(2*timeout, 0)
				r.ask(acquire("first", token(0)), within(time.Second))
				synctest.Wait()
			},
			end: func(*rig) {},
		},
	}, func(t *testing.T, r *rig, c tc) {
		c.begin(r)
		v := r.ask(acquire("late", token(1))).result()
		assertUnsent(t, v, node.ErrTimeout)
		assert.Equal(t, timeout, v.Took)
		c.end(r)
		r.eventually(5*time.Second, "the node works", func() bool {
			return r.ask(acquire("next", token(2)), within(time.Second)).result().Verdict.Answered()
		})
		assert.NotContains(t, r.m.Keys(), "late")
	})
}

func TestTheQueueAndABatchAreBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.warm()
		r.m.Delay(10*time.Second, 0)
		const room = 1 << 14
		var all []*ticket
		long := within(time.Hour)
		all = append(all, r.ask(acquire("first", token(0)), long))
		synctest.Wait()
		for range room {
			all = append(all, r.ask(count(), long))
		}
		v := r.ask(acquire("one more", "x"), long).result()
		assertUnsent(t, v, node.ErrBusy)
		assert.Zero(t, v.Took)
		rel := r.ask(release("first", token(0)), durably, long)
		assert.False(t, rel.voted(), "a release is always accepted")
		requireGranted(t, all...)
		assert.True(t, rel.result().Answered())
		assert.NotContains(t, r.m.Keys(), "one more")
		assert.Equal(t, 1024, slices.Max(r.batches()))
	})
}

func TestManyCallersAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.m.Delay(time.Millisecond, time.Millisecond)
		var callers sync.WaitGroup
		for i := range 64 {
			callers.Go(func() {
				name := fmt.Sprint("name-", i)
				for j := range 10 {
					assert.Equal(t, wire.Granted, r.ask(acquire(name, token(j))).result().Verdict)
					assert.Equal(t, wire.Denied, r.ask(acquire(name, "another")).result().Verdict)
					assert.Equal(t, wire.Granted, r.ask(release(name, token(j))).result().Verdict)
				}
			})
		}
		callers.Wait()
		assert.True(t, r.gone())
		assert.Less(t, len(r.batches()), 200, "1920 calls")
	})
}

func TestAFarMasterIsNotSuspectForQueueing(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		// It was near when its round trip was timed, so that one batch at a time is sent.
		r.warm()
		r.m.Delay(far/2, 0)
		first := r.ask(acquire("first", token(0)))
		time.Sleep(10 * time.Millisecond)
		second := r.ask(acquire("second", token(1)))
		assert.Equal(t, wire.Granted, first.result().Verdict)
		assert.Equal(t, wire.Unknown, second.result().Verdict, "it was sent when the first reply arrived, and is in flight")
		synctest.Wait()
		assert.False(t, r.node.Suspect())
		assert.Empty(t, r.healthReports())
	})
}

func TestANodeIsBoundOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		require.ErrorIs(t, r.node.Bind(r.group.Go, func(error) {}), node.ErrBound)
	})
}

// The timeout of a connection attempt grows until one succeeds, and the vote does not wait for it.
func TestAFarMasterIsReachedAfterTheVote(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.m.Delay(900*time.Millisecond, 0) // connect, handshake: 3.6 s, more than the first attempt may take
		for range 200 {
			v := r.ask(acquire("a", "me")).result()
			assert.Equal(t, wire.Failed, v.Verdict)
			assert.LessOrEqual(t, v.Took, timeout)
			if r.m.Count("INFO") > 2 {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(2 * time.Second)
		requireGranted(t, r.ask(acquire("b", "me"), within(2*time.Second)))
	})
}
