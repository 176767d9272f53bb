package wire_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/simnet"
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
				began := time.Now()
				assert.Zero(t, r.node.Close(began.Add(time.Minute)), "every release is confirmed")
				assert.Less(t, time.Since(began), lasting+2*time.Second)
			})
		})
	}
}

func TestADurableReleaseEndsWhenTheKeyHasCertainlyExpired(t *testing.T) {
	type tc struct {
		fault func(r *rig)
		ask   func(*wire.Call)
	}
	inBubbles(t, map[string]tc{
		"refused, the key known to be there":   {func(r *rig) { r.m.Refuse(); r.m.Reset() }, expiresAfter(ttl)},
		"cut off, the key known to be there":   {func(r *rig) { r.m.BlackHole() }, expiresAfter(ttl)},
		"readonly, the key known to be there":  {replying("READONLY You can't write", "EVALSHA"), expiresAfter(ttl)},
		"readonly, the acquire's fate unknown": {replying("READONLY You can't write", "EVALSHA"), durably},
	}, func(t *testing.T, r *rig, c tc) {
		r.warm()
		c.fault(r)
		r.ask(release("a", "me"), c.ask)
		time.Sleep(ttl - time.Second)
		synctest.Wait()
		sent := r.m.Count("EVALSHA")
		time.Sleep(30 * time.Second) // the attempt in progress may take that long
		dials, later := r.m.Dials(), r.m.Count("EVALSHA")
		assert.LessOrEqual(t, later-sent, 3)
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, dials, r.m.Dials(), "the release is no longer repeated")
		assert.Equal(t, later, r.m.Count("EVALSHA"))
		began := time.Now()
		assert.Zero(t, r.node.Close(began.Add(time.Hour)))
		assert.Zero(t, time.Since(began), "nothing waits")
	})
}

// The acquire is in a buffer of the old connection, and the release overtakes it on a new one. So it is repeated.
func TestAReleaseThatOvertookItsAcquireIsRepeated(t *testing.T) {
	inEach(t, inHole, named(
		time.Millisecond, 50*time.Millisecond, 300*time.Millisecond,
	), func(t *testing.T, r *rig, late time.Duration) {
		r.warm()
		old := r.first()
		old.hold(late)
		require.Equal(t, wire.Unknown, r.ask(acquire("a", "me")).result().Verdict)
		rel := r.ask(release("a", "me"), durably, within(5*time.Second))
		r.eventually(time.Second, "the release is answered", func() bool { return len(r.executed()) > 0 })
		assert.Equal(t, wire.Denied, rel.result().Verdict, "it arrived first and found no key")
		<-old.delivered
		synctest.Wait()
		assert.Equal(t, "me", r.m.Get("a"), "the acquire arrived")
		r.eventually(600*time.Millisecond, "the ghost is gone", r.gone)
		time.Sleep(5 * time.Second)
		releases := len(r.sent("a")) - 1
		assert.LessOrEqual(t, releases, 4, "after half a second, after a second, and when nothing more can arrive")
		assert.Zero(t, r.node.Close(time.Now()))
	})
}

// The same for a release that was submitted after the new connection was made.
func TestAReleaseSoonAfterALossIsRepeated(t *testing.T) {
	inHole(t, func(t *testing.T, r *rig) {
		r.warm()
		r.first().hold(800 * time.Millisecond)
		require.Equal(t, wire.Unknown, r.ask(acquire("a", "me")).result().Verdict)
		r.eventually(time.Second, "the new connection is there", func() bool { return r.first().isClosed() })
		require.Equal(t, wire.Granted, r.ask(acquire("b", "me")).result().Verdict)
		time.Sleep(400 * time.Millisecond)
		require.Equal(t, wire.Denied, r.ask(release("a", "me"), durably).result().Verdict)
		time.Sleep(time.Second)
		assert.Equal(t, []string{"b"}, r.m.Keys())
	})
}

// The master executes a release, and the reply is lost with the connection. The repetition finds no key or another
// holder's, which is a success: the caller must not take it for the loss of its lock.
func TestAReleaseThatIsRepeatedAfterALostReplyIsGranted(t *testing.T) {
	type tc struct {
		lost  bool // the reply to the first sending
		then  func(r *rig)
		want  wire.Verdict
		after string // the key's value at the end
	}
	toAnother := func(r *rig) { r.m.Set("a", "another", ttl) }
	inBubbles(t, map[string]tc{
		"it finds nothing":                     {true, func(*rig) {}, wire.Granted, ""},
		"it finds another's":                   {true, toAnother, wire.Granted, "another"},
		"it was not sent before":               {false, func(r *rig) { r.m.Wipe() }, wire.Denied, ""},
		"not sent before, and finds another's": {false, toAnother, wire.Denied, "another"},
	}, func(t *testing.T, r *rig, c tc) {
		r.warm()
		require.Equal(t, wire.Granted, r.ask(acquire("a", "me")).result().Verdict)
		if c.lost {
			r.m.Cut(simnet.FromMaster)
		} else {
			r.m.Refuse()
			r.m.Reset()
			require.NotEqual(t, wire.Granted, r.ask(acquire("b", "me")).result().Verdict, "nothing goes out")
		}
		rel := r.ask(release("a", "me"), durably, within(5*time.Second))
		synctest.Wait()
		require.Equal(t, c.lost, r.gone())
		require.False(t, rel.voted())
		c.then(r)
		r.m.Reset()
		r.m.Heal()
		v := rel.result()
		assert.Equal(t, c.want, v.Verdict, "%v", v.Err)
		assert.Equal(t, c.after, r.m.Get("a"))
	})
}
