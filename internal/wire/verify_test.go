package wire_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

// opaque is the connection of a tunnel: its socket cannot be checked, and it supports no deadlines.
type opaque struct{ net.Conn }

var errNoDeadline = errors.New("deadlines are not supported")

func (opaque) SetDeadline(time.Time) error { return errNoDeadline }

func (opaque) SetReadDeadline(time.Time) error { return errNoDeadline }

func (opaque) SetWriteDeadline(time.Time) error { return errNoDeadline }

// tunnel dials connections that are opaque.
func tunnel(dial node.Dialer) node.Dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return opaque{c}, nil
	}
}

// inTunnel is inBubble through a tunnel.
func inTunnel(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	inBubbleOver(t, tunnel, f)
}

func TestAnIdleTunnelThatWasClosedCostsNoCall(t *testing.T) {
	inTunnel(t, func(t *testing.T, r *rig) {
		r.m.Delay(time.Millisecond, 0)
		r.warm()
		for i := range 3 {
			time.Sleep(2 * time.Second)
			r.m.Reset()
			time.Sleep(2 * time.Second)
			a, b := r.ask(acquire(token(i), "me")), r.ask(release(token(i), "me"), durably)
			requireGranted(t, a, b)
		}
		assert.Empty(t, r.healthReports(), "the master is not suspect")
		assert.Equal(t, 4+comparing, r.m.ConnsEver())
		time.Sleep(time.Minute)
		assert.Equal(t, 4, r.m.Count("EVALSHA"), "no release is repeated, since no call was in doubt")
	})
}

func TestABusyTunnelIsNotVerified(t *testing.T) {
	inTunnel(t, func(t *testing.T, r *rig) {
		r.warm()
		assert.Zero(t, r.m.Count("PING"), "the connection is new")
		for i := range 10 {
			time.Sleep(900 * time.Millisecond)
			require.Equal(t, wire.Granted, r.ask(acquire(token(i), "me")).result().Verdict)
		}
		assert.Zero(t, r.m.Count("PING"))
		time.Sleep(1100 * time.Millisecond)
		require.Equal(t, wire.Granted, r.ask(acquire("a", "me")).result().Verdict)
		assert.Equal(t, 1, r.m.Count("PING"))
		assert.Equal(t, 1+comparing, r.m.ConnsEver())
	})
}

// A PING without a reply delays calls no longer than their deadlines. They are certainly not executed.
func TestAnIdleConnectionThatIsSilentIsReplaced(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]world{"a tunnel": inTunnel, "a wrapped client": inBubbleWrapped} {
		t.Run(name, func(t *testing.T) {
			inEach(t, in, map[string]func(r *rig){
				"cut off": func(r *rig) { r.m.BlackHole() },
				"frozen":  func(r *rig) { r.m.Freeze() },
			}, func(t *testing.T, r *rig, fault func(r *rig)) {
				r.warm()
				time.Sleep(5 * time.Second)
				fault(r)
				assertUnsent(t, r.ask(acquire("a", "me")).result(), node.ErrTimeout)
				assert.True(t, r.node.Suspect())
				time.Sleep(10 * time.Second)
				assert.True(t, r.node.Suspect())
				r.m.Heal()
				r.answers(3*time.Second, "b")
				time.Sleep(ttl / 2)
				assert.Equal(t, []string{"b"}, r.m.Keys())
			})
		})
	}
}

// Calls that arrive while a PING is in flight are sent after it, in one batch.
func TestCallsWaitForThePing(t *testing.T) {
	inTunnel(t, func(t *testing.T, r *rig) {
		r.m.Delay(20*time.Millisecond, 0) // a far master, whose batches overlap
		r.warm()
		time.Sleep(2 * time.Second)
		a := r.ask(acquire("a", "me"))
		time.Sleep(10 * time.Millisecond)
		b := r.ask(acquire("b", "me"))
		requireGranted(t, a, b)
		sets := r.executed()
		require.Len(t, sets, 3)
		assert.Equal(t, sets[1].At, sets[2].At)
	})
}

// The server may also have closed a connection that was never used.
func TestAnUnusedTunnelIsVerified(t *testing.T) {
	inTunnel(t, func(t *testing.T, r *rig) {
		r.m.Delay(timeout, 0) // the connection is there when the call is over
		assert.Equal(t, wire.Failed, r.ask(acquire("a", "me")).result().Verdict)
		time.Sleep(5 * time.Second)
		require.Equal(t, 1+comparing, r.m.ConnsEver())
		r.m.Delay(0, 0)
		r.m.Reset()
		time.Sleep(time.Second)
		requireGranted(t, r.ask(acquire("b", "me")))
	})
}

func TestCloseEndsAPingThatGetsNoAnswer(t *testing.T) {
	inTunnel(t, func(t *testing.T, r *rig) {
		r.warm()
		time.Sleep(2 * time.Second)
		r.m.Freeze()
		a := r.ask(acquire("a", "me"))
		r.ask(release("a", "me"), durably)
		synctest.Wait()
		began := time.Now()
		assert.Equal(t, 1, r.node.Close(began.Add(50*time.Millisecond)))
		require.NoError(t, r.group.Wait())
		assert.Equal(t, 50*time.Millisecond, time.Since(began))
		assert.True(t, a.result().Unsent)
	})
}
