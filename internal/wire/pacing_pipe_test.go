package wire_test

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

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

func TestACallToAFarMasterIsSentAtOnceAfterAGap(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.warmAt(far)
		first := r.ask(acquire("b", token(0)))
		time.Sleep(gap)
		assert.Equal(t, far, r.ask(acquire("c", token(0))).result().Took)
		assert.Equal(t, far, first.result().Took)
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

// The network path may become longer. An old round trip does not count then.
func TestAMasterThatBecomesFarGetsSpacedBatches(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.warm()
		r.m.Delay(far/2, 0)
		together := func() (slowest time.Duration) {
			for _, tk := range r.acquireMany(16, gap/2) {
				slowest = max(slowest, tk.result().Took)
			}
			return slowest
		}
		assert.Greater(t, together(), far+gap, "the old round trip still counts")
		for range 3 {
			time.Sleep(10 * time.Second)
			r.ask(acquire("now and then", "x")).result()
		}
		assert.LessOrEqual(t, together(), far+gap)
	})
}

// More batches would only fill its socket buffer.
func TestNoMoreBatchesGoToASilentFarMaster(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.warmAt(far)
		r.m.Freeze()
		for _, tk := range r.acquireMany(100, far/20) {
			assert.NotEqual(t, wire.Granted, tk.result().Verdict)
			if tk.vote.Verdict == wire.Unknown {
				n := int(tk.call.Index) - 2
				r.ask(release(fmt.Sprint("name-", n), token(n)), durably)
			}
		}
		r.m.Thaw()
		r.eventually(time.Second, "nothing is left", func() bool { return len(r.executed()) > 0 && r.gone() })
		assert.Less(t, r.m.Count("SET"), 60, "the batches of two round trips, and the first")
	})
}

func TestOverlappingBatchesAreUnknownWhenTheConnectionBreaks(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.warmAt(far)
		all := r.acquireMany(8, gap)
		rel := r.ask(release("name-0", token(0)), durably, within(10*time.Second))
		time.Sleep(gap / 2)
		r.m.Crash()
		assertUnknown(t, all[5:]...) // the earlier ones have reached the master
		r.m.Restart()
		assert.True(t, rel.result().Answered())
	})
}
