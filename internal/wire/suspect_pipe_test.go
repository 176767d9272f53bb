package wire_test

import (
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/testnet"
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

// Releases that expire one after the other must not postpone the next try of the spare.
func TestExpiringReleasesDoNotPostponeTheSpare(t *testing.T) {
	inHole(t, func(t *testing.T, r *rig) {
		r.warm()
		r.first().swallow()
		r.ask(acquire("first", "me"))
		for range 15 {
			r.ask(release("first", "me"), durably)
			time.Sleep(7 * time.Millisecond)
		}
		require.True(t, r.node.Suspect())
		began := time.Now()
		for r.node.Suspect() && time.Since(began) < 2*time.Second {
			r.ask(release("first", "me"), durably)
			time.Sleep(7 * time.Millisecond)
		}
		assert.Less(t, time.Since(began), 500*time.Millisecond)
	})
}

func TestAMasterIsReachedAgainAfterABlackHole(t *testing.T) {
	inBubbles(t, named(time.Second, 10*time.Second, 45*time.Second), func(t *testing.T, r *rig, lasting time.Duration) {
		r.warm()
		r.m.BlackHole()
		assert.Equal(t, wire.Unknown, r.ask(acquire("first", "me")).result().Verdict)
		r.ask(release("first", "me"), durably)
		time.Sleep(lasting)
		assertNotAsked(t, r.ask(acquire("second", "me")).result(), node.ErrTimeout)
		r.m.Link.Heal()
		r.answers(600*time.Millisecond, "third")
		r.eventually(600*time.Millisecond, "the release got through", func() bool { return r.m.Get("first") == "" })
		assert.Equal(t, []string{"suspect", "well"}, r.healthReports())
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

func TestACrashedMasterIsAskedAgainSoonAfterItsRestart(t *testing.T) {
	inBubbles(t, named(
		0, 100*time.Millisecond, 5*time.Second, time.Minute,
	), func(t *testing.T, r *rig, down time.Duration) {
		r.warm()
		r.m.Crash()
		for end := time.Now().Add(down); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			assert.NotEqual(t, wire.Granted, r.ask(acquire("a", "me")).result().Verdict)
		}
		r.m.Restart()
		r.eventually(510*time.Millisecond, "the node works", func() bool {
			return r.ask(acquire("a", "me")).result().Verdict == wire.Granted
		})
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

func TestOneCallTriesASuspectAndOthersDoNotWait(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.m.BlackHole()
		r.ask(acquire("first", "me")).result()
		time.Sleep(5 * time.Second) // the attempt is over
		canary := r.ask(acquire("second", "me"))
		for range 20 {
			v := r.ask(acquire("third", "me")).result()
			assert.Zero(t, v.Took)
			require.ErrorAs(t, v.Err, new(*node.SuspectError))
		}
		assert.False(t, canary.voted())
		assert.Equal(t, timeout, canary.result().Took)
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

// The server accepts connections and identifies itself, but hangs up on every operation.
func TestAServerThatAlwaysHangsUpIsTriedWithBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := &testnet.Scripted{Answer: func(args []string) (string, bool) { return "", true }}
		r := newRig(t, nil, "redis://10.9.9.9", node.WithDialer(srv.Dial))
		assert.Equal(t, wire.Unknown, r.ask(acquire("a", "me")).result().Verdict)
		r.ask(release("a", "me"), durably).result()
		time.Sleep(10 * time.Second)
		assert.Less(t, srv.Dials.Load(), int64(40))
		assert.True(t, r.node.Suspect())
		assert.Equal(t, []string{"suspect"}, r.healthReports())
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
