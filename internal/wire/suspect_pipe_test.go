package wire_test

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

// assertNotAsked asserts that the node answered at once, because it is suspect.
func assertNotAsked(t *testing.T, v wire.Vote, cause error) {
	t.Helper()
	assertUnsent(t, v, cause)
	assert.Zero(t, v.Took)
	require.ErrorAs(t, v.Err, new(*node.SuspectError))
}

func TestAMasterThatMissedADeadlineIsNotAskedAgain(t *testing.T) {
	inWorlds(t, func(t *testing.T, r *rig) {
		r.warm()
		r.m.Freeze()
		assert.False(t, r.node.Suspect())
		assert.Equal(t, wire.Unknown, r.ask(acquire("first", "me")).result().Verdict)
		assert.True(t, r.node.Suspect())
		r.ask(release("first", "me"), durably).result()
		for i := range 50 {
			assertNotAsked(t, r.ask(acquire(token(i), "me")).result(), node.ErrTimeout)
			time.Sleep(100 * time.Millisecond)
		}
		assert.Equal(t, []string{"suspect"}, r.healthReports(), "once, not at every try")
		sets := r.m.Count("SET")
		r.m.Thaw()
		r.eventually(2*time.Second, "nothing is left", func() bool { return r.m.Count("SET") > sets && r.gone() })
		time.Sleep(5 * time.Second)
		assert.Equal(t, sets+1, r.m.Count("SET"), "the others were never sent")
		assert.True(t, r.gone())
		assert.Equal(t, []string{"suspect", "well"}, r.healthReports())
	})
}

func TestAThawedMasterIsTrustedAtOnce(t *testing.T) {
	inBubbles(t, named(
		150*time.Millisecond, 3*time.Second, 25*time.Second,
	), func(t *testing.T, r *rig, frozen time.Duration) {
		r.m.Delay(time.Millisecond, 0)
		r.warm()
		r.m.Freeze()
		r.ask(acquire("first", "me"))
		time.Sleep(frozen)
		require.True(t, r.node.Suspect())
		r.m.Thaw()
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		assert.False(t, r.node.Suspect())
		assert.Equal(t, wire.Granted, r.ask(acquire("second", "me")).result().Verdict)
	})
}

func TestASilentlyDeadConnectionIsReplaced(t *testing.T) {
	inEach(t, inHole, map[string]func(r *rig){
		"no call follows": func(*rig) {},
		"a release follows": func(r *rig) {
			assert.Equal(r.t, wire.Unknown, r.ask(release("first", "me"), durably).result().Verdict)
		},
	}, func(t *testing.T, r *rig, then func(r *rig)) {
		r.warm()
		old := r.first()
		old.swallow()
		assert.Equal(t, wire.Unknown, r.ask(acquire("first", "me")).result().Verdict)
		then(r)
		r.eventually(500*time.Millisecond, "the spare connection is the main one", old.isClosed)
		requireGranted(t, r.ask(acquire("second", "me")))
		assert.False(t, r.node.Suspect())
		assert.Equal(t, []string{"suspect", "well"}, r.healthReports())
		assert.Equal(t, 2+comparing, r.m.ConnsEver(), "the spare connection serves")
	})
}

// The connection that replaces a silent one may wait for long until a call needs it.
func TestAConnectionThatReplacesASilentOneIsCheckedBeforeItsFirstCall(t *testing.T) {
	type tc struct {
		meanwhile func(r *rig)
		granted   bool
	}
	inEach(t, inHole, map[string]tc{
		"the server closes it":         {func(r *rig) { r.m.Reset() }, true},
		"the server becomes a replica": {func(r *rig) { r.m.Info("role", "slave") }, false},
	}, func(t *testing.T, r *rig, c tc) {
		r.warm()
		old := r.first()
		old.swallow()
		assert.Equal(t, wire.Unknown, r.ask(acquire("first", "me")).result().Verdict)
		r.eventually(500*time.Millisecond, "the silent one is replaced", old.isClosed)
		time.Sleep(5 * time.Minute)
		c.meanwhile(r)
		time.Sleep(5 * time.Minute)
		v := r.ask(acquire("second", "me")).result()
		assert.Equal(t, c.granted, v.Verdict == wire.Granted, "%v", v.Err)
		if !c.granted {
			assertNoMaster(t, v)
		}
	})
}

func TestARefusedPortFailsAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.m.Delay(time.Millisecond, 0)
		r.m.Refuse()
		v := r.ask(acquire("a", "me")).result()
		assertUnsent(t, v, syscall.ECONNREFUSED)
		assert.Equal(t, 2*time.Millisecond, v.Took, "one round trip")
		assert.False(t, node.Permanent(v.Err))
		assertNotAsked(t, r.ask(acquire("a", "me")).result(), syscall.ECONNREFUSED)
		assert.Equal(t, 1, r.m.Dials())
		assert.Equal(t, []string{"suspect"}, r.healthReports())
	})
}

// If releases are the only requests, they must try the master.
func TestADurableReleaseAloneTriesASuspectAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.m.Refuse()
		v := r.ask(release("a", "me"), durably).result()
		assert.Equal(t, wire.Unknown, v.Verdict)
		assert.False(t, v.Unsent)
		require.ErrorIs(t, v.Err, syscall.ECONNREFUSED, "why it is late")
		assert.Equal(t, timeout, v.Took)
		r.m.Set("a", "me", ttl)
		time.Sleep(5 * time.Second)
		assert.InDelta(t, 13, r.m.Dials(), 4)
		r.m.Accept()
		r.eventually(510*time.Millisecond, "the release got through", r.gone)
		synctest.Wait()
		assert.Equal(t, []string{"suspect", "well"}, r.healthReports())
	})
}

func TestAResetConnectionDoesNotMakeAMasterSuspect(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.warmAt(trip)
		a := r.ask(acquire("a", "me"))
		time.Sleep(trip / 2)
		r.m.Reset()
		v := a.result()
		assert.Equal(t, wire.Unknown, v.Verdict)
		var op *net.OpError
		require.ErrorAs(t, v.Err, &op)
		assert.False(t, r.node.Suspect())
		v = r.ask(acquire("b", "me")).result()
		assert.Equal(t, wire.Granted, v.Verdict)
		assert.Equal(t, 3*trip, v.Took, "connect, the handshake, and the call")
		assert.Empty(t, r.healthReports())
	})
}

// Thousands of calls may wait when the failure is noticed. Each of their deadlines would cost a look through all.
func TestQueuedCallsFailWhenAMasterBecomesSuspect(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.warm()
		r.m.Freeze()
		written := r.ask(acquire("written", "me"))
		synctest.Wait()
		patient := r.ask(acquire("patient", "me"), within(10*time.Second))
		undo := r.ask(release("written", "me"), durably, within(10*time.Second))
		assert.Equal(t, wire.Unknown, written.result().Verdict)
		v := patient.result()
		assert.Equal(t, wire.Failed, v.Verdict)
		assert.True(t, v.Unsent)
		require.ErrorAs(t, v.Err, new(*node.SuspectError))
		assert.Equal(t, timeout, v.Took, "it fails with the first call, not at its own deadline")
		assert.False(t, undo.voted(), "a release waits")
		r.m.Thaw()
		assert.True(t, undo.result().Answered())
		assert.True(t, r.gone())
	})
}

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
