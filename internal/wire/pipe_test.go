package wire_test

import (
	"context"
	"fmt"
	"net"
	"slices"
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

func TestANodeIsBoundOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		require.ErrorIs(t, r.node.Bind(r.group.Go, func(error) {}), node.ErrBound)
	})
}

const (
	// far is a round trip on which batches overlap.
	far = 80 * time.Millisecond
	gap = far / 8
)

// times returns when batches arrived, counted from the first.
func (r *rig) times() (all []time.Duration) {
	var first, last time.Time
	for _, e := range r.executed() {
		if first.IsZero() {
			first = e.At
		}
		if !e.At.Equal(last) {
			all = append(all, e.At.Sub(first))
		}
		last = e.At
	}
	return all
}

// acquireMany acquires n names, with a pause after each.
func (r *rig) acquireMany(n int, pause time.Duration) (all []*ticket) {
	r.t.Helper()
	for i := range n {
		all = append(all, r.ask(acquire(fmt.Sprint("name-", i), token(i)), within(time.Second)))
		time.Sleep(pause)
	}
	return all
}

func TestBatchesToAFarMasterAreSpaced(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.warmAt(far)
		for _, tk := range r.acquireMany(200, far/200) {
			v := tk.result()
			require.Equal(t, wire.Granted, v.Verdict)
			assert.LessOrEqual(t, v.Took, far+gap, "it waits for the next batch, not for a reply")
		}
		var want []time.Duration
		for i := range 9 {
			want = append(want, time.Duration(i)*gap)
		}
		assert.Equal(t, want, r.times())
		assert.Equal(t, 1+comparing, r.m.ConnsEver())
	})
}

// lateConn returns late from Write, and notices concurrent writes over one connection.
type lateConn struct {
	net.Conn
	late          *atomic.Bool
	writing, both *atomic.Int32
}

func (c lateConn) Write(b []byte) (int, error) {
	if c.writing.Add(1) > 1 {
		c.both.Add(1)
	}
	defer c.writing.Add(-1)
	n, err := c.Conn.Write(b)
	if c.late.Swap(false) {
		time.Sleep(2 * far)
	}
	return n, err
}

// A goroutine may return from writing a batch after all replies have arrived.
func TestTwoNeverWriteAtOnce(t *testing.T) {
	var late atomic.Bool
	var both atomic.Int32
	over := func(dial node.Dialer) node.Dialer {
		return func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dial(ctx, network, addr)
			return lateConn{c, &late, new(atomic.Int32), &both}, err
		}
	}
	inBubbleOver(t, over, func(t *testing.T, r *rig) {
		r.warmAt(far)
		first := r.ask(acquire("a", "1"), within(time.Second))
		time.Sleep(gap)
		late.Store(true)
		second := r.ask(acquire("b", "2"), within(time.Second)) // is sent while the first is outstanding
		time.Sleep(gap)
		require.False(t, late.Load())
		third := r.ask(acquire("c", "3"), within(time.Second))
		requireGranted(t, first, second, third)
		assert.Zero(t, both.Load())
	})
}
