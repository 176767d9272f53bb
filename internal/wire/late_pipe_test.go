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

// firstAsked sets when the first operation that a release undoes was asked.
func firstAsked(at time.Time) func(*wire.Call) {
	return func(c *wire.Call) { c.FirstAsked = at }
}

func withKeyTTL(d time.Duration) func(*wire.Call) {
	return func(c *wire.Call) { c.KeyTTL = d }
}

// outage makes a master behind a proxy go silent during an acquire and its release, and then heals the path. The TTL is
// an hour, so no key expires.
func (r *rig) outage(lasting time.Duration, adjust ...func(*wire.Call)) (healed time.Time) {
	r.t.Helper()
	r.m.Proxy()
	r.warm()
	r.m.BlackHole()
	a := r.ask(wire.Command("acquire", nil, "set", "a", "me", "nx", "px", time.Hour.Milliseconds()))
	require.Equal(r.t, wire.Unknown, a.result().Verdict)
	r.ask(release("a", "me"), append([]func(*wire.Call){durably, firstAsked(a.call.Asked)}, adjust...)...)
	time.Sleep(lasting - timeout)
	r.m.Link.Heal()
	return time.Now()
}

// sent returns the operations on a name that the master executed, in order.
func (r *rig) sent(name string) (all []simnet.Event) {
	for _, e := range r.executed() {
		key := e.Args[1]
		if e.Args[0] != "set" {
			key = e.Args[3] // of a script
		}
		if key == name {
			all = append(all, e)
		}
	}
	return all
}

// ghost waits for the acquire of a name that arrives after its release. It returns when the acquire arrived and when it
// was undone.
func (r *rig) ghost(name string) (came, gone time.Time) {
	r.t.Helper()
	time.Sleep(5 * time.Minute)
	synctest.Wait()
	all := r.sent(name)
	require.NotEmpty(r.t, all)
	require.Equal(r.t, "evalsha", all[0].Args[0], "the release came first")
	for _, e := range all {
		switch {
		case e.Args[0] == "set":
			require.Equal(r.t, "+OK\r\n", e.Reply)
			require.Zero(r.t, came, "a second time")
			came = e.At
		case e.Reply == ":1\r\n":
			gone = e.At
		}
	}
	require.NotZero(r.t, came, "the control: there was a ghost to lay")
	return came, gone
}

// A proxy delivers a request no later after the healing than the outage lasted. The acquire is undone within the time
// by which it was late.
func TestAnAcquireThatAProxyDeliversLateIsUndone(t *testing.T) {
	inBubbles(t, named(
		700*time.Millisecond, time.Second, 1500*time.Millisecond, 3500*time.Millisecond, 7*time.Second,
		13*time.Second, 26*time.Second,
	), func(t *testing.T, r *rig, lasting time.Duration) {
		healed := r.outage(lasting, withKeyTTL(time.Hour))
		came, gone := r.ghost("a")
		late := came.Sub(healed)
		assert.Greater(t, late, lasting/3, "it arrived late")
		require.NotZero(t, gone, "it was never taken back")
		assert.LessOrEqual(t, gone.Sub(came), max(late, 500*time.Millisecond))

		all := r.sent("a")
		last := all[len(all)-1].At
		assert.LessOrEqual(t, last.Sub(healed), lasting+4*time.Second, "no repetition follows")
		assert.LessOrEqual(t, len(all), 9, "at doubling ages")
		assert.Zero(t, r.node.Close(time.Now()))
	})
}

// The lock was held during the outage and released afterwards. The proxy still has an extension, which restores a
// missing key.
func TestALateExtensionDoesNotRestoreAReleasedLock(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.m.Proxy()
		r.warm()
		a := r.ask(acquire("a", "me"))
		require.Equal(t, wire.Granted, a.result().Verdict)
		require.Equal(t, wire.Granted, r.ask(extend("a", "me")).result().Verdict) // the script is known
		r.m.BlackHole()
		require.Equal(t, wire.Unknown, r.ask(extend("a", "me")).result().Verdict)
		time.Sleep(3500 * time.Millisecond)
		r.m.Link.Heal()
		r.eventually(time.Second, "the node works", func() bool {
			return r.ask(extend("a", "me")).result().Verdict == wire.Granted
		})
		v := r.ask(release("a", "me"), expiresAfter(ttl), firstAsked(a.call.Asked)).result()
		require.Equal(t, wire.Granted, v.Verdict)
		r.eventually(4*time.Second, "the control: it comes back", func() bool { return r.m.Get("a") == "me" })
		r.eventually(4*time.Second, "it is taken back", r.gone)
		time.Sleep(10 * time.Second)
		assert.True(t, r.gone())
	})
}

// A call that was submitted after the master answered again went over the new connection, in order.
func TestNewLocksAreReleasedOnceAfterAnOutage(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.outage(10 * time.Second)
		r.eventually(2*time.Second, "the node works", func() bool { return !r.node.Suspect() })
		time.Sleep(time.Second)
		b := r.ask(acquire("b", "me"))
		require.Equal(t, wire.Granted, b.result().Verdict)
		r.ask(release("b", "me"), durably, firstAsked(b.call.Asked)).result()
		r.ask(release("c", "me"), durably).result() // without FirstAsked
		time.Sleep(time.Minute)
		assert.Len(t, r.sent("b"), 2)
		assert.Greater(t, len(r.sent("c")), 2)
	})
}

// An acquire that is later than its TTL is left to expire: the TTL is then shorter than the delay.
func TestReleasesAreRepeatedForTheKeyTTL(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		const linger = 5 * time.Second
		healed := r.outage(time.Minute, withKeyTTL(linger))
		r.ghost("a")
		all := r.sent("a")
		for i, e := range all {
			after := e.At.Sub(healed)
			if e.Args[0] == "evalsha" {
				assert.LessOrEqual(t, after, linger+3*time.Second, "release %d of %d", i, len(all))
			} else {
				assert.Greater(t, after, linger+3*time.Second)
			}
		}
		assert.LessOrEqual(t, len(all), 8)
		assert.Zero(t, r.node.Close(time.Now()), "the repetitions have ended")
	})
}

// The second outage delays what the first connection may deliver, by up to the length of both outages.
func TestASecondOutageDelaysDeliveriesOfTheFirst(t *testing.T) {
	const due = 2700 * time.Millisecond // after the healing, when nothing else happens
	inBubbles(t, map[string]struct{ begins, lasts time.Duration }{
		"the connection is lost": {due - 400*time.Millisecond, 1700 * time.Millisecond},
		"the connection lives":   {due - 50*time.Millisecond, timeout + 20*time.Millisecond},
	}, func(t *testing.T, r *rig, second struct{ begins, lasts time.Duration }) {
		healed := r.outage(3500*time.Millisecond, withKeyTTL(time.Hour))
		time.Sleep(second.begins)
		require.False(t, r.node.Suspect())
		r.m.BlackHole()
		require.Equal(t, wire.Unknown, r.ask(acquire("b", "me")).result().Verdict)
		time.Sleep(second.lasts - timeout)
		r.m.Link.Heal()
		came, gone := r.ghost("a")
		require.Equal(t, 9100*time.Millisecond, came.Sub(healed))
		require.NotZero(t, gone, "it was never taken back")
		assert.LessOrEqual(t, gone.Sub(came), came.Sub(healed))
	})
}

// A repetition that is due soon does not wait for repetitions that are due later.
func TestARefusedReleaseDoesNotWaitForRepetitions(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.outage(time.Minute, withKeyTTL(time.Hour))
		time.Sleep(20 * time.Second) // repeated at an age of 16 s, and next at 32 s
		require.Equal(t, wire.Granted, r.ask(acquire("b", "me")).result().Verdict)
		r.m.Reply("READONLY You can't write against a read only replica.", "EVALSHA")
		require.Equal(t, wire.Failed, r.ask(release("b", "me"), durably).result().Verdict)
		r.m.Recover()
		time.Sleep(600 * time.Millisecond)
		assert.Empty(t, r.m.Get("b"))
	})
}

// Close does not wait for a repetition that is due after its deadline, and counts it as unconfirmed.
func TestCloseDoesNotWaitForARepetitionAfterItsDeadline(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.outage(20 * time.Second)
		r.eventually(2*time.Second, "the node works", func() bool { return !r.node.Suspect() })
		time.Sleep(5 * time.Second) // repeated at an age of 4 s, and next at 8 s
		began := time.Now()
		assert.Equal(t, 1, r.node.Close(began.Add(time.Second)))
		assert.Zero(t, time.Since(began))
	})
}
