package wire_test

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

const (
	channel = "released:a"
	noPerm  = "NOPERM this user has no permissions to access one of the channels"
)

// publish publishes a message on a channel, as a release does.
func (r *rig) publish(channel string) {
	r.t.Helper()
	said := wire.NewScript(`redis.pcall('PUBLISH', KEYS[1], '') return 1`).Op("publish", nil, []string{channel})
	require.Equal(r.t, wire.Granted, r.ask(said, within(time.Second)).result().Verdict)
}

// listener counts its notifications.
type listener struct {
	notified atomic.Int64
	stop     func()
}

func (r *rig) listen(channel string) *listener {
	l := &listener{}
	l.stop = r.node.Listen(channel, func(string) { l.notified.Add(1) })
	return l
}

// subscribe listens to a channel, and waits until the subscription begins.
func (r *rig) subscribe(channel string) *listener {
	r.t.Helper()
	l := r.listen(channel)
	r.eventually(100*time.Millisecond, "the subscription begins", func() bool { return l.notified.Load() == 1 })
	return l
}

// One channel is dropped and subscribed again, repeatedly, over a connection that another channel keeps open.
func TestAChannelIsSubscribedAgainOverTheSameConnection(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		const soon = 100 * time.Millisecond
		kept := r.subscribe("kept")
		for i := range 3 {
			l := r.subscribe(channel)
			assert.Equal(t, 1, r.m.Subscribers(channel))
			r.publish(channel)
			r.eventually(soon, "a message", func() bool { return l.notified.Load() == 2 })
			l.stop()
			r.eventually(soon, "the subscription ends", func() bool { return r.m.Subscribers(channel) == 0 })
			assert.Equal(t, 1, r.m.Subscribers("kept"))
			r.publish(channel)
			r.publish("kept")
			r.eventually(soon, "a message for the other", func() bool { return kept.notified.Load() == int64(i+2) })
			assert.EqualValues(t, 2, l.notified.Load(), "it has stopped")
		}
		assert.Equal(t, 2+comparing, r.m.ConnsEver(), "one to listen, one to ask")
	})
}

func TestTwoListenersOnOneChannel(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.subscribe(channel)
		b := r.listen(channel)
		time.Sleep(100 * time.Millisecond)
		r.publish(channel)
		time.Sleep(100 * time.Millisecond)
		assert.EqualValues(t, 2, a.notified.Load())
		assert.EqualValues(t, 1, b.notified.Load(), "the channel was subscribed before, so no message was missed")
		a.stop()
		time.Sleep(100 * time.Millisecond)
		r.publish(channel)
		time.Sleep(100 * time.Millisecond)
		assert.EqualValues(t, 2, a.notified.Load())
		assert.EqualValues(t, 2, b.notified.Load(), "a listener is independent of another that stopped")
		assert.Equal(t, 1, r.m.Subscribers(channel))
	})
}

func TestTheConnectionIsClosedWhenNoListenerIsLeft(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		for round := range 3 {
			a, b := r.subscribe(channel), r.subscribe("other")
			assert.Equal(t, 1, r.world.Open(), "one connection for all")
			a.stop()
			b.stop()
			r.eventually(100*time.Millisecond, "the connection is closed", func() bool { return r.world.Open() == 0 })
			assert.Equal(t, round+1, r.m.ConnsEver())
		}
		require.NoError(t, r.group.Wait(), "no goroutine is left")
	})
}

func TestAListenerSubscribesAgainAfterALoss(t *testing.T) {
	type tc struct {
		begin, end func(r *rig)
	}
	inBubbles(t, map[string]tc{
		"reset":               {func(r *rig) { r.m.Reset() }, func(*rig) {}},
		"crash and restart":   {func(r *rig) { r.m.Crash() }, func(r *rig) { r.m.Restart() }},
		"restart":             {func(r *rig) { r.m.Restart() }, func(*rig) {}},
		"refused for a while": {func(r *rig) { r.m.Refuse(); r.m.Reset() }, func(r *rig) { r.m.Accept() }},
	}, func(t *testing.T, r *rig, fault tc) {
		l := r.subscribe(channel)
		for range 3 {
			before := l.notified.Load()
			fault.begin(r)
			time.Sleep(700 * time.Millisecond)
			fault.end(r)
			r.eventually(time.Minute, "it is subscribed again", func() bool { return l.notified.Load() > before })
			time.Sleep(time.Second)
			before = l.notified.Load()
			r.ask(acquire("stale", "me")).result()
			r.answers(time.Second, "a")
			r.publish(channel)
			time.Sleep(10 * time.Millisecond)
			assert.Equal(t, before+1, l.notified.Load(), "one notification per message")
		}
	})
}

// A listener stops and the next one starts. The subscription must not wait as it does after a failure.
func TestTheNextListenerNeedNotWait(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		for i := range 300 {
			for range i % 20 { // stop overlaps with every phase of the goroutine's end
				runtime.Gosched()
			}
			l := r.listen(channel)
			r.eventually(50*time.Millisecond, "a message arrives", func() bool {
				r.publish(channel)
				return l.notified.Load() > 0
			})
			l.stop()
		}
	})
}

func TestADialThatHangsBlocksNeitherListenNorClose(t *testing.T) {
	inBubbles(t, map[string]func(r *rig){
		"frozen":  func(r *rig) { r.m.Freeze() },
		"cut off": func(r *rig) { r.m.BlackHole() },
	}, func(t *testing.T, r *rig, fault func(r *rig)) {
		fault(r)
		r.listen(channel)
		time.Sleep(10 * time.Millisecond)
		began := time.Now()
		r.listen("other").stop()
		assert.Zero(t, time.Since(began), "Listen returns at once")
		r.node.Close(began.Add(time.Second))
		require.NoError(t, r.group.Wait())
		assert.Zero(t, time.Since(began), "Close returns at once")
		r.world.Heal()
	})
}

func TestAListenerOutlivesALongSilence(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		l := r.listen(channel)
		time.Sleep(3 * time.Hour)
		r.publish(channel)
		time.Sleep(10 * time.Millisecond)
		assert.EqualValues(t, 2, l.notified.Load())
		assert.Equal(t, 2+comparing, r.m.ConnsEver(), "one to listen, one to ask")
	})
}

// Whether a master can be reached is not the listener's to report.
func TestAListenerThatCannotConnect(t *testing.T) {
	inWorlds(t, func(t *testing.T, r *rig) {
		r.m.Refuse()
		r.listen(channel)
		time.Sleep(time.Minute)
		assert.Empty(t, r.reported)
	})
}

// A user who may not subscribe, and a master that ends each subscription, cost few connections and one report.
func TestAListenerThatIsRefused(t *testing.T) {
	type tc struct {
		refuse   func(r *rig)
		reported string
	}
	inEach(t, inWorlds, map[string]tc{
		"refused": {replying(noPerm, "SUBSCRIBE"), noPerm},
		"ended": {func(r *rig) {
			r.m.HangUp(func(args []string) bool { return strings.EqualFold(args[0], "subscribe") })
		}, ""},
	}, func(t *testing.T, r *rig, c tc) {
		c.refuse(r)
		r.warm()
		l := r.listen(channel)
		time.Sleep(10 * time.Minute)
		assert.Less(t, r.m.Count("SUBSCRIBE"), 80)
		require.Len(t, r.reported, 1)
		require.ErrorAs(t, r.reported[0], new(*node.SubscriptionError))
		require.ErrorContains(t, r.reported[0], c.reported)
		assert.Zero(t, l.notified.Load())
		assert.Equal(t, wire.Granted, r.ask(acquire("a", "me")).result().Verdict, "it votes")
		r.m.Recover()
		r.m.HangUp(nil)
		r.eventually(2*time.Minute, "the subscription begins", func() bool { return l.notified.Load() == 1 })
	})
}

// A master refuses one channel, and all UNSUBSCRIBE. The other waiters do not notice.
func TestARefusedChannelLeavesTheOthers(t *testing.T) {
	inWorlds(t, func(t *testing.T, r *rig) {
		kept := r.subscribe("kept")
		r.m.Reply(noPerm, "SUBSCRIBE", "UNSUBSCRIBE")
		refused, other := r.listen(channel), r.listen("other")
		time.Sleep(10 * time.Minute)
		other.stop()
		time.Sleep(10 * time.Minute)
		assert.Less(t, r.m.Count("SUBSCRIBE"), 160)
		require.Len(t, r.reported, 1)
		require.ErrorAs(t, r.reported[0], new(*node.SubscriptionError))
		assert.EqualValues(t, 1, kept.notified.Load(), "it was not subscribed again")
		r.publish("kept")
		time.Sleep(10 * time.Millisecond)
		assert.EqualValues(t, 2, kept.notified.Load())
		r.m.Recover()
		r.eventually(2*time.Minute, "the subscription begins", func() bool { return refused.notified.Load() == 1 })
		r.publish(channel)
		time.Sleep(time.Minute)
		assert.EqualValues(t, 2, refused.notified.Load())
		assert.EqualValues(t, 2, kept.notified.Load())
		assert.Zero(t, other.notified.Load())
	})
}

// Of two channels that are subscribed at once, one is refused.
func TestOneOfTwoChannelsIsRefused(t *testing.T) {
	inWorlds(t, func(t *testing.T, r *rig) {
		r.m.ReplyTimes(1, noPerm, "SUBSCRIBE")
		all := []*listener{r.listen("a"), r.listen("b")}
		notified := func() int64 { return all[0].notified.Load() + all[1].notified.Load() }
		r.eventually(50*time.Millisecond, "one subscription begins", func() bool { return notified() == 1 })
		r.eventually(time.Second, "the other one begins", func() bool { return notified() == 2 })
		time.Sleep(time.Minute)
		assert.EqualValues(t, 2, notified())
		assert.Equal(t, 3, r.m.Count("SUBSCRIBE"))
	})
}

// Any client that may publish on one channel can send a message that is too large to keep.
func TestALargeMessageDoesNotEndASubscription(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		l := r.subscribe(channel)
		r.m.Redis().Publish(channel, strings.Repeat("x", 2<<20))
		time.Sleep(time.Minute) // a connection that ended is replaced meanwhile
		r.publish(channel)
		time.Sleep(time.Minute)
		assert.EqualValues(t, 2, l.notified.Load(), "it was not subscribed again")
	})
}
