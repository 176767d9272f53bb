package wire_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

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
		v := r.ask(acquire("b", "me"), within(2*time.Second)).result()
		assert.Equal(t, wire.Granted, v.Verdict, "%v", v.Err)
	})
}

// The timeout is four times as long as the last attempt took that succeeded.
func TestAMasterThatGetsFartherAwayIsReached(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.m.Delay(150*time.Millisecond, 0) // 0.6 s
		require.Equal(t, wire.Granted, r.ask(acquire("a", "me"), within(time.Second)).result().Verdict)
		r.m.Reset()
		time.Sleep(2 * time.Second)        // so that the next call finds the end of the connection
		r.m.Delay(450*time.Millisecond, 0) // 1.8 s
		v := r.ask(acquire("b", "me"), within(10*time.Second)).result()
		assert.Equal(t, wire.Granted, v.Verdict, "%v", v.Err)
	})
}

// The timeouts of the URL do not end a connection.
func TestTheTimeoutsOfTheURLAreNotUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := simnet.New(t, 1, 1)
		r := newRig(t, w, w.Master(0).URL()+"?read_timeout=1ms&write_timeout=1ms", node.WithDialer(w.Dial))
		r.m.Delay(10*time.Millisecond, 0)
		v := r.ask(acquire("a", "me")).result()
		assert.Equal(t, wire.Granted, v.Verdict, "%v", v.Err)
		l := r.listen(channel)
		r.eventually(timeout, "the subscription begins", func() bool { return l.notified.Load() == 1 })
	})
}
